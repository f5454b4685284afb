//! `TF_CONFIG`, to the byte.
//!
//! The `cluster` part is the same for every task of a job, so it is written once and shared: the configurations of
//! N tasks cost N small texts and one large one until the bytes are asked for.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use crate::job::{ClusterForm, Job, RoleKind, RoleName, TaskId};
use crate::plan::AddressBook;

/// The longest value one environment variable may have on Linux for a variable of this name: 32 pages, less
/// `TF_CONFIG=` and the closing zero.
pub const MOST_BYTES: usize = 131_061;

/// A job's cluster as TensorFlow sees it.
#[derive(Clone, Debug)]
pub struct Cluster {
    form: Form,
    /// The type of each role in `TF_CONFIG`, and how many tasks it has.
    types: BTreeMap<RoleName, (Arc<str>, u32)>,
}

#[derive(Clone, Debug)]
enum Form {
    None,
    Full {
        text: Arc<str>,
        environment: bool,
    },
    Sparse {
        addresses: AddressBook,
        ps: String,
        workers: Option<RoleName>,
        servers: Option<RoleName>,
    },
}

impl Cluster {
    /// The cluster of a job whose tasks have these addresses.
    #[must_use]
    pub fn of(job: &Job, book: &AddressBook) -> Self {
        let types = job
            .roles
            .iter()
            .map(|role| (role.name.clone(), (role.tf_type.clone(), role.replicas)))
            .collect();
        let form = match &job.cluster {
            ClusterForm::None => Form::None,
            ClusterForm::Full { roles, environment } => Form::Full {
                text: full(job, book, roles).into(),
                environment: *environment,
            },
            ClusterForm::Sparse => {
                let named = |kind| {
                    job.roles
                        .iter()
                        .find(|role| role.kind == kind)
                        .map(|role| role.name.clone())
                };
                let servers = named(RoleKind::Ps);
                let mut ps = String::new();
                list(&mut ps, job, book, servers.as_ref());
                Form::Sparse {
                    addresses: book.clone(),
                    ps,
                    workers: named(RoleKind::Worker),
                    servers,
                }
            }
        };
        Self { form, types }
    }

    /// The `cluster` object that all tasks share, where they do.
    #[must_use]
    pub fn shared(&self) -> Option<&str> {
        match &self.form {
            Form::Full { text, .. } => Some(text),
            Form::None | Form::Sparse { .. } => None,
        }
    }

    /// The value of `TF_CONFIG` for a task, if it gets one.
    #[must_use]
    pub fn tf_config(&self, task: &TaskId) -> Option<String> {
        let (_, replicas) = self.types.get(&task.role)?;
        let own = match &self.form {
            Form::Sparse { addresses, .. } => addresses.0.get(task).map_or("", |address| address),
            Form::None | Form::Full { .. } => "",
        };
        let index = task.index.to_string();
        self.pattern(&task.role, &index, own, None)
            .filter(|_| task.index < *replicas)
    }

    /// The value of `TF_CONFIG` for every task of a role at once, where something else puts in what differs:
    /// Kubernetes replaces `$(NAME)` by the value of a variable. `index` and `own` stand for the task's number and
    /// address, `shared` for the `cluster` object that all tasks share.
    #[must_use]
    pub fn pattern(&self, role: &RoleName, index: &str, own: &str, shared: Option<&str>) -> Option<String> {
        let (kind, _) = self.types.get(role)?;
        let mut text = String::from("{\"cluster\":");
        let environment = match &self.form {
            Form::None => return None,
            Form::Full {
                text: cluster,
                environment,
            } => {
                let cluster = shared.unwrap_or(cluster);
                text.reserve_exact(cluster.len() + 80);
                text.push_str(cluster);
                *environment
            }
            Form::Sparse { .. } => {
                self.sparse(&mut text, role, index, own);
                false
            }
        };
        finish(&mut text, kind, index, environment);
        Some(text)
    }

    /// The length of the longest `TF_CONFIG` of the job, without writing them all.
    #[must_use]
    pub fn longest(&self) -> usize {
        let last = |(role, (_, replicas)): (&RoleName, &(Arc<str>, u32))| {
            let index = replicas.checked_sub(1)?;
            self.tf_config(&TaskId {
                role: role.clone(),
                index,
            })
            .map(|text| text.len())
        };
        self.types.iter().filter_map(last).max().unwrap_or(0)
    }

    /// A worker sees itself and all parameter servers, a parameter server only itself: so workers may come and go.
    /// Every other task sees the parameter servers and its own role.
    fn sparse(&self, text: &mut String, role: &RoleName, index: &str, own: &str) {
        let Form::Sparse {
            ps, workers, servers, ..
        } = &self.form
        else {
            return;
        };
        text.push('{');
        if workers.as_ref() == Some(role) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\"worker\":{{\"{index}\":");
            quote(text, own);
            let _ = write!(text, "}},\"ps\":{ps}");
        } else if servers.as_ref() == Some(role) {
            text.push_str("\"worker\":{},\"ps\":[");
            quote(text, own);
            text.push(']');
        } else {
            if let Some((kind, _)) = self.types.get(role).filter(|(kind, _)| &**kind != "evaluator") {
                quote(text, kind);
                text.push_str(":[");
                quote(text, own);
                text.push_str("],");
            }
            let _ = write!(text, "\"worker\":{{}},\"ps\":{ps}");
        }
        text.push('}');
    }
}

/// Everything after the cluster.
fn finish(text: &mut String, kind: &str, index: &str, environment: bool) {
    text.push_str(",\"task\":{\"type\":");
    quote(text, kind);
    // Writing to a String cannot fail.
    let _ = write!(text, ",\"index\":{index}}}");
    if environment {
        text.push_str(",\"environment\":\"cloud\"");
    }
    text.push('}');
}

fn full(job: &Job, book: &AddressBook, roles: &[RoleName]) -> String {
    let mut text = String::from("{");
    let named = roles
        .iter()
        .filter_map(|name| job.role(name))
        .filter(|(_, role)| role.replicas > 0);
    for (position, (_, role)) in named.enumerate() {
        if position > 0 {
            text.push(',');
        }
        quote(&mut text, &role.tf_type);
        text.push(':');
        list(&mut text, job, book, Some(&role.name));
    }
    text.push('}');
    text
}

fn list(text: &mut String, job: &Job, book: &AddressBook, role: Option<&RoleName>) {
    text.push('[');
    let tasks = role
        .and_then(|name| job.role(name))
        .into_iter()
        .flat_map(|(_, role)| role.tasks());
    for (position, task) in tasks.enumerate() {
        if position > 0 {
            text.push(',');
        }
        quote(text, book.0.get(&task).map_or("", |address| address));
    }
    text.push(']');
}

/// Writes a JSON string. Names and addresses are plain ASCII in practice; whatever they are, the result is JSON.
fn quote(text: &mut String, value: &str) {
    match serde_json::to_string(value) {
        Ok(quoted) => text.push_str(&quoted),
        Err(_) => text.push_str("\"\""),
    }
}
