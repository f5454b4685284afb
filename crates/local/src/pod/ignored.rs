//! What a template says that a process on this machine cannot honour.

use serde_json::Value;

use super::report::Report;

/// Whether a program may notice that a field is not honoured.
enum Visibility {
    /// It may.
    Loud,
    /// It does not: where pods are placed, how images are pulled, how the API shows them.
    Quiet,
}

use Visibility::{Loud, Quiet};

const PLACEMENT: &str = "every task runs on this machine";
const IMAGES: &str = "images are not pulled";
const IDENTITY: &str = "tasks run as the user who started the run";
const NO_KUBELET: &str = "no kubelet watches the program";

/// Fields of a pod's `spec`.
const POD: &[(&str, Visibility, &str)] = &[
    ("activeDeadlineSeconds", Loud, "only the job's deadline counts"),
    ("affinity", Quiet, PLACEMENT),
    (
        "automountServiceAccountToken",
        Quiet,
        "there is no API server to talk to",
    ),
    ("dnsConfig", Loud, "names are looked up as this machine does"),
    ("dnsPolicy", Quiet, "names are looked up as this machine does"),
    ("hostIPC", Quiet, "tasks share it anyway"),
    ("hostNetwork", Quiet, "tasks share it anyway"),
    ("hostPID", Loud, "tasks see only the processes of their run"),
    ("hostUsers", Quiet, IDENTITY),
    ("hostname", Loud, "the machine's name stays as it is"),
    ("hostnameOverride", Loud, "the machine's name stays as it is"),
    ("imagePullSecrets", Quiet, IMAGES),
    ("nodeName", Quiet, PLACEMENT),
    ("nodeSelector", Quiet, PLACEMENT),
    ("os", Quiet, PLACEMENT),
    ("overhead", Quiet, PLACEMENT),
    ("preemptionPolicy", Quiet, PLACEMENT),
    ("priority", Quiet, PLACEMENT),
    ("priorityClassName", Quiet, PLACEMENT),
    ("readinessGates", Quiet, NO_KUBELET),
    ("resourceClaims", Loud, "devices are not claimed"),
    ("resources", Loud, "processor and memory are not limited"),
    ("runtimeClassName", Loud, "programs run directly on this machine"),
    ("schedulerName", Quiet, PLACEMENT),
    ("schedulingGates", Quiet, PLACEMENT),
    ("schedulingGroup", Quiet, PLACEMENT),
    ("securityContext", Loud, IDENTITY),
    ("setHostnameAsFQDN", Loud, "the machine's name stays as it is"),
    (
        "shareProcessNamespace",
        Quiet,
        "the containers of a task share it anyway",
    ),
    ("subdomain", Quiet, "the machine's name stays as it is"),
    ("tolerations", Quiet, PLACEMENT),
    ("topologySpreadConstraints", Quiet, PLACEMENT),
];

/// Fields of a container.
const CONTAINER: &[(&str, Visibility, &str)] = &[
    ("imagePullPolicy", Quiet, IMAGES),
    ("lifecycle", Loud, "hooks are not run"),
    ("livenessProbe", Loud, NO_KUBELET),
    ("readinessProbe", Quiet, NO_KUBELET),
    ("resizePolicy", Quiet, NO_KUBELET),
    ("securityContext", Loud, IDENTITY),
    ("startupProbe", Loud, NO_KUBELET),
    ("stdin", Loud, "programs have no input"),
    ("stdinOnce", Quiet, "programs have no input"),
    ("terminationMessagePath", Quiet, NO_KUBELET),
    ("terminationMessagePolicy", Quiet, NO_KUBELET),
    ("tty", Loud, "programs have no terminal"),
    ("volumeDevices", Loud, "block devices are not given to tasks"),
];

/// Resources that are limited, or that only say where a pod fits.
const LIMITED: &[&str] = &["cpu", "memory", "ephemeral-storage"];

/// Reports every field of the pod that is not honoured.
pub(super) fn pod(template: &Value, report: &Report<'_>) {
    fields(&template["spec"], POD, report);
}

/// Reports every field of a container that is not honoured.
pub(super) fn container(container: &Value, report: &Report<'_>) {
    fields(container, CONTAINER, report);
    let limits = container["resources"]["limits"].as_object();
    let mut limited = limits.into_iter().flatten().map(|(name, _)| name.as_str());
    if limited.any(|name| LIMITED.contains(&name)) {
        let report = report.at("resources.limits");
        report.ignore_quietly("processor and memory are not limited");
    }
}

fn fields(value: &Value, table: &[(&str, Visibility, &str)], report: &Report<'_>) {
    for (name, _) in value
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| is_said(value))
    {
        let Some((_, seen, why)) = table.iter().find(|(known, _, _)| known == name) else {
            continue;
        };
        let report = report.at(name);
        match seen {
            Loud => report.ignore(*why),
            Quiet => report.ignore_quietly(*why),
        }
    }
}

/// Whether a field says anything: `{}`, `[]`, `""`, `false` and `null` do not.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;
    use crate::pod::report::Findings;

    #[test]
    fn what_is_not_honoured_is_named_and_what_says_nothing_is_not() {
        let found = RefCell::new(Findings::default());
        let report = Report::new("worker".into(), &found);
        let template = json!({"spec": {
            "nodeSelector": {"a": "b"}, "securityContext": {}, "hostNetwork": false, "tolerations": [],
            "runtimeClassName": "gvisor", "containers": [], "terminationGracePeriodSeconds": 5,
        }});
        pod(&template, &report);
        let one = json!({
            "name": "c", "livenessProbe": {"exec": {}}, "tty": true,
            "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "1Gi"}, "requests": {"cpu": 1}},
        });
        container(&one, &report.at("containers[c]"));
        let found = found.into_inner();
        let said: Vec<_> = found
            .ignored
            .iter()
            .map(|ignored| (ignored.path.as_str(), ignored.matters))
            .collect();
        let expected = [
            ("worker.nodeSelector", false),
            ("worker.runtimeClassName", true),
            ("worker.containers[c].livenessProbe", true),
            ("worker.containers[c].tty", true),
            ("worker.containers[c].resources.limits", false),
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn tables_are_sorted_so_that_a_field_is_found_and_not_added_twice() {
        for table in [POD, CONTAINER] {
            let names: Vec<&str> = table.iter().map(|(name, _, _)| *name).collect();
            assert!(names.is_sorted(), "{names:?}");
        }
    }
}
