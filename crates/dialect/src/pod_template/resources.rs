//! What a pod asks for: the amounts in its containers, checked, and summed as the scheduler counts.

use std::sync::Arc;

use super::{Container, Resources};
use trainyard_document::codes::Code;
use trainyard_document::fields::Field;
use trainyard_document::problem::{closest, shown};
use trainyard_document::quantity::Quantity;

/// The resource that a GPU was before Kubernetes 1.8.
pub(super) const OLD_GPU: &str = "alpha.kubernetes.io/nvidia-gpu";
/// What it is called since.
pub(super) const GPU: &str = "nvidia.com/gpu";

/// Resources without a slash in their name are Kubernetes' own.
const OWN: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Requests and limits of one container.
#[derive(Clone, Debug, Default)]
pub(crate) struct Amounts {
    /// What it asks for: requests, and limits where there is no request.
    pub requests: Resources,
    pub limits: Resources,
}

impl Amounts {
    /// Reads a `resources` field whose shape has been checked.
    pub(crate) fn read(field: &Field<'_>) -> Self {
        let limits = field.get("limits").map(|limits| (amounts(&limits), limits));
        let requests = field
            .get("requests")
            .map(|requests| (amounts(&requests), requests));
        if let (Some((limits, _)), Some((requests, place))) = (&limits, &requests) {
            compare(requests, limits, place);
        }
        let limits = limits.map(|(limits, _)| limits).unwrap_or_default();
        let mut asked = requests.map(|(requests, _)| requests).unwrap_or_default();
        for (name, amount) in &limits {
            asked.entry(Arc::clone(name)).or_insert(*amount);
        }
        Self {
            requests: asked,
            limits,
        }
    }
}

/// The amounts in a map of quantities, by the names they have today.
pub(super) fn amounts(field: &Field<'_>) -> Resources {
    let mut found = Resources::new();
    let Some(mut fields) = field.fields() else {
        return found;
    };
    for (name, value) in fields.entries() {
        if value.node.is_null() || !check_name(name, &value) {
            continue;
        }
        // A bad quantity has been reported with the shape of the template.
        let Some(amount) = Quantity::of(value.node) else {
            continue;
        };
        check_amount(name, amount, &value);
        let name = if &**name == OLD_GPU { GPU } else { &**name };
        add(&mut found, name.into(), amount);
    }
    found
}

/// Whether the name is one that a container may ask for.
fn check_name(name: &str, value: &Field<'_>) -> bool {
    if name == OLD_GPU {
        let message = format!("no node has offered `{OLD_GPU}` since Kubernetes 1.11");
        let problem = value.key_problem(Code::OldGpuName, message);
        value.tell(problem.hint(format!("write `{GPU}`")));
        return true;
    }
    if OWN.contains(&name) || name.starts_with("hugepages-") || name.contains('/') {
        return true;
    }
    let message = format!("there is no resource `{}`", shown(name));
    let problem = value.key_problem(Code::UnknownField, message).found(name);
    let meant = match name {
        "gpu" | "gpus" | "GPU" | "nvidia" => Some(GPU),
        "ram" | "mem" => Some("memory"),
        "storage" | "disk" => Some("ephemeral-storage"),
        _ => closest(name, OWN.iter().copied()),
    };
    let problem = problem
        .allowed("`cpu`, `memory`, `ephemeral-storage`, `hugepages-…` or a name with a slash, as in `nvidia.com/gpu`")
        .maybe_hint(meant.map(|meant| format!("did you mean `{meant}`?")));
    value.tell(problem);
    false
}

fn check_amount(name: &str, amount: Quantity, value: &Field<'_>) {
    if amount.milli < 0 {
        let problem = value.problem(Code::BadQuantity, "an amount cannot be negative");
        value.tell(problem.found(value.problems.written(value.node)));
    }
    let device = name.contains('/') && !name.contains("kubernetes.io/") || name == OLD_GPU;
    if device && amount.milli % 1000 != 0 {
        let message = format!("`{}` is counted in whole numbers", shown(name));
        let problem = value
            .problem(Code::FractionOfDevice, message)
            .allowed("a whole number");
        value.tell(problem.found(value.problems.written(value.node)));
    }
}

/// A request may not be above its limit, and devices are not shared.
fn compare(requests: &Resources, limits: &Resources, place: &Field<'_>) {
    for (name, request) in requests {
        let Some(limit) = limits.get(name) else { continue };
        let device = name.contains('/');
        if request <= limit && (!device || request == limit) {
            continue;
        }
        let wrong = if request > limit {
            format!(", above its limit {limit}")
        } else {
            format!(" and its limit {limit}; for this resource they must be equal")
        };
        let message = format!("the request of `{name}` is {request}{wrong}");
        place.tell(place.problem_in(name, Code::RequestAboveLimit, message));
    }
}

fn add(sum: &mut Resources, name: Arc<str>, amount: Quantity) {
    let entry = sum.entry(name).or_default();
    *entry = entry.plus(amount);
}

pub(crate) fn add_all(sum: &mut Resources, more: &Resources) {
    for (name, amount) in more {
        add(sum, Arc::clone(name), *amount);
    }
}

pub(crate) fn raise(most: &mut Resources, other: &Resources) {
    for (name, amount) in other {
        let entry = most.entry(Arc::clone(name)).or_default();
        *entry = (*entry).max(*amount);
    }
}

/// What one pod asks for, as the scheduler counts.
///
/// Containers run together, with the init containers that stay; the other init containers run one at a time before
/// them, beside those that stay and were started earlier. The larger of the two counts. Amounts for the whole pod
/// (`whole`) replace the sums, and the overhead comes on top.
pub(super) fn pod_requests(
    containers: &[Container],
    init_containers: &[Container],
    whole: &Resources,
    overhead: &Resources,
) -> Resources {
    let mut together = Resources::new();
    for container in containers {
        add_all(&mut together, &container.requests);
    }
    let (mut staying, mut before) = (Resources::new(), Resources::new());
    for container in init_containers {
        if container.stays {
            add_all(&mut together, &container.requests);
            add_all(&mut staying, &container.requests);
            raise(&mut before, &staying);
        } else {
            let mut now = staying.clone();
            add_all(&mut now, &container.requests);
            raise(&mut before, &now);
        }
    }
    raise(&mut together, &before);
    for (name, amount) in whole {
        together.insert(Arc::clone(name), *amount);
    }
    add_all(&mut together, overhead);
    together
}
