//! Helps about Volcano's `Job`.

use trainyard_document::codes::Code;

use super::{Row, row};

/// One container that runs once.
const TEMPLATE: &str = "{spec: {restartPolicy: Never, containers: [{name: a, image: x}]}}";

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

pub(super) fn rows() -> Vec<Row> {
    let mut rows = volcano_tasks();
    rows.extend(volcano_places());
    rows.extend(volcano_policies());
    rows.extend(volcano_plugins_and_volumes());
    rows
}

fn volcano_tasks() -> Vec<Row> {
    let tasks = VOLCANO.split_once("  tasks:\n").map_or("", |(_, tasks)| tasks);
    let one = |n| format!("  - {{name: t{n}, replicas: 1, template: {TEMPLATE}}}\n");
    let many = (0..300).map(one).collect::<Vec<String>>().concat();
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
    ]
}

fn volcano_places() -> Vec<Row> {
    vec![
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
            Code::FieldIgnored,
            ("svc: []}", "svc: [], ssh: []}"),
            "remove the plugin",
            (", ssh: []}", "}"),
        ),
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
