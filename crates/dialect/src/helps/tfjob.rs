//! Helps about a `TFJob`, in each of its versions.

use trainyard_document::codes::Code;

use super::manifests::{CHIEF, FIRST, OLD, PS, V1};
use super::{Row, row};

const SCOPE: (&str, &str) = (
    "  name: job\n",
    "  name: job\n  annotations: {trainyard.dev/restart-scope: Job}\n",
);
const POLICY: &str = "    cleanPodPolicy: Running\n";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = roles();
    rows.extend(restarts());
    rows.extend(policies());
    rows.extend(gangs());
    rows.extend(orders());
    rows.extend(isolation());
    rows
}

fn orders() -> Vec<Row> {
    let order = |value: &str| format!("  name: job\n  annotations: {{trainyard.dev/order: {value}}}\n");
    let ignored = |wrong: &str, help| {
        row(
            Code::FieldIgnored,
            V1,
            &[("  name: job\n", &order(wrong))],
            help,
            &[(wrong, "monday/Restart")],
        )
    };
    vec![
        ignored("monday/Restrat", "did you mean `monday/Restart`?"),
        ignored("Restart", "write an id before it, as in `monday/Restart`"),
        row(
            Code::UnknownField,
            V1,
            &[(
                "  name: job\n",
                "  name: job\n  annotations: {trainyard.dev/ordr: monday/Stop}\n",
            )],
            "did you mean `trainyard.dev/order`?",
            &[("ordr", "order")],
        ),
    ]
}

fn isolation() -> Vec<Row> {
    let from = "  name: job\n  annotations: {trainyard.dev/network-policy: isolate, trainyard.dev/network-policy-from: 'app=notebook'}\n";
    vec![
        row(
            Code::BadFormat,
            V1,
            &[("  name: job\n", from)],
            "write it as in `[{podSelector: {matchLabels: {app: notebook}}}]`",
            &[("app=notebook", "[{podSelector: {matchLabels: {app: notebook}}}]")],
        ),
        row(
            Code::UnknownValue,
            V1,
            &[(
                "  name: job\n",
                "  name: job\n  annotations: {trainyard.dev/network-policy: isolated}\n",
            )],
            "did you mean `isolate`?",
            &[("isolated", "isolate")],
        ),
    ]
}

fn roles() -> Vec<Row> {
    let empty = V1.split("    Worker:").next().unwrap_or_default();
    let workers =
        format!("{PS}\n      template: {{spec: {{containers: [{{name: tensorflow, image: x}}]}}}}\n");
    vec![
        row(
            Code::MissingField,
            empty,
            &[("tfReplicaSpecs:\n", "tfReplicaSpecs: {}\n")],
            "add a `Worker`",
            &[("tfReplicaSpecs: {}\n", &format!("tfReplicaSpecs:\n{workers}"))],
        ),
        row(
            Code::MissingField,
            V1,
            &[("    Worker:", "    Chief:\n    Worker:")],
            "add `template`",
            &[("    Chief:\n    Worker:", CHIEF)],
        ),
        row(
            Code::UnknownRole,
            V1,
            &[("Worker", "Wroker")],
            "did you mean `Worker`?",
            &[("Wroker", "Worker")],
        ),
        row(
            Code::DuplicateRole,
            V1,
            &[(
                "    Worker:",
                "    worker:\n      template: {spec: {containers: [{name: tensorflow, image: x}]}}\n    Worker:",
            )],
            "join the two into one",
            &[(
                "    worker:\n      template: {spec: {containers: [{name: tensorflow, image: x}]}}\n",
                "",
            )],
        ),
        row(
            Code::OnlyParameterServers,
            V1,
            &[("Worker:", "PS:")],
            "add a `Worker` or a `Chief`",
            &[("    PS:", &CHIEF.replace("Worker", "PS"))],
        ),
        row(
            Code::ManyChiefs,
            V1,
            &[
                ("    Worker:", CHIEF),
                ("Worker", "Master"),
                ("replicas: 2", "replicas: 1"),
            ],
            "keep `Chief`",
            &[("Master", "Worker")],
        ),
        row(
            Code::ManyChiefs,
            V1,
            &[("Worker", "Chief")],
            "set `replicas: 1`",
            &[("replicas: 2", "replicas: 1")],
        ),
        row(
            Code::NeverSucceeds,
            V1,
            &[("restartPolicy: Never", "restartPolicy: Always")],
            "see the rules with `trainyard plan`; the task that decides must be able to exit 0 and stay so",
            &[("Always", "OnFailure")],
        ),
    ]
}

fn restarts() -> Vec<Row> {
    let in_template = (
        "        spec:\n",
        "        spec:\n          restartPolicy: OnFailure\n",
    );
    vec![
        row(
            Code::RestartPolicyOverwritten,
            V1,
            &[in_template],
            "remove it from the template",
            &[("          restartPolicy: OnFailure\n", "")],
        ),
        row(
            Code::RestartPolicyOverwritten,
            V1,
            &[("      restartPolicy: Never\n", ""), in_template],
            "move it to `spec.tfReplicaSpecs.Worker.restartPolicy`, beside `template`",
            &[
                ("          restartPolicy: OnFailure\n", ""),
                (
                    "      replicas: 2\n",
                    "      replicas: 2\n      restartPolicy: OnFailure\n",
                ),
            ],
        ),
        row(
            Code::ScopeWithoutRestarts,
            V1,
            &[SCOPE],
            "set `restartPolicy: ExitCode` for them, and `spec.runPolicy.backoffLimit`",
            &[("Never", "ExitCode"), (POLICY, "    backoffLimit: 3\n")],
        ),
        row(
            Code::ScopeWithoutRestarts,
            FIRST,
            &[SCOPE, ("OnFailure", "Never"), ("OnFailure", "Never")],
            "set `template.spec.restartPolicy: OnFailure` for them",
            &[("Never", "OnFailure"), ("Never", "OnFailure")],
        ),
        row(
            Code::ScopeWithoutLimit,
            V1,
            &[SCOPE, ("Never", "ExitCode")],
            "set `spec.runPolicy.backoffLimit`",
            &[(POLICY, "    backoffLimit: 3\n")],
        ),
        row(
            Code::ScopeWithoutLimit,
            OLD,
            &[SCOPE],
            "set `spec.backoffLimit`",
            &[("spec:\n", "spec:\n  backoffLimit: 3\n")],
        ),
        row(
            Code::UnknownValue,
            V1,
            &[(POLICY, "    restartScope: []\n")],
            "write `Replica` for none",
            &[("[]", "Replica")],
        ),
        row(
            Code::UnknownValue,
            V1,
            &[(POLICY, "    restartScope: Jobs\n"), ("Never", "OnFailure")],
            "did you mean `Job`?",
            &[("Jobs", "Job")],
        ),
        row(
            Code::BadFormat,
            V1,
            &[(
                "name: job",
                "name: job\n  annotations: {trainyard.dev/retryable-exit-codes: all}",
            )],
            "write it as in `130,137,138,143` or `42,128-255`",
            &[
                ("codes: all", "codes: 42,128-255"),
                ("{", ""),
                ("}", ""),
                ("annotations: ", "annotations:\n    "),
            ],
        ),
    ]
}

fn policies() -> Vec<Row> {
    vec![
        row(
            Code::MovedField,
            V1,
            &[("spec:\n", "spec:\n  cleanPodPolicy: All\n")],
            "remove this one",
            &[("  cleanPodPolicy: All\n", "")],
        ),
        row(
            Code::MovedField,
            V1,
            &[("spec:\n", "spec:\n  backoffLimit: 3\n")],
            "move it to `spec.runPolicy.backoffLimit`: where Kubeflow's definition is installed, the server drops it here without a word",
            &[("  backoffLimit: 3\n", ""), (POLICY, "    backoffLimit: 3\n")],
        ),
        row(
            Code::UnknownValue,
            V1,
            &[(POLICY, "    managedBy: me\n")],
            "leave it out to have the job run here",
            &[("    managedBy: me\n", POLICY)],
        ),
    ]
}

fn gangs() -> Vec<Row> {
    let order = "    startOrder: [PS]\n    schedulingPolicy: {minAvailable: 3}\n";
    let group = |name: &str| {
        format!(
            "      template: {{metadata: {{annotations: {{scheduling.k8s.io/group-name: {name}}}}}, spec: {{containers: [{{name: tensorflow, image: x}}]}}}}\n"
        )
    };
    let groups = format!("    Chief:\n{}    PS:\n{}    Worker:", group("one"), group("two"));
    vec![
        row(
            Code::GangLargerThanJob,
            V1,
            &[(POLICY, "    schedulingPolicy: {minAvailable: 5}\n")],
            "set it to 2 at most, or leave it out for all of them",
            &[("minAvailable: 5", "minAvailable: 2")],
        ),
        row(
            Code::StartOrderInGang,
            V1,
            &[("    Worker:", PS), (POLICY, &format!("{POLICY}{order}"))],
            "remove the start order, or set `spec.runPolicy.schedulingPolicy.minAvailable` to 1 at most",
            &[("minAvailable: 3", "minAvailable: 1")],
        ),
        row(
            Code::StartOrderInGang,
            FIRST,
            &[
                (
                    "  name: job\n",
                    "  name: job\n  annotations: {trainyard.dev/start-order: PS}\n",
                ),
                ("spec:\n", "spec:\n  schedulerName: volcano\n"),
            ],
            "remove the start order",
            &[("  annotations: {trainyard.dev/start-order: PS}\n", "")],
        ),
        row(
            Code::GroupsDiffer,
            V1,
            &[
                ("    Worker:", &groups),
                (
                    "      template:\n",
                    "      template:\n        metadata: {annotations: {scheduling.k8s.io/group-name: one}}\n",
                ),
            ],
            "name the same group in every template",
            &[("group-name: two", "group-name: one")],
        ),
    ]
}
