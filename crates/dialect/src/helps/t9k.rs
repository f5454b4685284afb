//! Helps about T9k's `TensorFlowTrainingJob`.

use trainyard_document::codes::Code;

use super::{Row, row};

const T9K: &str = "\
apiVersion: batch.tensorstack.dev/v1beta1
kind: TensorFlowTrainingJob
metadata:
  name: job
spec:
  runPolicy:
    cleanUpPolicy: Unfinished
  replicaSpecs:
  - type: ps
    replicas: 1
    template: {spec: {containers: [{name: tensorflow, image: x}]}}
  - type: worker
    replicas: 2
    restartPolicy: Never
    template: {spec: {containers: [{name: tensorflow, image: x}]}}
";

pub(super) fn rows() -> Vec<Row> {
    let mut rows = own();
    rows.extend(borrowed());
    rows
}

fn own() -> Vec<Row> {
    let worker = "  - type: worker\n    replicas: 2\n    restartPolicy: Never\n";
    let switch = |modes: &str| format!("spec:\n  runMode: {{pause: {{{modes}}}}}\n");
    vec![
        row(
            Code::ServersNeverStop,
            T9K,
            &[("  runPolicy:\n    cleanUpPolicy: Unfinished\n", "")],
            "set `spec.runPolicy.cleanUpPolicy: Unfinished`",
            &[("spec:\n", "spec:\n  runPolicy:\n    cleanUpPolicy: Unfinished\n")],
        ),
        row(
            Code::RestartPolicyOverwritten,
            T9K,
            &[("{spec: {", "{spec: {restartPolicy: Always, ")],
            "remove it here; what the role does after a failure is said by `spec.replicaSpecs[0].restartPolicy`",
            &[("restartPolicy: Always, ", "")],
        ),
        row(
            Code::ScopeWithoutRestarts,
            T9K,
            &[("    cleanUpPolicy", "    restartScope: Job\n    cleanUpPolicy")],
            "set `restartPolicy: ExitCode` for them, and `spec.runPolicy.backoffLimit`",
            &[
                ("restartPolicy: Never", "restartPolicy: ExitCode"),
                (
                    "    restartScope: Job\n",
                    "    restartScope: Job\n    backoffLimit: 3\n",
                ),
            ],
        ),
        row(
            Code::OnlyParameterServers,
            T9K,
            &[(&T9K[T9K.find(worker).unwrap_or(0)..], "")],
            "add a `worker` or a `chief`",
            &[(
                "  - type: ps",
                "  - type: chief\n    template: {spec: {containers: [{name: tensorflow, image: x}]}}\n  - type: ps",
            )],
        ),
        row(
            Code::MissingField,
            T9K,
            &[
                ("  replicaSpecs:\n", "  replicaSpecs: []\n"),
                (&T9K[T9K.find("  - type: ps").unwrap_or(0)..], ""),
            ],
            "add one with `type: worker`",
            &[(
                "  replicaSpecs: []\n",
                "  replicaSpecs:\n  - type: worker\n    template: {spec: {containers: [{name: tensorflow, image: x}]}}\n",
            )],
        ),
        row(
            Code::MissingField,
            T9K,
            &[("  - type: ps", "  -\n  - type: ps")],
            "remove it, or give it `type` and `template`",
            &[("  -\n", "")],
        ),
        row(
            Code::WrongType,
            T9K,
            &[
                ("  - type: ps\n", "    ps:\n"),
                ("  - type: worker\n", "    worker:\n"),
                (
                    "    replicas: 1\n    template",
                    "      replicas: 1\n      template",
                ),
                (
                    "    replicas: 2\n    restartPolicy: Never\n    template",
                    "      replicas: 2\n      restartPolicy: Never\n      template",
                ),
            ],
            "begin each role with `- type: ps` and so on, in place of its name",
            &[
                ("    ps:\n", "    - type: ps\n"),
                ("    worker:\n", "    - type: worker\n"),
            ],
        ),
        row(
            Code::T9kSwitches,
            T9K,
            &[("spec:\n", &switch("enabled: true, enable: false"))],
            "keep `enabled` alone",
            &[(", enable: false", "")],
        ),
        row(
            Code::MovedField,
            T9K,
            &[("spec:\n", &switch("enable: true"))],
            "move it to `runMode.pause.enabled`",
            &[("enable:", "enabled:")],
        ),
    ]
}

/// Fields of other kinds.
fn borrowed() -> Vec<Row> {
    let stray = |field: &str, help| {
        let with = format!("spec:\n  {field}\n");
        row(
            Code::UnknownField,
            T9K,
            &[("spec:\n", &with)],
            help,
            &[(&with, "spec:\n")],
        )
    };
    let limit = |field: &str, help| {
        let (with, without) = (
            format!("    cleanUpPolicy: Unfinished\n    {field}\n"),
            "    cleanUpPolicy: Unfinished\n",
        );
        row(
            Code::UnknownField,
            T9K,
            &[(without, &with)],
            help,
            &[(&with, without)],
        )
    };
    vec![
        stray(
            "successPolicy: x",
            "remove it: here the chief decides, or worker 0 where there is none",
        ),
        stray(
            "successRules: x",
            "remove it: only a GenericJob has it; here the chief decides, or worker 0 where there is none",
        ),
        stray(
            "service: x",
            "remove it: only a GenericJob has it; here the tasks' addresses are made for them",
        ),
        stray("elastic: x", "remove it: only other kinds of T9k's have it"),
        limit(
            "ttlSecondsAfterFinished: 3",
            "remove it: this kind has none; delete the job by hand or by its owner",
        ),
        limit("managedBy: x", "remove it: this kind has no such field"),
        row(
            Code::UnknownField,
            T9K,
            &[("    cleanUpPolicy: Unfinished\n", "    cleanPodPolicy: Running\n")],
            "here it is called `cleanUpPolicy`: `None`, `Unfinished` or `All`",
            &[("cleanPodPolicy: Running", "cleanUpPolicy: Unfinished")],
        ),
        row(
            Code::UnknownField,
            T9K,
            &[(
                "    cleanUpPolicy: Unfinished\n",
                "    cleanUpPolicy: Unfinished\n    suspend: true\n",
            )],
            "use `spec.runMode.pause.enabled`",
            &[
                ("    suspend: true\n", ""),
                ("spec:\n", "spec:\n  runMode: {pause: {enabled: true}}\n"),
            ],
        ),
        row(
            Code::UnknownField,
            T9K,
            &[("spec:\n", "spec:\n  schedulingPolicy: {queue: q}\n")],
            "use `spec.scheduler.t9kScheduler`",
            &[(
                "  schedulingPolicy: {queue: q}\n",
                "  scheduler: {t9kScheduler: {queue: q}}\n",
            )],
        ),
        row(
            Code::UnknownField,
            T9K,
            &[
                ("  replicaSpecs:\n  - type: ps\n", "  tfReplicaSpecs:\n    ps:\n"),
                ("  - type: worker\n", "    worker:\n"),
                (
                    "    replicas: 1\n    template",
                    "      replicas: 1\n      template",
                ),
                (
                    "    replicas: 2\n    restartPolicy: Never\n    template",
                    "      replicas: 2\n      restartPolicy: Never\n      template",
                ),
            ],
            "here the roles are a list: `replicaSpecs`, each with its `type`",
            &[
                (
                    "  tfReplicaSpecs:\n    ps:\n",
                    "  replicaSpecs:\n    - type: ps\n",
                ),
                ("    worker:\n", "    - type: worker\n"),
            ],
        ),
    ]
}
