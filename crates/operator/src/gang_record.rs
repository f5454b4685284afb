//! Which gang scheduler places a job: it stays as it was when the job began.

use serde_json::Value;
use trainyard_manifest::gang::Began;
use trainyard_status::MEMORY_FIELD;

/// Where the scheduler's name is noted, beside what else is remembered.
const FIELD: &str = "gang";

/// How a job with this status began.
#[must_use]
pub fn began(status: Option<&Value>) -> Began<'_> {
    let memory = status.and_then(|status| status.get(MEMORY_FIELD));
    let memory = memory.filter(|memory| !memory.is_null());
    memory.map_or(Began::NotYet, |memory| {
        Began::As(memory.get(FIELD).and_then(Value::as_str))
    })
}

/// Notes it in a status that holds memory.
pub fn note(status: &mut Value, scheduler: Option<&str>) {
    if let (Some(scheduler), Some(Value::Object(memory))) = (scheduler, status.get_mut(MEMORY_FIELD)) {
        memory.insert(FIELD.into(), scheduler.into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_placed_as_it_began() {
        let rows = [
            (json!(null), Began::NotYet),
            (json!({ "conditions": [] }), Began::NotYet),
            (json!({ "startTime": "2026-01-02T03:04:05Z" }), Began::NotYet),
            (json!({ "trainyard": null }), Began::NotYet),
            (json!({ "trainyard": {} }), Began::As(None)),
            (
                json!({ "trainyard": { "gang": "volcano" } }),
                Began::As(Some("volcano")),
            ),
        ];
        for (status, expected) in rows {
            assert_eq!(began(Some(&status)), expected, "{status}");
        }
        assert_eq!(began(None), Began::NotYet);
    }
}
