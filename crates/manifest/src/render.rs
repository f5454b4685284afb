//! A whole job as objects, in the order in which they are applied, or why it cannot be rendered.

use std::collections::BTreeMap;

use serde_json::Value;
use trainyard_core::{AddressBook, Addresses, Cluster, Job, MOST_BYTES, Role, Subject, TaskId, addresses};
use trainyard_document::codes::Code;
use trainyard_document::names::LABEL_LENGTH;

use crate::cluster_map::ClusterMap;
use crate::isolation;
use crate::jobset;
use crate::nodes::{self, Seats};
use crate::notes::{Note, notes};
use crate::pod::{Pods, Variables};
use crate::service::services;
use crate::tensorboard::{self, Board};
use crate::{jobs, names};

/// What a job is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Plain Jobs.
    Jobs,
    /// One JobSet.
    JobSet,
}

/// How it is to be written.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// As what.
    pub form: Form,
    /// How tasks are found, where it is not as the manifest says; the subject has them. [`Addresses::Given`] are those of
    /// nodes.
    pub addresses: Option<Addresses>,
    /// The nodes.
    pub nodes: Vec<String>,
    /// The namespace, where the manifest names none; that of [`render`]'s subject.
    pub namespace: Option<String>,
}

/// A job as objects.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The objects, in the order in which they must be applied.
    pub objects: Vec<Value>,
    /// What the manifest asks for and these objects do not do.
    pub notes: Vec<Note>,
}

/// Why a job cannot be written so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The problem's code.
    pub code: Code,
    /// The field that it is about.
    pub path: &'static [&'static str],
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

const NAME: &[&str] = &["metadata", "name"];

/// Writes a job as objects.
pub fn render(subject: &Subject, wishes: &Wishes) -> Result<Rendered, Vec<Refusal>> {
    let mut refusals = check_metadata(subject, wishes);
    refusals.extend(check_names(subject, wishes.form));
    let job = &subject.job;
    let seats = seats(job, wishes).unwrap_or_else(|refusal| {
        refusals.push(refusal);
        None
    });
    let book = match (&seats, wishes.form) {
        (Some(seats), _) => nodes::book(seats),
        (None, Form::JobSet) => jobset::addresses(job),
        (None, Form::Jobs) => addresses(job, None),
    };
    let cluster = Cluster::of(job, &book);
    refusals.extend(check_length(&cluster));
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let map = ClusterMap::of(job, &book, &cluster);
    let by_service = matches!(job.addresses, Addresses::PerJob | Addresses::PerJobShort);
    let pods = Pods {
        subject,
        book: &book,
        cluster: &cluster,
        map: &map,
        // A JobSet sets the subdomain itself.
        subdomain: (by_service && wishes.form == Form::Jobs).then_some(&job.name),
        variables: Variables::Always,
    };
    let board = subject
        .tensorboard
        .as_ref()
        .map(|object| tensorboard::board(job, object, tensorboard::IMAGE));
    let objects = objects(&pods, wishes.form, seats.as_ref(), board.as_ref());
    Ok(Rendered {
        notes: notes(subject, wishes, seats.as_ref(), &map, board.as_ref()),
        objects,
    })
}

/// All objects, in order: Services before the pods that they name, ConfigMaps and claims before the pods that mount them.
fn objects(pods: &Pods<'_>, form: Form, seats: Option<&Seats>, board: Option<&Board>) -> Vec<Value> {
    let job = &pods.subject.job;
    let mut objects = match form {
        Form::Jobs => services(job),
        Form::JobSet => Vec::new(),
    };
    objects.push(pods.map.object(job));
    let beside = pods
        .subject
        .objects
        .iter()
        .cloned()
        .chain(isolation::policy(pods.subject));
    objects.extend(beside.map(|object| with_hosts(object, job, pods.book)));
    match form {
        Form::Jobs => objects.extend(jobs::jobs(pods, seats)),
        Form::JobSet => objects.push(jobset::jobset(pods)),
    }
    objects.extend(board.into_iter().flat_map(|board| board.objects.clone()));
    objects
}

fn check_metadata(subject: &Subject, wishes: &Wishes) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if subject.generate_name {
        refusals.push(Refusal {
            code: Code::CannotRender,
            path: &["metadata", "generateName"],
            message: "the name is made by a server, and the objects must know it before".into(),
            hint: "give the job a name: `name` in place of `generateName`".into(),
        });
    }
    let own = subject.own_namespace.as_deref();
    refusals.extend(check_namespace(own, wishes.namespace.as_deref()));
    refusals
}

/// A manifest and `-n` must not name two namespaces: the objects beside the job are moved too.
#[must_use]
pub fn check_namespace(written: Option<&str>, wanted: Option<&str>) -> Option<Refusal> {
    let (written, wanted) = (written?, wanted?);
    (written != wanted).then(|| Refusal {
        code: Code::CannotRender,
        path: &["metadata", "namespace"],
        message: format!("the manifest names the namespace `{written}`, and `-n` another, `{wanted}`"),
        hint: "take one of the two away".into(),
    })
}

/// Checks names that are longer than the names of pods, which are checked for every job.
fn check_names(subject: &Subject, form: Form) -> Vec<Refusal> {
    let job = &subject.job;
    let mut longest: Vec<(String, &str)> = Vec::new();
    if form == Form::JobSet {
        let peopled = job.roles.iter().filter(|role| role.replicas > 0);
        // Kubernetes adds a dash and five letters.
        let pod = |role: &Role| format!("{}{}-xxxxx", jobset::host_prefix(job, role), role.replicas - 1);
        longest.extend(peopled.map(pod).max_by_key(String::len).map(|name| (name, "pod")));
    }
    if subject.tensorboard.is_some() {
        longest.push((names::tensorboard(&job.name), "Service"));
    }
    let too_long = longest.into_iter().filter(|(name, _)| name.len() > LABEL_LENGTH);
    let refusal = |(name, what): (String, &str)| {
        let length = name.len();
        Refusal {
            code: Code::NameTooLong,
            path: NAME,
            message: format!(
                "the {what} name `{name}` would have {length} characters; at most {LABEL_LENGTH} are allowed"
            ),
            hint: format!("shorten the job's name by {}", length - LABEL_LENGTH),
        }
    };
    too_long.map(refusal).collect()
}

/// The node of every task, where nodes are their addresses.
fn seats(job: &Job, wishes: &Wishes) -> Result<Option<Seats>, Refusal> {
    if job.addresses != Addresses::Given {
        return Ok(None);
    }
    let seats = nodes::seats(job, &wishes.nodes).ok_or_else(|| Refusal {
        code: Code::CannotRender,
        path: NAME,
        message: match job.size() {
            1 => "there is no node for its task".to_owned(),
            tasks => format!("there is no node for some of its {tasks} tasks"),
        },
        hint: "name nodes with `--nodes a,b,c`, or in every template with `nodeName`".into(),
    })?;
    Ok(Some(seats))
}

fn check_length(cluster: &Cluster) -> Option<Refusal> {
    let length = cluster.longest();
    (length > MOST_BYTES).then(|| Refusal {
        code: Code::TfConfigTooLong,
        path: NAME,
        message: format!(
            "TF_CONFIG would have {length} bytes here; at most {MOST_BYTES} fit into a variable"
        ),
        hint: "use fewer replicas, shorter names, or dynamic workers, who do not know each other".into(),
    })
}

/// The files of Volcano's `svc` plugin list hosts by the names they have there; here they may have others.
fn with_hosts(mut object: Value, job: &Job, book: &AddressBook) -> Value {
    let is_list = object["kind"] == "ConfigMap" && object["metadata"]["name"] == format!("{}-svc", job.name);
    let data = object.get_mut("data").and_then(Value::as_object_mut);
    let Some(data) = data.filter(|_| is_list) else {
        return object;
    };
    let host = |task: TaskId| {
        let there = format!("{}-{}-{}.{}", job.name, task.role, task.index, job.name);
        let here = book.0.get(&task).and_then(|address| address.rsplit_once(':'));
        (there, here.map_or_else(String::new, |(host, _)| host.to_owned()))
    };
    let hosts: BTreeMap<String, String> = job.tasks().map(host).collect();
    for (_, value) in data.iter_mut() {
        let Value::String(text) = value else { continue };
        let separator = if text.contains('\n') { "\n" } else { "," };
        let names = text
            .split(separator)
            .map(|name| hosts.get(name).map_or(name, String::as_str));
        *text = names.collect::<Vec<_>>().join(separator);
    }
    object
}
