//! Why parts cannot be given out, in words that hold both numbers.

use std::fmt;

use trainyard_document::problem::shown;

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
    /// More parts are asked for than there are hosts, with a worker among them.
    TooManyParts {
        /// How many parameter servers.
        servers: usize,
        /// With a chief.
        chief: bool,
        /// With an evaluator.
        evaluator: bool,
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
                let names = few(excluded).replace(", ", ",");
                write!(out, " ({} excluded: {names})", excluded.len())
            }
            Self::TooManyParts {
                servers,
                chief,
                evaluator,
                hosts,
            } => {
                let parts = parts(*servers, *chief, *evaluator);
                // A chief works too: it needs no worker beside it.
                let need = servers.saturating_add(usize::from(*evaluator) + 1);
                let are = if *hosts == 1 { "is" } else { "are" };
                write!(out, "{parts} need {need} hosts, only {hosts} {are} used")
            }
            Self::NoHosts => out.write_str("no host is asked for: `--num` must be at least 1"),
            Self::UnknownPs { names, hosts } => write!(
                out,
                "parameter servers are to run on {}, which {} not among the {} hosts that there are ({})",
                names.join(", "),
                if names.len() == 1 { "is" } else { "are" },
                hosts.len(),
                few(hosts)
            ),
            Self::Twice(name) => write!(
                out,
                "the host `{}` is named twice: two tasks there would share a port",
                shown(name)
            ),
            Self::BadName(name) => write!(out, "`{}` is no name of a host", shown(name)),
        }
    }
}

impl std::error::Error for Miscast {}

/// `2 parameter servers, a chief and at least 1 worker`.
fn parts(servers: usize, chief: bool, evaluator: bool) -> String {
    let servers = match servers {
        0 => None,
        1 => Some("1 parameter server".to_owned()),
        number => Some(format!("{number} parameter servers")),
    };
    let evaluator = evaluator.then(|| "an evaluator".to_owned());
    let working = if chief { "a chief" } else { "at least 1 worker" };
    let before: Vec<String> = servers.into_iter().chain(evaluator).collect();
    if before.is_empty() {
        working.to_owned()
    } else {
        format!("{} and {working}", before.join(", "))
    }
}

/// Names, but not hundreds of them.
fn few(names: &[String]) -> String {
    match names.get(..MOST_NAMES) {
        Some(first) if names.len() > MOST_NAMES => format!("{}, …", first.join(", ")),
        _ => names.join(", "),
    }
}

const MOST_NAMES: usize = 20;
