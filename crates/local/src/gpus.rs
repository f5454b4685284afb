//! The GPUs of this machine, split over the tasks of a job.
//!
//! [`find`] asks `nvidia-smi -L`; [`split`] is pure. A task sees its GPUs through `CUDA_VISIBLE_DEVICES`, by their
//! UUIDs: numbers mean different things to different programs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::{Job, Role, TaskId};

use crate::pod::Refusal;

/// The names under which manifests ask for GPUs.
pub const RESOURCES: &[&str] = &["nvidia.com/gpu", "alpha.kubernetes.io/nvidia-gpu"];

/// One GPU, or one slice of one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gpu {
    /// How CUDA names it: `GPU-…`, or `MIG-…` for a slice.
    pub uuid: Arc<str>,
    /// How people name it.
    pub name: Arc<str>,
    /// Its number on this machine; a slice has that of its GPU.
    pub number: u32,
}

impl Gpu {
    fn is_slice(&self) -> bool {
        self.uuid.starts_with("MIG-")
    }
}

/// The GPUs that `program`, an `nvidia-smi`, lists, in its order; none if there is no such program. The error is a
/// sentence. `visible` is our own `CUDA_VISIBLE_DEVICES`: what is hidden from us is not given to tasks.
pub fn find(program: &Path, visible: Option<&OsStr>) -> Result<Vec<Gpu>, String> {
    let name = program.display();
    let output = match Command::new(program).arg("-L").stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        output => output.map_err(|error| format!("cannot start `{name}`: {error}"))?,
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = format!("{text}{errors}");
        // The tools are installed and the driver is not: there is nothing to use.
        if said.contains("couldn't communicate with the NVIDIA driver")
            || said.contains("No devices were found")
        {
            return Ok(Vec::new());
        }
        return Err(format!("`{name} -L` failed: {}", said.trim()));
    }
    let gpus = parse(&text);
    Ok(match visible {
        Some(visible) => limit(&gpus, &visible.to_string_lossy()),
        None => gpus,
    })
}

/// Reads what `nvidia-smi -L` prints. A GPU that is cut into slices is its slices.
fn parse(text: &str) -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = Vec::new();
    for line in text.lines() {
        let Some((before, rest)) = line.split_once("(UUID: ") else {
            continue;
        };
        let Some((uuid, _)) = rest.split_once(')') else {
            continue;
        };
        let before = before.trim().trim_end_matches(':');
        let (number, name) = if line.starts_with(char::is_whitespace) {
            let number = gpus.last().map_or(0, |gpu| gpu.number);
            gpus.pop_if(|gpu| !gpu.is_slice());
            (number, before)
        } else {
            let numbered = before.strip_prefix("GPU ").and_then(|rest| rest.split_once(':'));
            let Some((number, name)) = numbered else {
                continue;
            };
            (number.trim().parse().unwrap_or(0), name)
        };
        gpus.push(Gpu {
            uuid: uuid.trim().into(),
            name: name.trim().into(),
            number,
        });
    }
    gpus
}

/// Only the GPUs that `CUDA_VISIBLE_DEVICES` names, in its order, up to the first entry that names no GPU, as CUDA does.
fn limit(gpus: &[Gpu], visible: &str) -> Vec<Gpu> {
    let find = |word: &str| {
        let word = word.trim();
        let by_number = word.parse::<u32>().ok();
        gpus.iter().find(|gpu| match by_number {
            Some(number) => gpu.number == number,
            None => !word.is_empty() && gpu.uuid.starts_with(word),
        })
    };
    visible.split(',').map_while(find).cloned().collect()
}

/// Which GPUs each task sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The UUIDs for each task; a task that is not here sees none.
    pub tasks: BTreeMap<TaskId, Vec<Arc<str>>>,
    /// Whether this machine has any: where it has none, nothing need be hidden.
    pub any: bool,
}

/// How many GPUs each task of a role asks for.
pub fn asked(role: &Role) -> u32 {
    let asked = RESOURCES.iter().filter_map(|name| role.ask.get(*name));
    let thousandths = asked.fold(0i64, |sum, milli| sum.saturating_add(*milli));
    u32::try_from(thousandths / 1000).unwrap_or(0)
}

fn too_few(asked: u64, who: &str, there: usize) -> Refusal {
    let plural = if asked == 1 { "" } else { "s" };
    let (there, hint) = match there {
        0 => (
            "none".to_owned(),
            "`--share-gpus` runs the tasks without; or ask for none: leave out `--gpus`, or `--set` the limit to 0",
        ),
        some => (
            some.to_string(),
            "`--share-gpus` lets tasks share those there are; or run fewer tasks: `--replicas worker=1`",
        ),
    };
    let message = format!("the job asks for {asked} GPU{plural} ({who}) and this machine has {there}");
    Refusal::new("GPUs", message, Some(hint.to_owned()))
}

/// Gives each task as many GPUs as it asks for. With `share`, one GPU may be given to several tasks, and a task that
/// asks for more than there are gets all.
pub fn split(job: &Job, gpus: &[Gpu], share: bool) -> Result<Split, Refusal> {
    let roles = || {
        job.roles
            .iter()
            .filter(|role| asked(role) > 0 && role.replicas > 0)
    };
    let total: u64 = roles()
        .map(|role| u64::from(role.replicas) * u64::from(asked(role)))
        .sum();
    if total > gpus.len() as u64 && !share {
        let who = roles().map(|role| format!("{}: {} × {}", role.name, role.replicas, asked(role)));
        return Err(too_few(total, &who.collect::<Vec<_>>().join(", "), gpus.len()));
    }
    let mut next = gpus.iter().cycle();
    let mut tasks = BTreeMap::new();
    for role in roles() {
        let many = usize::try_from(asked(role)).unwrap_or(usize::MAX).min(gpus.len());
        for task in role.tasks() {
            let own: Vec<Arc<str>> = next.by_ref().take(many).map(|gpu| gpu.uuid.clone()).collect();
            if !own.is_empty() {
                tasks.insert(task, own);
            }
        }
    }
    Ok(Split {
        tasks,
        any: !gpus.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::testing::{Scratch, job, role};

    const TWO: &str =
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa-1)\nGPU 1: Tesla: odd (UUID: GPU-bbbb-2)\n";

    fn gpus(count: u32) -> Vec<Gpu> {
        let gpu = |number| Gpu {
            uuid: format!("GPU-{number}").into(),
            name: "A100".into(),
            number,
        };
        (0..count).map(gpu).collect()
    }

    #[test]
    fn what_nvidia_smi_prints_is_read() {
        let sliced = "GPU 0: A (UUID: GPU-a)\n  MIG 1g.5gb Device 0: (UUID: MIG-1)\n  MIG 1g.5gb Device 1: (UUID: MIG-2)\nGPU 3: B (UUID: GPU-b)\n";
        let table: &[(&str, &[(&str, u32)])] = &[
            ("", &[]),
            ("No devices were found\n", &[]),
            (TWO, &[("GPU-aaaa-1", 0), ("GPU-bbbb-2", 1)]),
            (sliced, &[("MIG-1", 0), ("MIG-2", 0), ("GPU-b", 3)]),
            ("GPU 0: broken (UUID: x", &[]),
        ];
        for (text, expected) in table {
            let found = parse(text);
            let found: Vec<_> = found.iter().map(|gpu| (&*gpu.uuid, gpu.number)).collect();
            assert_eq!(found, *expected, "{text}");
        }
        assert_eq!(&*parse(TWO)[1].name, "Tesla: odd");
    }

    #[test]
    fn what_is_hidden_from_us_is_not_given_away() {
        let table: &[(&str, &[&str])] = &[
            ("0,1", &["GPU-0", "GPU-1"]),
            ("1", &["GPU-1"]),
            ("GPU-2,0", &["GPU-2", "GPU-0"]),
            ("0,-1,1", &["GPU-0"]),
            ("0,9,1", &["GPU-0"]),
            ("", &[]),
            ("-1", &[]),
        ];
        for (visible, expected) in table {
            let left = limit(&gpus(3), visible);
            let left: Vec<&str> = left.iter().map(|gpu| &*gpu.uuid).collect();
            assert_eq!(left, *expected, "{visible}");
        }
    }

    #[test]
    fn each_task_gets_what_it_asks_for_and_nobody_anything_twice() {
        let mut job = job(vec![role("chief", 1), role("worker", 2), role("ps", 1)]);
        job.roles[0]
            .ask
            .insert("alpha.kubernetes.io/nvidia-gpu".into(), 1000);
        job.roles[1].ask.insert("nvidia.com/gpu".into(), 2000);
        let split = split(&job, &gpus(5), false).unwrap();
        let of = |task: &str| split.tasks.get(&task.parse().unwrap()).map(|own| own.join(","));
        assert_eq!(of("chief-0").as_deref(), Some("GPU-0"));
        assert_eq!(of("worker-0").as_deref(), Some("GPU-1,GPU-2"));
        assert_eq!(of("worker-1").as_deref(), Some("GPU-3,GPU-4"));
        assert_eq!(of("ps-0"), None);
        assert!(split.any);
    }

    #[test]
    fn too_few_are_refused_with_the_count_unless_they_may_be_shared() {
        let mut job = job(vec![role("worker", 3)]);
        job.roles[0].ask.insert("nvidia.com/gpu".into(), 2000);
        let error = split(&job, &gpus(4), false).unwrap_err();
        let text = "the job asks for 6 GPUs (worker: 3 × 2) and this machine has 4";
        assert_eq!(error.message, text);
        assert!(error.hint.unwrap().contains("--share-gpus"));
        let shared = split(&job, &gpus(4), true).unwrap();
        let of = |task: &str| shared.tasks[&task.parse().unwrap()].join(",");
        assert_eq!(of("worker-0"), "GPU-0,GPU-1");
        assert_eq!(of("worker-2"), "GPU-0,GPU-1");
        job.roles[0].ask.insert("nvidia.com/gpu".into(), 8000);
        let shared = split(&job, &gpus(2), true).unwrap();
        assert_eq!(shared.tasks[&"worker-1".parse().unwrap()].len(), 2);
        let none = split(&job, &[], true).unwrap();
        assert_eq!(none, Split::default());
        let error = split(&job, &[], false).unwrap_err();
        assert!(error.message.ends_with("this machine has none"), "{error:?}");
    }

    #[test]
    fn the_program_is_asked_and_may_be_missing() {
        let scratch = Scratch::new();
        let program = scratch.path().join("smi");
        assert_eq!(find(&program, None).unwrap(), []);
        let script = |text: &str| drop(scratch.script("smi", text));
        script("test \"$1\" = -L && echo 'GPU 0: A (UUID: GPU-x)'");
        assert_eq!(find(&program, None).unwrap().len(), 1);
        assert_eq!(find(&program, Some(OsStr::new("-1"))).unwrap(), []);
        script(
            "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9",
        );
        assert_eq!(find(&program, None).unwrap(), []);
        script("echo 'something else' >&2; exit 3");
        let error = find(&program, None).unwrap_err();
        assert!(error.ends_with("failed: something else"), "{error}");
    }
}
