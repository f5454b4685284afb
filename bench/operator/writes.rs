//! What was written to the API server, by kind, as it counts itself.

use std::collections::BTreeMap;

/// Requests that write, so far: `POST pods`, `PUT tfjobs/status`, and how often each was made.
#[derive(Clone, Debug, Default)]
pub struct Writes(BTreeMap<String, u64>);

const VERBS: [&str; 5] = ["POST", "PUT", "PATCH", "APPLY", "DELETE"];

impl Writes {
    /// Reads `/metrics`. Leases are the API server's own, and the status of pods is what this program plays.
    pub fn read(metrics: &str) -> Self {
        let mut writes = BTreeMap::new();
        for line in metrics.lines() {
            let Some(rest) = line.strip_prefix("apiserver_request_total{") else {
                continue;
            };
            let Some((labels, count)) = rest.rsplit_once("} ") else {
                continue;
            };
            let label = |name: &str| {
                let begin = format!("{name}=\"");
                let (_, value) = labels.split_once(begin.as_str())?;
                value.split('"').next()
            };
            let (verb, resource) = (label("verb"), label("resource"));
            let (Some(verb), Some(resource)) = (verb, resource) else {
                continue;
            };
            let subresource = labels
                .split(',')
                .find_map(|pair| pair.strip_prefix("subresource=\""))
                .map(|value| value.trim_end_matches('"'))
                .unwrap_or_default();
            let played = resource == "pods" && subresource == "status";
            if !VERBS.contains(&verb) || resource == "leases" || played {
                continue;
            }
            let what = match subresource {
                "" => format!("{verb} {resource}"),
                sub => format!("{verb} {resource}/{sub}"),
            };
            // Counts are written as floating-point numbers.
            let count = count.split('.').next().and_then(|count| count.parse().ok());
            *writes.entry(what).or_default() += count.unwrap_or(0_u64);
        }
        Self(writes)
    }

    /// What has come since.
    pub fn since(&self, before: &Self) -> Self {
        let difference = |(what, count): (&String, &u64)| {
            let count = count.saturating_sub(before.0.get(what).copied().unwrap_or_default());
            (count > 0).then(|| (what.clone(), count))
        };
        Self(self.0.iter().filter_map(difference).collect())
    }

    /// Writes of the candidate: `EndpointSlices` of Services are written by the controllers.
    pub fn sum(&self) -> u64 {
        let own = self.0.iter().filter(|(what, _)| !what.contains(" endpoint"));
        own.map(|(_, count)| count).sum()
    }

    /// In words.
    pub fn told(&self) -> String {
        let each: Vec<String> = self
            .0
            .iter()
            .map(|(what, count)| format!("{count} {what}"))
            .collect();
        each.join(", ")
    }
}
