//! A template and a list of hosts become one manifest a task: what simpletfjob did, without its surprises.
//!
//! ```text
//! hosts, what was asked for ─▶ hosts::cast ─▶ who plays which part
//!                                                  │
//! template ─▶ template::UserTemplate ──────────────┴─▶ expand ─▶ documents, joined
//! ```
//!
//! Pure: no file, no cluster. For input that simpletfjob handled, the bytes are the same.

mod functions;
pub mod hosts;
pub mod template;
pub mod tf_config;

use std::sync::Arc;

use gotmpl::Value;
use trainyard_dialect::document::{Source, parse};
use trainyard_dialect::problem::{Problem, Severity};

use self::hosts::Cast;
use self::template::{Mistake, UserTemplate};
use self::tf_config::ClusterText;

/// Why there is no manifest.
#[derive(Clone, Debug)]
pub enum Unexpanded {
    /// The template cannot be filled in for this task.
    Mistake {
        /// Which: `worker-1`.
        task: String,
        /// What is wrong.
        mistake: Mistake,
    },
    /// What it makes is no YAML.
    NotYaml {
        /// The manifest, to show the place in.
        text: String,
        /// What is wrong with it.
        problem: Box<Problem>,
    },
}

/// Fills the template in for every task and joins the documents. `name` is what `{{.name}}` means.
pub fn expand(template: &UserTemplate, cast: &Cast, name: &str) -> Result<String, Unexpanded> {
    let cluster = ClusterText::of(cast);
    let shared = Shared::of(cast, name);
    let mut text = String::new();
    for (kind, index, host) in cast.tasks() {
        let filled = template
            .fill(&shared.values(&cluster, kind, index, host))
            .map_err(|mistake| Unexpanded::Mistake {
                task: format!("{kind}-{index}"),
                mistake,
            })?;
        if !text.is_empty() {
            text.push_str("\n---\n");
        }
        text.push_str(without_separators(&filled));
    }
    match not_yaml(&text) {
        None => Ok(text),
        Some(problem) => Err(Unexpanded::NotYaml {
            text,
            problem: Box::new(problem),
        }),
    }
}

/// A template that begins or ends with `---` would leave an empty document between two tasks.
fn without_separators(text: &str) -> &str {
    let text = text.trim_end();
    let end = text
        .strip_suffix("---")
        .filter(|rest| rest.is_empty() || rest.ends_with('\n'));
    let text = end.map_or(text, str::trim_end);
    let start = text.strip_prefix("---\n");
    start.unwrap_or(text)
}

fn not_yaml(text: &str) -> Option<Problem> {
    let source = Source::from_bytes("the expanded manifest", text.as_bytes());
    let problems = match source {
        Ok(source) => parse(&source).1,
        Err(problem) => return Some(*problem),
    };
    problems
        .into_iter()
        .find(|problem| problem.severity == Severity::Error)
}

/// The values that are the same for every task.
struct Shared {
    entries: Vec<(String, Value)>,
}

impl Shared {
    fn of(cast: &Cast, name: &str) -> Self {
        let hosts: Vec<Value> = cast.hosts().map(|host| Value::String(host.into())).collect();
        let addresses = |hosts: &[String]| {
            let addresses: Vec<String> = hosts.iter().map(|host| format!("{host}:{}", cast.port)).collect();
            Value::String(addresses.join(",").into())
        };
        let number = |number: usize| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let entries = [
            ("num", number(hosts.len())),
            ("hosts", Value::List(Arc::from(hosts))),
            ("ps_hosts", addresses(&cast.ps)),
            ("worker_hosts", addresses(&cast.workers)),
            ("port", Value::Int(cast.port.into())),
            ("name", Value::String(name.into())),
        ];
        Self {
            entries: entries.map(|(name, value)| (name.to_owned(), value)).into(),
        }
    }

    fn values(&self, cluster: &ClusterText, kind: &str, index: usize, host: &str) -> Value {
        let text = |text: &str| Value::String(text.into());
        let own = [
            ("type", text(kind)),
            ("index", Value::Int(i64::try_from(index).unwrap_or(i64::MAX))),
            ("host", text(host)),
            ("TF_CONFIG", text(&cluster.block(kind, index))),
            ("TF_CONFIG_JSON", text(&cluster.line(kind, index))),
        ];
        let own = own.into_iter().map(|(name, value)| (Arc::from(name), value));
        let shared = self
            .entries
            .iter()
            .map(|(name, value)| (Arc::from(name.as_str()), value.clone()));
        Value::Map(Arc::new(own.chain(shared).collect()))
    }
}
