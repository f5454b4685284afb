//! Which host plays which part: from a list of hosts and what was asked for to tasks.
//!
//! The order is simpletfjob's: what is excluded goes, the first `num` of the rest stay, the first `psn` of those are
//! parameter servers, and the others workers. A chief and an evaluator, which it did not know, come in between: each
//! takes a host from the front of the workers.

mod miscast;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub use self::miscast::Miscast;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// How many hosts; none is all.
    pub num: Option<usize>,
    /// Hosts that are not used.
    pub exclude: Vec<String>,
    /// How many parameter servers; not used where their hosts are named.
    pub psn: usize,
    /// The hosts of the parameter servers, by name.
    pub ps_hosts: Option<Vec<String>>,
    /// With a chief.
    pub chief: bool,
    /// With an evaluator.
    pub evaluator: bool,
    /// The port that every task listens on.
    pub port: u16,
}

impl Default for Wanted {
    /// As simpletfjob does it when nothing is said: every host, one parameter server, port 2222.
    fn default() -> Self {
        Self {
            num: None,
            exclude: Vec::new(),
            psn: 1,
            ps_hosts: None,
            chief: false,
            evaluator: false,
            port: 2222,
        }
    }
}

/// Who plays which part; each role's hosts in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cast {
    /// Parameter servers.
    pub ps: Vec<String>,
    /// The chief.
    pub chief: Option<String>,
    /// Workers.
    pub workers: Vec<String>,
    /// The evaluator: it is not in the cluster that the others wait for.
    pub evaluator: Option<String>,
    /// The port that every task listens on.
    pub port: u16,
    /// Names that were excluded and that no host has.
    pub unknown: Vec<String>,
}

impl Cast {
    /// Every task in the order of the output: its type, its number, its host.
    pub fn tasks(&self) -> impl Iterator<Item = (&'static str, usize, &str)> {
        let ps = self
            .ps
            .iter()
            .enumerate()
            .map(|(at, host)| ("ps", at, host.as_str()));
        let chief = self.chief.iter().map(|host| ("chief", 0, host.as_str()));
        let workers = self
            .workers
            .iter()
            .enumerate()
            .map(|(at, host)| ("worker", at, host.as_str()));
        let evaluator = self.evaluator.iter().map(|host| ("evaluator", 0, host.as_str()));
        ps.chain(chief).chain(workers).chain(evaluator)
    }

    /// Every host that plays a part.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.tasks().map(|(_, _, host)| host)
    }
}

/// Gives out the parts.
pub fn cast(hosts: &[String], wanted: &Wanted) -> Result<Cast, Miscast> {
    let mut seen = BTreeSet::new();
    for host in hosts {
        if !is_name(host) {
            return Err(Miscast::BadName(host.clone()));
        }
        if !seen.insert(host.as_str()) {
            return Err(Miscast::Twice(host.clone()));
        }
    }
    let exclude: BTreeSet<&str> = wanted.exclude.iter().map(String::as_str).collect();
    let hosts = hosts.iter().cloned();
    let (excluded, left): (Vec<_>, Vec<_>) = hosts.partition(|host| exclude.contains(host.as_str()));
    let (ps, rest) = servers(left, wanted, excluded)?;
    let needed = usize::from(wanted.evaluator) + 1;
    if rest.len() < needed {
        return Err(too_many(ps.len(), wanted, ps.len() + rest.len()));
    }
    let mut rest = rest.into_iter();
    let chief = wanted.chief.then(|| rest.next()).flatten();
    let evaluator = wanted.evaluator.then(|| rest.next()).flatten();
    Ok(Cast {
        ps,
        chief,
        evaluator,
        workers: rest.collect(),
        port: wanted.port,
        unknown: exclude.difference(&seen).map(ToString::to_string).collect(),
    })
}

fn too_many(servers: usize, wanted: &Wanted, hosts: usize) -> Miscast {
    Miscast::TooManyParts {
        servers,
        chief: wanted.chief,
        evaluator: wanted.evaluator,
        hosts,
    }
}

/// The hosts of the parameter servers, and the others that are used.
fn servers(
    mut left: Vec<String>,
    wanted: &Wanted,
    excluded: Vec<String>,
) -> Result<(Vec<String>, Vec<String>), Miscast> {
    let need = match wanted.num {
        Some(0) => return Err(Miscast::NoHosts),
        Some(num) => num,
        None => left.len().max(1),
    };
    if need > left.len() {
        return Err(Miscast::TooFewHosts {
            need,
            there: left.len(),
            excluded,
        });
    }
    let ps = if let Some(named) = &wanted.ps_hosts {
        named_servers(named, &mut left)?
    } else {
        let rest = left.split_off(wanted.psn.min(need));
        std::mem::replace(&mut left, rest)
    };
    let servers = wanted.ps_hosts.as_ref().map_or(wanted.psn, Vec::len);
    let Some(others) = need.checked_sub(servers) else {
        return Err(too_many(servers, wanted, need));
    };
    left.truncate(others);
    Ok((ps, left))
}

/// Takes the hosts that are named out of those that there are.
fn named_servers(named: &[String], left: &mut Vec<String>) -> Result<Vec<String>, Miscast> {
    let mut names = BTreeSet::new();
    if let Some(name) = named.iter().find(|name| !names.insert(name.as_str())) {
        return Err(Miscast::Twice(name.clone()));
    }
    let unknown: Vec<String> = named
        .iter()
        .filter(|name| !left.contains(name))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(Miscast::UnknownPs {
            names: unknown,
            hosts: left.clone(),
        });
    }
    left.retain(|host| !names.contains(host.as_str()));
    Ok(named.to_vec())
}

/// A name or address as it may stand before `:2222`.
fn is_name(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let address = |c: char| c.is_ascii_hexdigit() || c == ':';
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let named = host.len() <= 253 && host.chars().all(plain);
    !host.is_empty() && (named || bracketed.is_some_and(|inside| inside.chars().all(address)))
}

/// The names in a file: one per line; blanks, commas at the ends and lines that begin with `#` do not count, and neither
/// does the `node/` of `kubectl get nodes -o name`.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let names = lines.flat_map(|line| line.split(',')).map(str::trim);
    let names = names.map(|name| name.strip_prefix("node/").unwrap_or(name));
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
