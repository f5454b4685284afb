//! The variables that every task is given: its role and number, the addresses of the others, and what TensorFlow needs
//! to run well on one machine.
//!
//! | variable | value | when |
//! |---|---|---|
//! | `TRAINYARD_TASK` | the job, the task, and which life of it: `mnist/worker-1.0.2` | always |
//! | `TRAINYARD_ROLE` | the task's type as in `TF_CONFIG`: `worker` | always |
//! | `TRAINYARD_INDEX` | its number within the role: `1` | always |
//! | `TRAINYARD_CHIEF_HOSTS`, `TRAINYARD_PS_HOSTS`, `TRAINYARD_WORKER_HOSTS` | `host:port` of each, with commas; empty if there are none | always |
//! | `HOSTNAME` | the pod's name: `<job>-worker-1` | unless set |
//! | `TF_CONFIG` | the cluster and the task | in the main container, where the job has one; after all others |
//! | `PYTHONUNBUFFERED` | `1`: lines are seen when they are printed | unless set |
//! | `TF_CPP_MIN_LOG_LEVEL` | `2`: errors only | unless set |
//! | `TF_ENABLE_ONEDNN_OPTS` | `0`: no notice at each start, and the same sums everywhere | unless set |
//! | `no_grpc_proxy` | loopback and the job's own names: gRPC sends even those to a proxy, and hangs | unless set |
//! | `no_proxy` | the same, added to what it holds | if a proxy is set |
//! | `TF_NUM_INTEROP_THREADS` | `2`: with one, a parameter server strategy's worker hangs | on one processor, unless set |
//! | `CUDA_VISIBLE_DEVICES` | the task's GPUs, `-1` for none | where the machine has GPUs, unless set |
//!
//! "Unless set" means by the template or in the environment that the run was started with; in the latter case the
//! value from there is what the task gets.

use trainyard_core::{AddressBook, Job, RoleKind, TaskId, task_name};

use super::machine::Machine;
use super::variables::Variables;
use crate::process::orphans::TASK_MARK;

/// Lower-case variables that gRPC takes a proxy from.
const PROXIES: &[&str] = &["grpc_proxy", "https_proxy", "http_proxy"];

/// The variables that come before the template's own, which may refer to them.
pub(super) fn before(job: &Job, book: &AddressBook, task: &TaskId, life: &str) -> Variables {
    let mut variables = Variables::default();
    let kind = job
        .role(&task.role)
        .map_or(&*task.role.0, |(_, role)| &*role.tf_type);
    variables.set(TASK_MARK, format!("{}/{life}", job.name));
    variables.set("TRAINYARD_ROLE", kind);
    variables.set("TRAINYARD_INDEX", task.index.to_string());
    let hosts: [(&str, &[RoleKind]); 3] = [
        ("TRAINYARD_CHIEF_HOSTS", &[RoleKind::Chief, RoleKind::Master]),
        ("TRAINYARD_PS_HOSTS", &[RoleKind::Ps]),
        ("TRAINYARD_WORKER_HOSTS", &[RoleKind::Worker]),
    ];
    for (name, kinds) in hosts {
        let roles = job.roles.iter().filter(|role| kinds.contains(&role.kind));
        let tasks = roles.flat_map(trainyard_core::Role::tasks);
        let addresses: Vec<&str> = tasks
            .filter_map(|task| book.0.get(&task).map(|address| &**address))
            .collect();
        variables.set(name, addresses.join(","));
    }
    variables.set("HOSTNAME", task_name(job, task));
    variables
}

/// The variables that the template does not set.
pub(super) fn after(variables: &mut Variables, machine: &Machine, hosts: &[String]) {
    let mut unless_set = |name: &str, value: &str| {
        variables.default_to(name, machine.variable(name).unwrap_or(value.as_bytes()));
    };
    unless_set("PYTHONUNBUFFERED", "1");
    unless_set("TF_CPP_MIN_LOG_LEVEL", "2");
    unless_set("TF_ENABLE_ONEDNN_OPTS", "0");
    if machine.cpus == 1 {
        unless_set("TF_NUM_INTEROP_THREADS", "2");
    }
    let mut near = vec!["127.0.0.1", "localhost"];
    near.extend(hosts.iter().map(String::as_str));
    unless_set("no_grpc_proxy", &near.join(","));
    let proxied = PROXIES
        .iter()
        .any(|name| variables.has(name) || machine.variable(name).is_some());
    if proxied && !variables.has("no_proxy") {
        let ours = String::from_utf8_lossy(machine.variable("no_proxy").unwrap_or_default());
        let mut all: Vec<&str> = ours.split(',').filter(|name| !name.is_empty()).collect();
        near.retain(|name| !all.contains(name));
        all.extend(near);
        variables.set("no_proxy", all.join(","));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn after_with(own: &[(&str, &str)], ours: &[(&str, &str)], cpus: u32) -> Variables {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let machine = Machine {
            cpus,
            environment: ours.iter().map(pair).collect(),
            ..Machine::default()
        };
        let mut variables = Variables::default();
        for (name, value) in own {
            variables.set(name, *value);
        }
        after(&mut variables, &machine, &[]);
        variables
    }

    #[test]
    fn defaults_give_way_to_the_template_and_to_our_own_environment() {
        // The template's variables, ours, the one looked at, what it is.
        type Case<'a> = (
            &'a [(&'a str, &'a str)],
            &'a [(&'a str, &'a str)],
            &'a str,
            Option<&'a str>,
        );
        let table: &[Case<'_>] = &[
            (&[], &[], "PYTHONUNBUFFERED", Some("1")),
            (&[], &[], "TF_CPP_MIN_LOG_LEVEL", Some("2")),
            (&[], &[], "TF_ENABLE_ONEDNN_OPTS", Some("0")),
            (&[], &[], "no_grpc_proxy", Some("127.0.0.1,localhost")),
            (&[], &[], "no_proxy", None),
            (&[], &[], "TF_NUM_INTEROP_THREADS", None),
            (
                &[("TF_CPP_MIN_LOG_LEVEL", "0")],
                &[("TF_CPP_MIN_LOG_LEVEL", "1")],
                "TF_CPP_MIN_LOG_LEVEL",
                Some("0"),
            ),
            (
                &[("TF_CPP_MIN_LOG_LEVEL", "")],
                &[],
                "TF_CPP_MIN_LOG_LEVEL",
                Some(""),
            ),
            (
                &[],
                &[("TF_CPP_MIN_LOG_LEVEL", "1")],
                "TF_CPP_MIN_LOG_LEVEL",
                Some("1"),
            ),
            (
                &[],
                &[("http_proxy", "http://p")],
                "no_proxy",
                Some("127.0.0.1,localhost"),
            ),
            (
                &[("grpc_proxy", "http://p")],
                &[],
                "no_proxy",
                Some("127.0.0.1,localhost"),
            ),
            (
                &[],
                &[("https_proxy", "http://p"), ("no_proxy", "a.example,localhost")],
                "no_proxy",
                Some("a.example,localhost,127.0.0.1"),
            ),
            (
                &[("no_proxy", "mine")],
                &[("https_proxy", "http://p")],
                "no_proxy",
                Some("mine"),
            ),
            // gRPC does not look at the upper-case ones.
            (&[], &[("HTTP_PROXY", "http://p")], "no_proxy", None),
        ];
        for (own, ours, name, value) in table {
            let variables = after_with(own, ours, 2);
            assert_eq!(
                variables.get(name),
                value.map(str::as_bytes),
                "{name} with {own:?} and {ours:?}"
            );
        }
    }

    #[test]
    fn one_processor_gets_two_threads_between_operations() {
        assert_eq!(
            after_with(&[], &[], 1).get("TF_NUM_INTEROP_THREADS"),
            Some(&b"2"[..])
        );
        let own = after_with(&[("TF_NUM_INTEROP_THREADS", "1")], &[], 1);
        assert_eq!(own.get("TF_NUM_INTEROP_THREADS"), Some(&b"1"[..]));
    }
}
