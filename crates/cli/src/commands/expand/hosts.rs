//! Where the hosts come from: named on the command line, or asked of a cluster.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use trainyard_cluster::{ClusterNode, Question, Toleration, Unfit, tolerations};
use trainyard_expand::hosts::{Miscast, Wanted, names};
use trainyard_expand::stand_ins;
use trainyard_expand::template::UserTemplate;

use crate::args::Expand;
use crate::failure::Failure;
use crate::inputs::shown_path;

/// A list of hosts is not as long as this.
const MOST_BYTES: u64 = 16 << 20;
/// How many nodes are told with the reason why they are left out.
const MOST_TOLD: usize = 8;

/// The hosts that there are.
#[derive(Debug, Default)]
pub struct Found {
    /// Those that may be used, in order.
    pub hosts: Vec<String>,
    /// Nodes that take no such pods.
    unfit: Vec<(String, Unfit)>,
    /// A word that was taken for a host's name since it is no file.
    word: Option<String>,
}

impl Found {
    /// What may help where the parts could not be given out.
    pub fn hint(&self, refused: &Miscast) -> Option<String> {
        let lacks = matches!(
            refused,
            Miscast::TooFewHosts { .. } | Miscast::TooManyParts { .. } | Miscast::UnknownPs { .. }
        );
        let word = self
            .word
            .as_ref()
            .map(|word| format!("there is no file `{word}`, so it was taken for the name of one host"));
        self.left_out().or(word).filter(|_| lacks)
    }

    /// The nodes that are not used, and why.
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
        Some(format!("left out: {told}{more}; `--all-nodes` takes them too"))
    }
}

/// Finds them.
pub fn find(typed: &Expand, template: &UserTemplate, wanted: &Wanted) -> Result<Found, Failure> {
    match &typed.hosts {
        Some(named) => self::named(named, typed),
        None => asked(typed, &tolerations(&stand_ins(template, wanted))),
    }
}

/// Asks the cluster. `pods` is what the template's pods tolerate.
fn asked(typed: &Expand, pods: &[Vec<Toleration>]) -> Result<Found, Failure> {
    let question = Question {
        context: typed.context.clone(),
        selector: typed.selector.clone(),
        ..Question::default()
    };
    let nodes = trainyard_cluster::list(&question).map_err(|error| {
        // Under simpletfjob's name there is no such flag.
        let hint = if typed.quiet {
            error
                .hint
                .replace("`--hosts ", "`trainyard expand TEMPLATE --hosts ")
        } else {
            error.hint
        };
        Failure::usage(error.message, Some(hint))
    })?;
    Ok(fit(nodes, pods, typed.all_nodes))
}

fn fit(nodes: Vec<ClusterNode>, pods: &[Vec<Toleration>], all: bool) -> Found {
    let mut found = Found::default();
    for node in nodes {
        match node.unfit(pods).filter(|_| !all) {
            Some(why) => found.unfit.push((node.name, why)),
            None => found.hosts.push(node.name),
        }
    }
    found
}

/// Names with commas between them, a file of them, or standard input.
fn named(word: &str, typed: &Expand) -> Result<Found, Failure> {
    if word == "-" {
        if typed.template.as_deref() == Some(Path::new("-")) {
            let message = "standard input cannot be both the template and the hosts";
            return Err(Failure::usage(message, None));
        }
        return listed(io::stdin().lock(), "standard input");
    }
    let path = Path::new(word);
    // A name has no slash; a list has commas.
    if !word.contains(',') && (word.contains('/') || path.is_file()) {
        let file =
            fs::File::open(path).map_err(|error| unreadable(&format!("`{}`", shown_path(path)), &error))?;
        return listed(file, &format!("`{}`", shown_path(path)));
    }
    let hosts = names(word);
    if hosts.is_empty() {
        let hint = "names with commas between them, a file of names, or `-`".to_owned();
        return Err(Failure::usage("`--hosts` names no host", Some(hint)));
    }
    Ok(Found {
        hosts,
        word: (!word.contains(',')).then(|| shown_path(path)),
        ..Found::default()
    })
}

fn listed(reader: impl io::Read, whence: &str) -> Result<Found, Failure> {
    let mut bytes = Vec::new();
    let read = reader.take(MOST_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(whence, &error))?;
    let hosts = names(&String::from_utf8_lossy(&bytes));
    if hosts.is_empty() {
        let hint = "one host a line, as `kubectl get nodes -o name` lists them".to_owned();
        return Err(Failure::usage(format!("{whence} names no host"), Some(hint)));
    }
    Ok(Found {
        hosts,
        ..Found::default()
    })
}

fn unreadable(whence: &str, error: &io::Error) -> Failure {
    let hint = "`--hosts` takes names with commas between them, or a file of names, one a line".to_owned();
    Failure::usage(format!("cannot read {whence}: {error}"), Some(hint))
}
