//! Gangs whose queue is missing, full or closed.

use serde_json::{Value, json};

use super::Stage;

impl Stage<'_> {
    /// Creates a queue, or changes it.
    #[track_caller]
    fn queue(&self, name: &str, spec: &Value) {
        let version = self.scheduler.groups.trim_start_matches("apis/");
        let queue =
            json!({ "apiVersion": version, "kind": "Queue", "metadata": { "name": name }, "spec": spec });
        let path = format!("/{}/queues", self.scheduler.groups);
        match self.api().create(&path, &queue) {
            Err(refused) if refused.code == 409 => {
                let change = json!({ "spec": spec });
                self.api().patch(&format!("{path}/{name}"), &change).unwrap();
            }
            created => drop(created.unwrap()),
        }
    }
}

pub fn queue_is_missing(stage: &mut Stage<'_>) {
    stage.create_in("night", "unqueued", 2);
    stage.until_told("unqueued", "there is no queue `night`");
    stage.none_is_placed("unqueued");
    stage.queue("night", &json!({ "weight": 1 }));
    stage.until_placed("unqueued", 2);
    stage.run("unqueued", &[0, 1]);
    stage.finish("unqueued", &[0, 1]);
}

/// The scheduler says nothing of it, and Volcano's webhook, which refuses pods of a closed queue, is not here.
pub fn queue_is_full_or_closed(stage: &mut Stage<'_>) {
    stage.queue("small", &json!({ "weight": 1, "capability": { "cpu": "10" } }));
    stage.create_in("small", "within", 1);
    stage.until_placed("within", 1);
    stage.run("within", &[0]);
    stage.create_in("small", "beside", 2);
    stage.until_told(
        "beside",
        "may hold at most 10 of `cpu`, 5 in use, and the group needs 10",
    );
    stage.finish("within", &[0]);
    stage.until_placed("beside", 2);
    stage.run("beside", &[0, 1]);
    stage.finish("beside", &[0, 1]);

    stage.create_in("small", "over", 3);
    stage.until_told("over", "may hold at most 10 of `cpu`, and the group needs 15");
    let status = format!("/{}/queues/small/status", stage.scheduler.groups);
    let close = json!({ "status": { "state": "Closed", "allocated": {} } });
    stage.api().patch(&status, &close).unwrap();
    stage.until_told("over", "its queue `small` is Closed");
    stage.none_is_placed("over");
    // As the words say.
    let moved = json!({ "spec": { "queue": "default" } });
    stage.api().patch(&stage.group("over"), &moved).unwrap();
    stage.until_placed("over", 3);
    stage.run("over", &[0, 1, 2]);
    stage.finish("over", &[0, 1, 2]);
}
