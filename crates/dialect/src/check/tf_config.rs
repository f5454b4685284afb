//! `TF_CONFIG` must fit into one environment variable.
//!
//! Its length is computed, not measured: the number of replicas is the user's to choose, and a file may hold
//! thousands of jobs. A test holds the figure to what is really written.

use super::Places;
use trainyard_core::{Addresses, ClusterForm, Job, MOST_BYTES, Role, RoleKind};
use trainyard_document::codes::Code;

/// Checks the longest `TF_CONFIG` of the job.
pub(super) fn check(job: &Job, places: &Places<'_>) {
    let length = longest(job);
    if length <= MOST_BYTES as u64 {
        return;
    }
    let roles = job.roles.iter().zip(&places.roles).enumerate();
    let listed = roles.filter(|(_, (role, _))| is_listed(job, role));
    let largest = listed.max_by_key(|(_, (role, _))| role.replicas);
    let Some((largest, (role, field))) = largest else {
        return;
    };
    let mut smaller = job.clone();
    let (mut fits, mut too_many) = (0, role.replicas);
    while too_many - fits > 1 {
        let middle = fits + (too_many - fits) / 2;
        smaller.roles[largest].replicas = middle;
        if longest(&smaller) <= MOST_BYTES as u64 {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    let message = format!("`TF_CONFIG` would have {length} bytes; Linux takes {MOST_BYTES} at most");
    let problem = field.problem_in("replicas", Code::TfConfigTooLong, message);
    let advice = match fits {
        0 => "even one replica would not fit: shorten the names".to_owned(),
        _ => format!("{fits} replicas of `{}` would fit", role.name),
    };
    field.tell(problem.found(role.replicas.to_string()).hint(advice));
}

fn is_listed(job: &Job, role: &Role) -> bool {
    match &job.cluster {
        ClusterForm::None => false,
        ClusterForm::Full { roles, .. } => roles.contains(&role.name),
        ClusterForm::Sparse => role.kind == RoleKind::Ps,
    }
}

/// The length of the longest `TF_CONFIG` of the job.
pub(super) fn longest(job: &Job) -> u64 {
    let each = |role: &Role| tf_config(job, role);
    let with_tasks = job.roles.iter().filter(|role| role.replicas > 0);
    with_tasks.map(each).max().unwrap_or(0)
}

/// The length for the last task of a role.
fn tf_config(job: &Job, role: &Role) -> u64 {
    let last = role.replicas - 1;
    let (cluster, environment) = match &job.cluster {
        ClusterForm::None => return 0,
        ClusterForm::Full { environment, .. } => {
            let listed = job
                .roles
                .iter()
                .filter(|role| is_listed(job, role) && role.replicas > 0);
            let parts: Vec<u64> = listed
                .map(|role| quoted(&role.tf_type) + 1 + list(job, role))
                .collect();
            let commas = (parts.len() as u64).saturating_sub(1);
            (2 + parts.iter().sum::<u64>() + commas, *environment)
        }
        ClusterForm::Sparse => (sparse(job, role, last), false),
    };
    let environment = if environment {
        ",\"environment\":\"cloud\"".len() as u64
    } else {
        0
    };
    let task = quoted(&role.tf_type) + ",\"index\":}".len() as u64 + digits(last);
    "{\"cluster\":,\"task\":{\"type\":}".len() as u64 + cluster + task + environment
}

fn sparse(job: &Job, role: &Role, last: u32) -> u64 {
    let servers = job.roles.iter().find(|role| role.kind == RoleKind::Ps);
    let servers = servers.map_or(2, |servers| list(job, servers));
    let own = address(job, role) + digits(last) + 2;
    match role.kind {
        RoleKind::Worker => "{\"worker\":{\"\":},\"ps\":}".len() as u64 + digits(last) + own + servers,
        RoleKind::Ps => "{\"worker\":{},\"ps\":[]}".len() as u64 + own,
        RoleKind::Evaluator => "{\"worker\":{},\"ps\":}".len() as u64 + servers,
        _ => "{:[],\"worker\":{},\"ps\":}".len() as u64 + quoted(&role.tf_type) + own + servers,
    }
}

/// `["…","…"]` for all tasks of a role.
fn list(job: &Job, role: &Role) -> u64 {
    let count = u64::from(role.replicas);
    let all_digits: u64 = (0..10)
        .map(|power| 10u64.pow(power))
        .take_while(|least| *least < count.max(1))
        .map(|least| count - if least == 1 { 0 } else { least })
        .sum();
    let all_digits = if count == 1 { 1 } else { all_digits };
    2 + count * (address(job, role) + 2) + all_digits + count.saturating_sub(1)
}

/// The length of one address without the digits of its index.
fn address(job: &Job, role: &Role) -> u64 {
    let (name, namespace) = (job.name.len(), job.namespace.len());
    let suffix = match job.addresses {
        Addresses::PerJob => ".".len() + name + ".".len() + namespace + ".svc".len(),
        Addresses::PerJobShort => ".".len() + name,
        Addresses::PerReplica => ".".len() + namespace + ".svc".len(),
        Addresses::Given => return 0,
    };
    let host = name + "-".len() + role.name.as_str().len() + "-".len() + suffix;
    (host + ":".len()) as u64 + digits(u32::from(role.port))
}

fn quoted(text: &str) -> u64 {
    text.len() as u64 + 2
}

fn digits(number: u32) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use trainyard_core::{Cluster, addresses};

    use super::*;
    use trainyard_document::Source;

    /// A job with so many chiefs, parameter servers, workers and evaluators.
    fn job(counts: [u32; 4], annotations: &str, more: &str) -> Job {
        let names = ["Chief", "PS", "Worker", "Evaluator"];
        let template = "template: {spec: {containers: [{name: tensorflow, image: i}]}}";
        let roles: Vec<String> = names
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name}: {{replicas: {count}, {template}}}"))
            .collect();
        let text = format!(
            "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {{name: a-job, annotations: {{{annotations}}}}}\n\
             spec: {{{more} tfReplicaSpecs: {{{}}}}}\n",
            roles.join(", ")
        );
        let reading = crate::read(&Source::from_bytes("test.yaml", text.as_bytes()).unwrap());
        reading.jobs().next().expect("a job").job.clone()
    }

    #[test]
    fn the_computed_length_is_the_written_one() {
        let forms = [
            ("", ""),
            ("trainyard.dev/addresses: per-replica", ""),
            ("trainyard.dev/evaluator-in-cluster: 'true'", ""),
            ("", "enableDynamicWorker: true,"),
        ];
        let counts = [
            [0, 0, 1, 0],
            [0, 0, 2, 0],
            [1, 0, 1, 0],
            [1, 1, 1, 1],
            [0, 9, 10, 1],
            [0, 10, 11, 0],
            [1, 11, 99, 0],
            [1, 0, 100, 1],
            [0, 2, 101, 0],
            [1, 100, 1001, 1],
            [1, 101, 1500, 0],
        ];
        for (annotations, more) in forms {
            for counts in counts {
                let job = job(counts, annotations, more);
                let written = Cluster::of(&job, &addresses(&job, None)).longest() as u64;
                assert_eq!(longest(&job), written, "{counts:?} {annotations} {more}");
            }
        }
    }

    #[test]
    fn the_count_that_would_fit_fits_and_one_more_does_not() {
        let text = std::fs::read(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/bad/tfjob/tf-config-too-long.yaml"
        ));
        let reading = crate::read(&Source::from_bytes("test.yaml", &text.unwrap()).unwrap());
        let hint = reading.problems[0].hint.clone().unwrap();
        let fits: u32 = hint.split(' ').next().unwrap().parse().unwrap();
        let mut large = job([0, 100, 4, 0], "", "");
        large.name = "recommender-embeddings".into();
        for (replicas, expected) in [(fits, true), (fits + 1, false)] {
            large.roles[1].replicas = replicas;
            let written = Cluster::of(&large, &addresses(&large, None)).longest();
            assert_eq!(written <= MOST_BYTES, expected, "{replicas}: {written}");
        }
    }
}
