//! Which host plays which part: from a list of hosts and what was asked for to tasks.
//!
//! The order is simpletfjob's: what is excluded goes, the first `num` of the rest stay, the first `psn` of those are
//! parameter servers, and the others workers. A chief and an evaluator, which it did not know, come in between: each
//! takes a host from the front of the workers.

use std::collections::BTreeSet;
use std::fmt;

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

/// Why the parts cannot be given out. Every number that matters is in the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miscast {
    /// More hosts are asked for than there are.
    TooFewHosts {
        /// How many are asked for.
        need: usize,
        /// How many there are.
        there: usize,
        /// Those that were excluded.
        excluded: Vec<String>,
    },
    /// Nobody is left to work.
    NoWorker {
        /// How many parameter servers, chiefs and evaluators are asked for.
        others: usize,
        /// How many hosts there are.
        hosts: usize,
    },
    /// `--num 0`.
    NoHosts,
    /// Hosts of parameter servers that are not among those used.
    UnknownPs {
        /// Which.
        names: Vec<String>,
        /// Those that there are.
        hosts: Vec<String>,
    },
    /// A name that is given twice.
    Twice(String),
    /// A name that is none.
    BadName(String),
}

impl fmt::Display for Miscast {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewHosts {
                need,
                there,
                excluded,
            } => {
                let hosts = if *need == 1 { "host" } else { "hosts" };
                write!(out, "need {need} {hosts}, only {there} available")?;
                if excluded.is_empty() {
                    return Ok(());
                }
                write!(out, " ({} excluded: {})", excluded.len(), excluded.join(","))
            }
            Self::NoWorker { others, hosts } => write!(
                out,
                "{others} of {hosts} hosts are for parameter servers, the chief and the evaluator: no worker is left"
            ),
            Self::NoHosts => out.write_str("no host is asked for: `--num` must be at least 1"),
            Self::UnknownPs { names, hosts } => write!(
                out,
                "parameter servers are to run on {}, which {} not among the {} hosts used ({})",
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" },
                hosts.len(),
                hosts.join(", ")
            ),
            Self::Twice(name) => write!(
                out,
                "the host `{name}` is named twice: two tasks there would share a port"
            ),
            Self::BadName(name) => write!(out, "`{name}` is no name of a host"),
        }
    }
}

impl std::error::Error for Miscast {}

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
    let left: Vec<String> = hosts
        .iter()
        .filter(|host| !exclude.contains(host.as_str()))
        .cloned()
        .collect();
    let used = take(&left, wanted, hosts, &exclude)?;
    let (ps, rest) = servers(used, wanted)?;
    let others = ps.len() + usize::from(wanted.chief) + usize::from(wanted.evaluator);
    let hosts = ps.len() + rest.len();
    // A chief works too: it needs no worker beside it.
    let needed = usize::from(wanted.chief) + usize::from(wanted.evaluator) + usize::from(!wanted.chief);
    if rest.len() < needed {
        return Err(Miscast::NoWorker { others, hosts });
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
        unknown: exclude
            .iter()
            .filter(|name| !seen.contains(*name))
            .map(ToString::to_string)
            .collect(),
    })
}

fn take(
    left: &[String],
    wanted: &Wanted,
    hosts: &[String],
    exclude: &BTreeSet<&str>,
) -> Result<Vec<String>, Miscast> {
    let need = match wanted.num {
        Some(0) => return Err(Miscast::NoHosts),
        Some(num) => num,
        None => left.len().max(1),
    };
    if need > left.len() {
        return Err(Miscast::TooFewHosts {
            need,
            there: left.len(),
            excluded: hosts
                .iter()
                .filter(|host| exclude.contains(host.as_str()))
                .cloned()
                .collect(),
        });
    }
    Ok(left[..need].to_vec())
}

/// The hosts of the parameter servers, and the others.
fn servers(used: Vec<String>, wanted: &Wanted) -> Result<(Vec<String>, Vec<String>), Miscast> {
    let Some(named) = &wanted.ps_hosts else {
        if wanted.psn > used.len() {
            return Err(Miscast::NoWorker {
                others: wanted.psn,
                hosts: used.len(),
            });
        }
        let mut ps = used;
        let rest = ps.split_off(wanted.psn);
        return Ok((ps, rest));
    };
    let mut twice = BTreeSet::new();
    if let Some(name) = named.iter().find(|name| !twice.insert(name.as_str())) {
        return Err(Miscast::Twice(name.clone()));
    }
    let unknown: Vec<String> = named
        .iter()
        .filter(|name| !used.contains(name))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(Miscast::UnknownPs {
            names: unknown,
            hosts: used,
        });
    }
    let rest = used
        .into_iter()
        .filter(|host| !twice.contains(host.as_str()))
        .collect();
    Ok((named.clone(), rest))
}

/// A name or address as it may stand before `:2222`.
fn is_name(host: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let address = |c: char| c.is_ascii_hexdigit() || c == ':';
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let named = host.len() <= 253 && host.chars().all(plain);
    !host.is_empty() && (named || bracketed.is_some_and(|inside| inside.chars().all(address)))
}

/// The names in a file: one a line; blanks, commas at the ends and lines that begin with `#` do not count.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    fn told(cast: &Cast) -> String {
        let tasks: Vec<String> = cast
            .tasks()
            .map(|(kind, at, host)| format!("{kind}-{at}={host}"))
            .collect();
        tasks.join(" ")
    }

    #[test]
    fn parts_are_given_out_as_simpletfjob_does() {
        let table = [
            ("a b c", Wanted::default(), "ps-0=a worker-0=b worker-1=c"),
            (
                "a b c d",
                Wanted {
                    num: Some(3),
                    exclude: hosts("b"),
                    ..Wanted::default()
                },
                "ps-0=a worker-0=c worker-1=d",
            ),
            (
                "a b c d",
                Wanted {
                    psn: 2,
                    ..Wanted::default()
                },
                "ps-0=a ps-1=b worker-0=c worker-1=d",
            ),
            (
                "a b",
                Wanted {
                    psn: 0,
                    ..Wanted::default()
                },
                "worker-0=a worker-1=b",
            ),
            (
                "a b c d",
                Wanted {
                    chief: true,
                    evaluator: true,
                    ..Wanted::default()
                },
                "ps-0=a chief-0=b worker-0=d evaluator-0=c",
            ),
            (
                "a b c",
                Wanted {
                    ps_hosts: Some(hosts("c")),
                    ..Wanted::default()
                },
                "ps-0=c worker-0=a worker-1=b",
            ),
            (
                "a b",
                Wanted {
                    chief: true,
                    ..Wanted::default()
                },
                "ps-0=a chief-0=b",
            ),
        ];
        for (names, wanted, expected) in table {
            assert_eq!(
                told(&cast(&hosts(names), &wanted).unwrap()),
                expected,
                "{wanted:?}"
            );
        }
    }

    #[test]
    fn what_crashed_simpletfjob_is_refused_with_both_numbers() {
        let table = [
            (
                "h10 h14 h20 h30 h40",
                Wanted {
                    num: Some(5),
                    exclude: hosts("h10 h14"),
                    ..Wanted::default()
                },
                "need 5 hosts, only 3 available (2 excluded: h10,h14)",
            ),
            (
                "a b c",
                Wanted {
                    num: Some(5),
                    ..Wanted::default()
                },
                "need 5 hosts, only 3 available",
            ),
            ("", Wanted::default(), "need 1 host, only 0 available"),
            (
                "a",
                Wanted {
                    num: Some(0),
                    ..Wanted::default()
                },
                "no host is asked for: `--num` must be at least 1",
            ),
            (
                "a b",
                Wanted {
                    psn: 2,
                    ..Wanted::default()
                },
                "2 of 2 hosts are for parameter servers, the chief and the evaluator: no worker is left",
            ),
            (
                "a b",
                Wanted {
                    psn: 7,
                    ..Wanted::default()
                },
                "7 of 2 hosts are for parameter servers, the chief and the evaluator: no worker is left",
            ),
            (
                "a b a",
                Wanted::default(),
                "the host `a` is named twice: two tasks there would share a port",
            ),
            ("a b{", Wanted::default(), "`b{` is no name of a host"),
            (
                "a b",
                Wanted {
                    ps_hosts: Some(hosts("x y")),
                    ..Wanted::default()
                },
                "parameter servers are to run on x, y, which are not among the 2 hosts used (a, b)",
            ),
        ];
        for (names, wanted, expected) in table {
            let refused = cast(&hosts(names), &wanted).unwrap_err();
            assert_eq!(refused.to_string(), expected);
        }
    }

    #[test]
    fn a_file_of_names_may_have_comments_blanks_and_foreign_line_ends() {
        assert_eq!(
            names("h10\r\n# old\r\n\r\n  h14 \nh2, h3,\n"),
            ["h10", "h14", "h2", "h3"]
        );
        let wanted = Wanted {
            exclude: hosts("zz"),
            ..Wanted::default()
        };
        assert_eq!(cast(&hosts("a b"), &wanted).unwrap().unknown, ["zz"]);
    }
}
