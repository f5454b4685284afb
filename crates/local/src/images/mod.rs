//! Container images: what stands for each on this machine.
//!
//! ```text
//! image ─▶ the user's configuration, else the official images ─▶ Choice ─▶ a Python environment ─▶ StandIn
//! ```
//!
//! A task runs this machine's programs. For an image that is known here, a Python environment with its TensorFlow is
//! made in the cache, and comes first on the task's path. Any other image is ignored, and that is said.

mod config;
mod reference;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trainyard_core::Job;

pub use self::config::{Config, ImageEntry, place};
use self::reference::official;
use crate::gpus;
use crate::pod::{items, templates};
use crate::python::{Cache, Environment, Packages, PythonError, Release, Tell, Tools, Wanted};

/// What stands for an image on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandIn {
    /// Directories that come first on the path.
    pub path: Vec<PathBuf>,
    /// The Python that a program means by `/usr/bin/python`.
    pub python: Option<PathBuf>,
    /// The Python environment, if it is one.
    pub environment: Option<PathBuf>,
    /// What the image starts where a template does not say.
    pub entrypoint: Entrypoint,
    /// What the image holds: a path in it, and where that is on this machine.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// Variables that the image sets.
    pub env: BTreeMap<String, String>,
    /// Where its programs start, if the template does not say.
    pub workdir: Option<String>,
}

/// What an image starts by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entrypoint {
    /// Nothing is known about it.
    #[default]
    Unknown,
    /// Nothing: the arguments are the command.
    None,
    /// This, with the arguments behind it.
    Command(Vec<String>),
}

/// What is to stand for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The Python environment it needs, if it needs one.
    pub wanted: Option<Wanted>,
    rest: StandIn,
}

/// What is to stand for an image; none if nothing does. `gpu` is whether its tasks use GPUs.
#[must_use]
pub fn choose(image: &str, config: &Config, gpu: bool) -> Option<Choice> {
    let tensorflow = |release: Release, python: Option<String>| Wanted {
        python,
        packages: Packages::TensorFlow { release, gpu },
    };
    let Some(entry) = config.image(image) else {
        return official(image).map(|release| Choice {
            wanted: Some(tensorflow(release, None)),
            // The official images start a shell: with arguments, those are the command.
            rest: StandIn {
                entrypoint: Entrypoint::None,
                ..StandIn::default()
            },
        });
    };
    let python = entry.python.clone();
    let like = entry.like.as_deref();
    let wanted = match (&entry.requirements, like) {
        (Some(list), _) => Some(Wanted {
            python,
            packages: Packages::Requirements(list.clone()),
        }),
        (None, Some(like)) => official(like).map(|release| tensorflow(release, python)),
        // An interpreter alone is an environment with nothing in it.
        (None, None) => python.map(|python| Wanted {
            python: Some(python),
            packages: Packages::Requirements(Vec::new()),
        }),
    };
    let entrypoint = match &entry.command {
        Some(words) if words.is_empty() => Entrypoint::None,
        Some(words) => Entrypoint::Command(words.clone()),
        None if like.is_some_and(|like| official(like).is_some()) => Entrypoint::None,
        None => Entrypoint::Unknown,
    };
    Some(Choice {
        wanted,
        rest: StandIn {
            path: entry.path.clone(),
            entrypoint,
            files: entry.files.clone(),
            env: entry.env.clone(),
            workdir: entry.workdir.clone(),
            ..StandIn::default()
        },
    })
}

impl Choice {
    /// What stands for the image, once its environment is there.
    #[must_use]
    pub fn with(self, environment: Option<&Environment>) -> StandIn {
        let mut stand_in = self.rest;
        if let Some(environment) = environment {
            stand_in.path.push(environment.bin());
            stand_in.python = Some(environment.python());
            stand_in.environment = Some(environment.root.clone());
        }
        stand_in
    }
}

/// The images of a job's templates, and whether a task that uses it asks for GPUs.
#[must_use]
pub fn of_job(job: &Job) -> BTreeMap<Arc<str>, bool> {
    let mut images = BTreeMap::new();
    for (role, template) in templates(job).filter(|(role, _)| role.replicas > 0) {
        let spec = &template["spec"];
        let containers = items(&spec["initContainers"]).chain(items(&spec["containers"]));
        for image in containers.filter_map(|container| container["image"].as_str()) {
            *images.entry(Arc::from(image)).or_default() |= gpus::asked(role) > 0;
        }
    }
    images
}

/// What stands for every image of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandIns {
    /// By the image's name in the templates; images without one are missing.
    pub images: BTreeMap<Arc<str>, StandIn>,
    /// What people must know: which image got another version than it says.
    pub notes: Vec<String>,
}

/// Finds or makes what stands for the images of a job. `gpus` is whether this machine has any, `python` the version of Python
/// where the configuration does not say one.
///
/// This may take minutes and needs the network the first time, and some milliseconds after that.
pub fn stand_ins(
    job: &Job,
    config: &Config,
    gpus: bool,
    python: Option<&str>,
    cache: &Cache,
    tools: &dyn Fn() -> Tools,
    tell: &mut Tell<'_>,
) -> Result<StandIns, PythonError> {
    let mut found = StandIns::default();
    for (image, asks) in of_job(job) {
        let Some(mut choice) = choose(&image, config, gpus && asks) else {
            continue;
        };
        if let Some(wanted) = &mut choice.wanted {
            wanted.python = wanted.python.take().or_else(|| python.map(str::to_owned));
        }
        let wanted = choice.wanted.as_ref();
        let environment = wanted
            .map(|wanted| cache.ensure(wanted, tools, tell))
            .transpose()?;
        let note = environment
            .as_ref()
            .and_then(|environment| environment.note.as_ref());
        found.notes.extend(note.map(|note| format!("{image}: {note}")));
        found.images.insert(image, choice.with(environment.as_ref()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use trainyard_document::Source;

    use super::*;
    use crate::pod::testing::{Scratch, job, pod, role, template};

    fn config(text: &str) -> Config {
        let source = Source::from_bytes("config.yaml", text.as_bytes()).unwrap();
        Config::read(&source, std::path::Path::new("/c"), None).unwrap()
    }

    #[test]
    fn the_configuration_comes_before_the_official_images() {
        let config = config(
            "images:\n  tensorflow/tensorflow:2.1.0: {requirements: [mine]}\n  like: {like: 'tensorflow/tensorflow:2.2.0', python: '3.9'}\n  \
             plain: {path: /x}\n  made: {python: '3.9'}\n  started: {command: [a, b]}\n",
        );
        let tensorflow = |version: &str, python: Option<&str>, gpu| Wanted {
            python: python.map(str::to_owned),
            packages: Packages::TensorFlow {
                release: Release::Version(version.into()),
                gpu,
            },
        };
        let requirements = |list: &[&str], python: Option<&str>| Wanted {
            python: python.map(str::to_owned),
            packages: Packages::Requirements(list.iter().map(ToString::to_string).collect()),
        };
        let table = [
            (
                "tensorflow/tensorflow:2.1.0",
                Some(requirements(&["mine"], None)),
                Entrypoint::Unknown,
            ),
            (
                "tensorflow/tensorflow:2.3.0",
                Some(tensorflow("2.3.0", None, true)),
                Entrypoint::None,
            ),
            (
                "like",
                Some(tensorflow("2.2.0", Some("3.9"), true)),
                Entrypoint::None,
            ),
            ("plain", None, Entrypoint::Unknown),
            ("made", Some(requirements(&[], Some("3.9"))), Entrypoint::Unknown),
            ("started", None, Entrypoint::Command(vec!["a".into(), "b".into()])),
        ];
        for (image, wanted, entrypoint) in table {
            let choice = choose(image, &config, true).unwrap();
            assert_eq!(choice.wanted, wanted, "{image}");
            assert_eq!(choice.with(None).entrypoint, entrypoint, "{image}");
        }
        assert_eq!(choose("unknown", &config, false), None);
    }

    #[test]
    fn an_environment_comes_behind_the_configured_path() {
        let config = config("images: {a: {path: /x, requirements: [six]}}");
        let environment = Environment {
            root: "/cache/e".into(),
            note: None,
        };
        let stand_in = choose("a", &config, false).unwrap().with(Some(&environment));
        assert_eq!(
            stand_in.path,
            [PathBuf::from("/x"), PathBuf::from("/cache/e/bin")]
        );
        assert_eq!(stand_in.python, Some("/cache/e/bin/python".into()));
    }

    #[test]
    fn a_job_is_asked_for_its_images_and_whether_they_need_gpus() {
        let mut chief = role("chief", 1);
        let mut json = pod(json!({"image": "a"}));
        json["spec"]["initContainers"] = json!([{"name": "i", "image": "b"}]);
        chief.template = template(&json);
        let mut worker = role("worker", 2);
        worker.template = template(&pod(json!({"image": "a"})));
        worker.ask.insert("nvidia.com/gpu".into(), 1000);
        let mut none = role("ps", 0);
        none.template = template(&pod(json!({"image": "c"})));
        let images = of_job(&job(vec![chief, worker, none]));
        assert_eq!(images, BTreeMap::from([("a".into(), true), ("b".into(), false)]));
    }

    #[test]
    fn tools_are_not_looked_for_where_nothing_is_to_be_made() {
        let scratch = Scratch::new();
        let mut worker = role("worker", 1);
        worker.template = template(&pod(json!({"image": "plain"})));
        let config = config("images: {plain: {path: /x}}");
        let cache = Cache::at(scratch.path().to_owned());
        let tools = || panic!("no environment is needed");
        let found = stand_ins(
            &job(vec![worker]),
            &config,
            false,
            None,
            &cache,
            &tools,
            &mut |_| {},
        )
        .unwrap();
        assert_eq!(found.images["plain"].path, [PathBuf::from("/x")]);
        assert_eq!(found.notes, Vec::<String>::new());
    }
}
