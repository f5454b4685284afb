//! One task of a Volcano job.

use std::sync::Arc;

use trainyard_document::codes::Code;
use trainyard_document::fields::{Field, Fields};
use trainyard_document::names::wrong_label;
use trainyard_document::problem::shown;

use super::spec::{Task, max_retry, pods, topology};
use super::{depends, policy};
use crate::pod_template::{self, PodTemplate};

/// NUMA policies; nothing is said to the scheduler for `none`.
const TOPOLOGIES: &[(&str, Option<&str>)] = &[
    ("none", None),
    ("best-effort", Some("best-effort")),
    ("restricted", Some("restricted")),
    ("single-numa-node", Some("single-numa-node")),
];

/// Reads the task at `position` of the list, with the place of its name.
pub(super) fn read<'a>(field: &Field<'a>, position: usize) -> Option<(Task<'a>, Field<'a>)> {
    let mut fields = field.fields()?;
    let name = fields.get("name").filter(|name| name.node.as_text() != Some(""));
    let place = name.clone().unwrap_or_else(|| field.clone());
    let name = name.and_then(|name| checked_name(&name));
    let replicas = replicas(&mut fields);
    let partitions = partitions(&mut fields, replicas);
    let least = fields.get("minAvailable");
    let min_available = least.as_ref().and_then(Field::count);
    if let (Some(place), Some(least)) = (&least, min_available) {
        check_minimum(place, least, replicas, partitions);
    }
    let template = fields
        .require("template")
        .and_then(|template| Some((pod_template::read(&template)?, template)));
    let numa = fields.choice("topologyPolicy", TOPOLOGIES).flatten();
    if let (Some(_), Some((template, place))) = (numa, &template) {
        check_whole_cpus(template, place);
    }
    let max_retry = max_retry(&mut fields);
    let policies = policy::read(&mut fields, Some(position));
    let depends_on = depends::read(&mut fields);
    fields.elsewhere("restartPolicy", "template.spec.restartPolicy");
    fields.finish();
    let (template, _) = template?;
    let task = Task {
        name: name.unwrap_or_else(|| format!("default{position}").into()),
        replicas,
        min_available: min_available.or(partitions).unwrap_or(replicas),
        max_retry,
        template,
        policies,
        depends_on,
        topology: numa,
        position,
        place: field.clone(),
    };
    Some((task, place))
}

fn checked_name(field: &Field<'_>) -> Option<Arc<str>> {
    let name = field.text()?;
    if wrong_label(name).is_some() {
        let message = format!("`{}` cannot be the name of a task", shown(name));
        let problem = field.problem(Code::BadName, message).found(name);
        let allowed =
            "lower-case letters, digits and `-`, beginning and ending with a letter or digit, at most 63";
        field.tell(problem.allowed(allowed));
    }
    Some(name.clone())
}

/// Volcano takes a task without `replicas` for one without pods.
fn replicas(fields: &mut Fields<'_>) -> u32 {
    let given = fields.get("replicas");
    let Some(field) = given else {
        let message = "the task does not say `replicas`, and so has no pods";
        let problem = fields.problem(Code::ZeroReplicas, message);
        fields.problems().report(problem.hint("add `replicas: 1`"));
        return 0;
    };
    let count = field.count();
    if count == Some(0) {
        field.report(Code::ZeroReplicas, "the task has no pods");
    }
    count.unwrap_or(0)
}

fn check_minimum(place: &Field<'_>, least: u32, replicas: u32, partitions: Option<u32>) {
    let (limit, allowed) = match partitions {
        Some(needed) if needed != least => {
            let limit = format!("the partitions needed at least have {}", pods(needed));
            (limit, format!("{needed}, or nothing"))
        }
        _ if least > replicas => {
            let limit = format!("the task has only {}", pods(replicas));
            (limit, format!("at most {replicas}"))
        }
        _ => return,
    };
    let message = format!("`minAvailable` is {least}, but {limit}");
    let problem = place
        .problem(Code::VolcanoMinimum, message)
        .found(least.to_string());
    place.tell(problem.allowed(allowed));
}

/// `partitionPolicy`: checked; the number of pods in the partitions that are needed at least, if it says one.
fn partitions(fields: &mut Fields<'_>, replicas: u32) -> Option<u32> {
    let field = fields.get("partitionPolicy")?;
    let mut inner = field.fields()?;
    let mut positive = |name| inner.get(name).and_then(|count| count.count_from(1));
    let (total, size) = (positive("totalPartitions"), positive("partitionSize"));
    let least = inner.count("minPartitions").unwrap_or(0);
    topology(&mut inner);
    inner.finish();
    let (total, size) = (u64::from(total?), u64::from(size?));
    let pods = total * size;
    if pods != u64::from(replicas) {
        let message = format!("{total} partitions of {size} pods are not {replicas} replicas");
        let problem = field.problem(Code::VolcanoTopology, message);
        field.tell(problem.hint(format!("set `replicas: {pods}`")));
    }
    let why = "pods are not labelled with their partition; only its numbers are used";
    fields.ignored("partitionPolicy", why);
    let needed = u32::try_from(u64::from(least) * size).ok();
    needed.filter(|needed| *needed > 0)
}

/// A NUMA policy needs whole CPUs in every container.
fn check_whole_cpus(template: &PodTemplate, place: &Field<'_>) {
    for container in &template.containers {
        let cpu = container.requests.get("cpu").map_or(0, |cpu| cpu.milli);
        if cpu == 0 || cpu % 1000 != 0 {
            let asked = match cpu {
                0 => "none".to_owned(),
                cpu => format!("{cpu}m"),
            };
            let name = shown(&container.name);
            let message =
                format!("`topologyPolicy` needs whole CPUs, but the container `{name}` asks for {asked}");
            let problem = place.problem(Code::VolcanoTopology, message);
            place.tell(problem.hint("set `resources.requests.cpu` to a whole number"));
        }
    }
}
