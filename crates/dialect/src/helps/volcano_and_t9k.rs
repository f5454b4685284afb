//! Helps about Volcano's `Job` and T9k's `TensorFlowTrainingJob`.

use super::{Row, row};
use crate::codes::Code;

const VOLCANO: &str = "\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: job
spec:
  minAvailable: 1
  plugins: {tensorflow: [], svc: []}
  tasks:
  - name: ps
    replicas: 1
    template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}
  - name: worker
    replicas: 2
    policies:
    - {event: TaskCompleted, action: CompleteJob}
    template: {spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}
";

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
    let mut rows = volcano_tasks();
    rows.extend(volcano_policies());
    rows.extend(volcano_plugins_and_volumes());
    rows.extend(t9k());
    rows.extend(t9k_borrowed());
    rows
}

fn volcano_tasks() -> Vec<Row> {
    let tasks = VOLCANO.split_once("  tasks:\n").map_or("", |(_, tasks)| tasks);
    let many: String = (0..300)
        .map(|n| format!("  - {{name: t{n}, replicas: 1, template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: x}}]}}}}}}\n"))
        .collect();
    let wait = |name: &str| format!("- name: worker\n    dependsOn: {{name: [{name}]}}\n");
    vec![
        row(
            Code::VolcanoNoTasks,
            VOLCANO,
            &[
                (tasks, ""),
                ("  tasks:\n", "  tasks: []\n"),
                ("  minAvailable: 1\n", ""),
            ],
            "add one with `name`, `replicas` and `template`",
            &[("  tasks: []\n", &format!("  tasks:\n{tasks}"))],
        ),
        row(
            Code::OutOfRange,
            VOLCANO,
            &[(tasks, &many), ("  plugins: {tensorflow: [], svc: []}\n", "")],
            "pods that differ in their number alone belong in one task, with `replicas`",
            &[(&many, tasks)],
        ),
        row(
            Code::ZeroReplicas,
            VOLCANO,
            &[("    replicas: 1\n", "")],
            "add `replicas: 1`",
            &[("  - name: ps\n", "  - name: ps\n    replicas: 1\n")],
        ),
        row(
            Code::StartOrderInGang,
            VOLCANO,
            &[
                ("- name: worker\n", &wait("ps")),
                ("minAvailable: 1", "minAvailable: 3"),
            ],
            "set `spec.minAvailable` to 1 or less, or take `dependsOn` away",
            &[("minAvailable: 3", "minAvailable: 1")],
        ),
        row(
            Code::VolcanoDependsOn,
            VOLCANO,
            &[("- name: worker\n", &wait("pss"))],
            "did you mean `ps`?",
            &[("[pss]", "[ps]")],
        ),
        row(
            Code::VolcanoDependsOn,
            VOLCANO,
            &[("- name: worker\n", &wait("worker"))],
            "take one of these `dependsOn` away, or none of the tasks ever starts",
            &[("    dependsOn: {name: [worker]}\n", "")],
        ),
        row(
            Code::VolcanoTopology,
            VOLCANO,
            &[(
                "    replicas: 2\n",
                "    replicas: 2\n    partitionPolicy: {totalPartitions: 2, partitionSize: 2}\n",
            )],
            "set `replicas: 4`",
            &[("replicas: 2", "replicas: 4")],
        ),
        row(
            Code::VolcanoTopology,
            VOLCANO,
            &[(
                "    replicas: 1\n",
                "    replicas: 1\n    topologyPolicy: restricted\n",
            )],
            "set `resources.requests.cpu` to a whole number",
            &[(
                "{name: a, image: x}",
                "{name: a, image: x, resources: {requests: {cpu: 2}}}",
            )],
        ),
        row(
            Code::VolcanoTopology,
            VOLCANO,
            &[(
                "  minAvailable: 1\n",
                "  networkTopology: {highestTierAllowed: 1, highestTierName: a}\n",
            )],
            "keep `highestTierAllowed` or `highestTierName`",
            &[(", highestTierName: a", "")],
        ),
        row(
            Code::VolcanoHosts,
            VOLCANO,
            &[("replicas: 2", "replicas: 99999")],
            "use fewer replicas or a shorter name, or take the plugin `svc` away",
            &[("replicas: 99999", "replicas: 999")],
        ),
        row(
            Code::MistakenKind,
            VOLCANO,
            &[("batch.volcano.sh/v1alpha1", "batch/v1")],
            "did you mean `batch.volcano.sh/v1alpha1`?",
            &[("batch/v1", "batch.volcano.sh/v1alpha1")],
        ),
    ]
}

fn volcano_policies() -> Vec<Row> {
    let own = "    - {event: TaskCompleted, action: CompleteJob}\n";
    let policy = |code, policy: &str, help, mend: (&str, &str)| {
        let more = format!("{own}    - {{{policy}}}\n");
        row(code, VOLCANO, &[(own, &more)], help, &[mend])
    };
    vec![
        policy(
            Code::VolcanoNoEffect,
            "event: PodFailed, action: ResumeJob",
            "remove the policy: a job that was aborted is resumed by an order, not by an event",
            ("    - {event: PodFailed, action: ResumeJob}\n", ""),
        ),
        policy(
            Code::VolcanoCannot,
            "event: PodFailed, action: RestartPartition",
            "use `RestartTask` for all pods of the task, or make each partition a task of its own",
            ("RestartPartition", "RestartTask"),
        ),
        policy(
            Code::VolcanoTrigger,
            "event: PodFailed, exitCode: 3, action: RestartTask",
            "make two policies of it",
            (
                "{event: PodFailed, exitCode: 3, action: RestartTask}",
                "{exitCode: 3, action: RestartTask}\n    - {event: PodFailed, action: RestartTask}",
            ),
        ),
        policy(
            Code::VolcanoTrigger,
            "action: RestartTask",
            "add `event: PodFailed`, or `exitCode: 137`",
            ("{action: RestartTask}", "{event: PodFailed, action: RestartTask}"),
        ),
        policy(
            Code::VolcanoDuplicateTrigger,
            "event: TaskCompleted, action: RestartTask",
            "keep one of them; for one task alone, put the policy on that task",
            ("    - {event: TaskCompleted, action: RestartTask}\n", ""),
        ),
        policy(
            Code::OutOfRange,
            "exitCode: 0, action: CompleteJob",
            "use `event: TaskCompleted` for the success of a task",
            ("    - {exitCode: 0, action: CompleteJob}\n", ""),
        ),
        policy(
            Code::VolcanoNeverRaised,
            "event: JobUpdated, action: RestartTask",
            "remove the policy",
            ("    - {event: JobUpdated, action: RestartTask}\n", ""),
        ),
        policy(
            Code::VolcanoNeverRaised,
            "event: PodPending, action: RestartTask",
            "add `timeout: 10m`, the time a pod may be pending",
            ("event: PodPending", "event: PodPending, timeout: 10m"),
        ),
        row(
            Code::VolcanoNeverRaised,
            VOLCANO,
            &[(
                own,
                &format!("{own}    - {{event: Unknown, action: RestartJob}}\n"),
            )],
            "move the policy to `spec.policies`",
            &[
                ("    - {event: Unknown, action: RestartJob}\n", ""),
                (
                    "  tasks:\n",
                    "  policies: [{event: Unknown, action: RestartJob}]\n  tasks:\n",
                ),
            ],
        ),
        row(
            Code::ShadowedRule,
            VOLCANO,
            &[(
                own,
                &format!(
                    "{own}    - {{event: PodFailed, action: AbortJob}}\n    - {{exitCode: 3, action: RestartTask}}\n"
                ),
            )],
            "put it before them, or remove it; a task's own policies come before the job's",
            &[("    - {exitCode: 3, action: RestartTask}\n", "")],
        ),
    ]
}

fn volcano_plugins_and_volumes() -> Vec<Row> {
    let volume = |code, volume: &str, help, mend: (&str, &str)| {
        let more = format!("  volumes: [{{mountPath: /data{volume}}}]\n  tasks:\n");
        row(code, VOLCANO, &[("  tasks:\n", &more)], help, &[mend])
    };
    let plugin =
        |code, spoil: (&str, &str), help, mend: (&str, &str)| row(code, VOLCANO, &[spoil], help, &[mend]);
    vec![
        plugin(
            Code::VolcanoUnknownPlugin,
            ("tensorflow: []", "tensorflw: []"),
            "did you mean `tensorflow`?",
            ("tensorflw", "tensorflow"),
        ),
        plugin(
            Code::VolcanoPluginArgument,
            ("tensorflow: []", "tensorflow: [--worker=workers]"),
            "did you mean `worker`?",
            ("workers", "worker"),
        ),
        plugin(
            Code::VolcanoPluginArgument,
            ("tensorflow: []", "tensorflow: [--wroker=worker]"),
            "did you mean `--worker`?",
            ("wroker", "worker"),
        ),
        volume(
            Code::VolcanoVolume,
            "",
            "add `volumeClaimName` for a claim that exists, or `volumeClaim` to make one",
            ("/data", "/data, volumeClaimName: mine"),
        ),
        volume(
            Code::VolcanoVolume,
            ", volumeClaimName: mine, volumeClaim: {}",
            "keep `volumeClaimName` for a claim that exists, or `volumeClaim` to make one",
            (", volumeClaim: {}", ""),
        ),
    ]
}

fn t9k() -> Vec<Row> {
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
fn t9k_borrowed() -> Vec<Row> {
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
