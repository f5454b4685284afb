//! Pods that look like ours and are no tasks leave nothing behind.

use super::*;

/// A pod of that name with the job's labels and owner, for that role and index.
fn forged(name: &str, role: &str, index: &str, uid: &str) -> PodSeen {
    let wire = json!({
        "metadata": {
            "name": name, "namespace": "ml", "uid": uid, "resourceVersion": "70",
            "labels": {
                "trainyard.dev/job-name": "mnist", "trainyard.dev/role": role, "trainyard.dev/task-index": index,
            },
            "annotations": { "trainyard.dev/stamp": format!("0.{uid}") },
            "ownerReferences": [{ "uid": "job", "controller": true }],
        },
        "status": exited(0),
    });
    serde_json::from_value(wire).unwrap()
}

fn size(store: &Store) -> usize {
    format!("{store:?}").len()
}

#[test]
fn pods_that_are_no_tasks_leave_no_tombstones() {
    let mut store = running_job();
    let before = size(&store);
    for number in 0..2_000_u32 {
        let uid = (number + 10).to_string();
        let rows = [
            forged(&format!("forged-{number}"), "worker", "0", &uid),
            forged(
                &format!("mnist-worker-{}", number + 2),
                "worker",
                &(number + 2).to_string(),
                &uid,
            ),
            forged(
                &format!("mnist-other-{number}"),
                "other",
                &number.to_string(),
                &uid,
            ),
            forged(&format!("mnist-worker-{number}"), "worker", "4294967296", &uid),
        ];
        for mut pod in rows {
            // It ends nothing.
            if let Some(task) = &mut pod.task {
                task.state = trainyard_core::Seen::Running { ready: true };
            }
            store.pod_seen(&TFJOB, pod.clone());
            store.pod_gone(&TFJOB, &pod);
        }
    }
    assert!(
        size(&store) < before + 1_000,
        "{} bytes more",
        size(&store) - before
    );
}

#[test]
fn lives_that_are_forged_under_the_name_of_a_task_are_few() {
    let mut store = running_job();
    store.pod_gone(&TFJOB, &pod(0, 60, "p0", &exited(0)));
    let before = size(&store);
    for number in 0..5_000_u32 {
        let pod = forged("mnist-worker-0", "worker", "0", &(number + 10).to_string());
        store.pod_seen(&TFJOB, pod.clone());
        store.pod_gone(&TFJOB, &pod);
    }
    assert!(
        size(&store) < before + 4_000,
        "{} bytes more",
        size(&store) - before
    );
    let status = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(
        status["trainyard"]["roles"]["worker"]["done"], "0",
        "the first one was the task's"
    );
}

#[test]
fn pods_of_a_job_that_does_not_exist_leave_few_tombstones() {
    let mut store = Store::new(Reading::default());
    store.pod_seen(&TFJOB, forged("stays", "worker", "0", "1"));
    for number in 0..5_000_u32 {
        let pod = forged(
            &format!("mnist-worker-{number}"),
            "worker",
            &number.to_string(),
            &(number + 10).to_string(),
        );
        store.pod_seen(&TFJOB, pod.clone());
        store.pod_gone(&TFJOB, &pod);
    }
    assert!(size(&store) < 300 * 1_000, "{} bytes", size(&store));
}

#[test]
fn a_pod_that_ended_before_its_job_was_listed_is_not_forgotten() {
    let (_, status) = started();
    let mut store = Store::new(Reading::default());
    store.service_seen(&TFJOB, service("s1"));
    store.pod_seen(&TFJOB, pod(0, 20, "p0", &exited(0)));
    store.pod_gone(&TFJOB, &pod(0, 21, "p0", &exited(0)));
    store.pod_seen(&TFJOB, pod(1, 22, "p1", &running()));
    store.job_seen(&TFJOB, job(30, 1, &status));
    let status = store.next(NOW).unwrap().status.unwrap();
    assert_eq!(
        status["conditions"].as_array().unwrap().last().unwrap()["type"],
        "Succeeded"
    );
}
