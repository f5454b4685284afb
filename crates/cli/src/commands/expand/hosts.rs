//! The hosts: from the command line, or from a cluster.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use trainyard_cluster::{Question, Toleration, Unfit, tolerations};
use trainyard_expand::hosts::{Miscast, Wanted, names};
use trainyard_expand::stand_ins;
use trainyard_expand::template::UserTemplate;

use crate::args::Expand;
use crate::failure::Failure;
use crate::inputs::shown_path;

/// Limit for a list of hosts.
const MOST_BYTES: u64 = 16 << 20;
/// Number of excluded nodes that are listed with the reason.
const MOST_TOLD: usize = 8;

/// The available hosts.
#[derive(Debug, Default)]
pub struct HostList {
    /// Usable hosts, in order.
    pub hosts: Vec<String>,
    /// Nodes that do not accept the template's pods.
    unfit: Vec<(String, Unfit)>,
    /// A single name that could also be a missing file.
    word: Option<String>,
}

impl HostList {
    /// Help for an error of the assignment.
    pub fn hint(&self, refused: &Miscast) -> Option<String> {
        let lacks = matches!(
            refused,
            Miscast::TooFewHosts { .. } | Miscast::TooManyParts { .. } | Miscast::UnknownPs { .. }
        );
        let word = self
            .word
            .as_ref()
            .map(|word| format!("there is no file `{word}`, so it is used as the name of one host"));
        self.left_out().or(word).filter(|_| lacks)
    }

    /// The excluded nodes, and why.
    pub fn left_out(&self) -> Option<String> {
        if self.unfit.is_empty() {
            return None;
        }
        let told = self.unfit.iter().take(MOST_TOLD);
        let told: Vec<String> = told.map(|(name, why)| format!("{name} ({why})")).collect();
        let more = match self.unfit.len().saturating_sub(MOST_TOLD) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let told = told.join(", ");
        Some(format!("excluded: {told}{more}; `--all-nodes` includes them"))
    }
}

/// Finds the hosts.
pub fn find(typed: &Expand, template: &UserTemplate, wanted: &Wanted) -> Result<HostList, Failure> {
    match &typed.hosts {
        Some(named) => self::named(named, typed),
        None => asked(typed, &tolerations(&stand_ins(template, wanted))),
    }
}

/// Queries the cluster. `pods` are the tolerations of the template's pods.
fn asked(typed: &Expand, pods: &[Vec<Toleration>]) -> Result<HostList, Failure> {
    let question = Question {
        context: typed.context.clone(),
        selector: typed.selector.clone(),
        ..Question::default()
    };
    let nodes = trainyard_cluster::list(&question).map_err(|error| {
        // simpletfjob has no such flag.
        let hint = if typed.quiet {
            error
                .hint
                .replace("`--hosts ", "`trainyard expand TEMPLATE --hosts ")
        } else {
            error.hint
        };
        Failure::usage(error.message, hint)
    })?;
    let mut found = HostList::default();
    for node in nodes {
        match node.unfit(pods).filter(|_| !typed.all_nodes) {
            Some(why) => found.unfit.push((node.name, why)),
            None => found.hosts.push(node.name),
        }
    }
    Ok(found)
}

/// Comma-separated names, a file of names, or standard input.
fn named(word: &str, typed: &Expand) -> Result<HostList, Failure> {
    if word == "-" {
        if typed.template.as_deref() == Some(Path::new("-")) {
            let message = "standard input cannot be both template and hosts";
            return Err(Failure::usage(message, None));
        }
        return listed(io::stdin().lock(), "standard input");
    }
    let path = Path::new(word);
    // Names have no slash; lists have commas.
    if !word.contains(',') && (word.contains('/') || path.is_file()) {
        let whence = format!("`{}`", shown_path(path));
        let file = fs::File::open(path).map_err(|error| unreadable(&whence, &error))?;
        return listed(file, &whence);
    }
    let hosts = names(word);
    if hosts.is_empty() {
        let hint = "expected comma-separated names, a file of names, or `-`";
        return Err(Failure::usage("`--hosts` has no host", hint));
    }
    Ok(HostList {
        hosts,
        word: (!word.contains(',')).then(|| shown_path(path)),
        ..HostList::default()
    })
}

fn listed(reader: impl io::Read, whence: &str) -> Result<HostList, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(whence, &error))?;
    let hosts = names(&String::from_utf8_lossy(&bytes));
    if hosts.is_empty() {
        let hint = "expected one host per line, as in `kubectl get nodes -o name`";
        return Err(Failure::usage(format!("{whence} has no host"), hint));
    }
    Ok(HostList {
        hosts,
        ..HostList::default()
    })
}

fn unreadable(whence: &str, error: &io::Error) -> Failure {
    let hint = "`--hosts` takes comma-separated names, or a file with one name per line";
    Failure::usage(format!("cannot read {whence}: {error}"), hint)
}
