//! Which packages, for which interpreter: from what was asked for to what the index offers.

use serde::{Deserialize, Serialize};

use super::tools::{Interpreter, Tools};
use super::version::{Version, nearest};
use super::{Progress, PythonError, Tell};

/// What a Python environment is wanted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wanted {
    /// An interpreter: a version such as `3.11`, or a path; none is the one people mean by `python3`.
    pub python: Option<String>,
    /// What is in it.
    pub packages: Packages,
}

/// What is in a Python environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Packages {
    /// TensorFlow, and what belongs to it.
    TensorFlow {
        /// The release that was asked for.
        release: Release,
        /// Whether it is to use GPUs.
        gpu: bool,
    },
    /// TensorBoard alone: without TensorFlow it starts in a fifth of the time.
    TensorBoard,
    /// These, as pip takes them.
    Requirements(Vec<String>),
}

/// A release of TensorFlow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Release {
    /// The newest that is no candidate.
    Newest,
    /// Last night's.
    Nightly,
    /// This one, or as near to it as there is: `2.15.0`.
    Version(String),
}

/// The interpreter and the packages that were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub interpreter: Interpreter,
    /// As pip takes them.
    pub requirements: Vec<String>,
    /// Whether candidates and nightly builds count.
    pub early: bool,
    /// A module that must import.
    pub proof: Option<&'static str>,
    /// What people must know: it is another version than they asked for.
    pub note: Option<String>,
    /// What it is called in messages and in the cache.
    pub name: String,
}

/// TensorBoard before 2.21 wants a module that setuptools has dropped since.
const TENSORBOARD: [&str; 2] = ["tensorboard", "setuptools<81"];

/// Chooses an interpreter and versions.
pub(super) fn choose(wanted: &Wanted, tools: &Tools, tell: &mut Tell<'_>) -> Result<Chosen, PythonError> {
    let interpreter = tools.interpreter(wanted.python.as_deref())?;
    let (requirements, early, proof, name) = match &wanted.packages {
        Packages::TensorFlow {
            release: Release::Newest,
            gpu,
        } => {
            return tensorflow(None, *gpu, wanted, interpreter, tools, tell);
        }
        Packages::TensorFlow {
            release: Release::Version(text),
            gpu,
        } => {
            let asked = Version::parse(text).ok_or_else(|| PythonError::NoVersion(text.clone()))?;
            return tensorflow(Some(asked), *gpu, wanted, interpreter, tools, tell);
        }
        Packages::TensorFlow {
            release: Release::Nightly,
            gpu,
        } => {
            let package = package("tf-nightly", "tf-nightly-cpu", *gpu);
            let requirements = [package, "tensorboard"].map(str::to_owned).to_vec();
            (requirements, true, Some("tensorflow"), package)
        }
        Packages::TensorBoard => {
            let requirements = TENSORBOARD.map(str::to_owned).to_vec();
            (requirements, false, Some("tensorboard"), "tensorboard")
        }
        Packages::Requirements(list) => (list.clone(), false, None, "requirements"),
    };
    Ok(Chosen {
        interpreter,
        requirements,
        early,
        proof,
        note: None,
        name: name.to_owned(),
    })
}

/// The package to install: the smaller one for processors alone, where that is enough and there is one.
fn package(full: &'static str, cpu: &'static str, gpu: bool) -> &'static str {
    if gpu || !has_cpu_builds() { full } else { cpu }
}

/// Packages of the processor's own are built for this kind of machine only.
fn has_cpu_builds() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

fn tensorflow(
    asked: Option<Version>,
    gpu: bool,
    wanted: &Wanted,
    own: Interpreter,
    tools: &Tools,
    tell: &mut Tell<'_>,
) -> Result<Chosen, PythonError> {
    let package = package("tensorflow", "tensorflow-cpu", gpu);
    tell(Progress::Choosing(match &asked {
        Some(asked) => format!("TensorFlow {asked}"),
        None => "the newest TensorFlow".to_owned(),
    }));
    let offered = tools.offered(&own.path, package, &own.minor(), tell)?;
    let Some(asked) = asked else {
        let finals = offered.iter().filter(|version| version.is_final());
        let newest = finals.max().or_else(|| offered.iter().max());
        let newest = newest.ok_or_else(|| nothing_for(&own))?;
        return Ok(packaged(package, newest, gpu, own, None));
    };
    if let Some(found) = exactly(&asked, &offered) {
        return Ok(packaged(package, found, gpu, own, None));
    }
    // Another interpreter may have it: older versions go with older ones, newer with newer.
    if wanted.python.is_none()
        && let Some((other, package, found)) = elsewhere(&asked, package, &offered, &own, tools, tell)?
    {
        let note = format!(
            "TensorFlow {found} needs Python {}, which is used for it",
            other.minor()
        );
        return Ok(packaged(package, &found, gpu, other, Some(note)));
    }
    let found = nearest(&asked, &offered).ok_or_else(|| nothing_for(&own))?;
    let note = format!(
        "there is no TensorFlow {asked} for Python {}; TensorFlow {found}, the nearest, is used",
        own.version
    );
    Ok(packaged(package, found, gpu, own, Some(note)))
}

fn nothing_for(own: &Interpreter) -> PythonError {
    PythonError::NoVersion(format!("any version for Python {}", own.version))
}

/// What was asked for, or the newest version of it: `2.15` is `2.15.1`.
fn exactly<'v>(asked: &Version, offered: &'v [Version]) -> Option<&'v Version> {
    nearest(asked, offered).filter(|found| *found == asked || found.is_within(asked))
}

/// Another interpreter for which there is exactly what was asked for. Its index is asked through the pip of `own`.
fn elsewhere(
    asked: &Version,
    package: &'static str,
    offered: &[Version],
    own: &Interpreter,
    tools: &Tools,
    tell: &mut Tell<'_>,
) -> Result<Option<(Interpreter, &'static str, Version)>, PythonError> {
    let newer = offered.iter().max().is_some_and(|newest| asked > newest);
    let mut others = tools.others(own);
    others.retain(|other| (other.version > own.version) == newer);
    if newer {
        others.reverse();
    }
    let mut packages = vec![package, "tensorflow"];
    packages.dedup();
    for other in others {
        for package in &packages {
            let there = tools.offered(&own.path, package, &other.minor(), tell)?;
            if let Some(found) = exactly(asked, &there) {
                return Ok(Some((other, package, found.clone())));
            }
        }
    }
    Ok(None)
}

fn packaged(
    package: &str,
    version: &Version,
    gpu: bool,
    interpreter: Interpreter,
    note: Option<String>,
) -> Chosen {
    let minor = version.minor();
    // Since 2.14 the libraries for GPUs come as packages of their own.
    let extra = if gpu && minor >= (2, 14) { "[and-cuda]" } else { "" };
    let mut requirements = vec![format!("{package}{extra}=={version}")];
    requirements.extend(companions(minor).map(str::to_owned));
    Chosen {
        interpreter,
        requirements,
        early: false,
        proof: Some("tensorflow"),
        note,
        name: format!("{package}-{version}"),
    }
}

/// What a version of TensorFlow needs and does not say: packages that have moved on since it was released, and
/// TensorBoard, without which newer ones cannot write summaries.
fn companions(minor: (u32, u32)) -> impl Iterator<Item = &'static str> {
    let table = [
        (minor < (2, 9), "protobuf<3.21"),
        (minor < (2, 12), "numpy<1.24"),
        (((2, 12)..(2, 18)).contains(&minor), "numpy<2"),
        (minor >= (2, 20), "tensorboard"),
        (true, "setuptools<81"),
    ];
    table
        .into_iter()
        .filter_map(|(needed, package)| needed.then_some(package))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::pod::testing::Scratch;

    /// An index in a script: what it offers depends on the package and the version of Python asked for.
    fn tools(scratch: &Scratch) -> Tools {
        let python = |name: &str, version: &str| {
            let script = format!(
                r#"case "$*" in
*"import sys"*) echo {version};;
*"--python-version 3.11"*"tensorflow-cpu==0") echo "(from versions: 2.12.0, 2.12.1, 2.15.0, 2.21.0, 2.22.0rc0)" >&2; exit 1;;
*"--python-version 3.11"*"tensorflow==0") echo "(from versions: 2.12.0, 2.15.0, 2.21.0)" >&2; exit 1;;
*"--python-version 3.8"*"tensorflow-cpu==0") echo "(from versions: 2.4.0, 2.5.0)" >&2; exit 1;;
*"--python-version 3.7"*"tensorflow-cpu==0") echo "(from versions: 1.15.0)" >&2; exit 1;;
*"--python-version 3.7"*"tensorflow==0") echo "(from versions: 1.13.1, 1.15.0)" >&2; exit 1;;
*"--python-version 3.13"*) echo "(from versions: 2.30.0)" >&2; exit 1;;
*) echo "(from versions: none)" >&2; exit 1;;
esac"#
            );
            scratch.script(name, &script);
        };
        python("python3", "3.11.7");
        python("python3.7", "3.7.16");
        python("python3.8", "3.8.1");
        python("python3.13", "3.13.0");
        Tools {
            uv: None,
            path: vec![scratch.path().to_owned()],
            environment: BTreeMap::new(),
        }
    }

    fn version(text: &str) -> Release {
        Release::Version(text.to_owned())
    }

    /// What is asked for, and of which interpreter; the interpreter, the first requirement, part of the note.
    type Case<'a> = (Release, Option<&'a str>, &'a str, &'a str, Option<&'a str>);

    #[test]
    fn each_tag_gets_its_version_or_the_nearest_and_says_so() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        let table: [Case<'_>; 9] = [
            (Release::Newest, None, "3.11", "tensorflow-cpu==2.21.0", None),
            (version("2.15.0"), None, "3.11", "tensorflow-cpu==2.15.0", None),
            (version("2.12"), None, "3.11", "tensorflow-cpu==2.12.1", None),
            (
                version("2.4.0"),
                None,
                "3.8",
                "tensorflow-cpu==2.4.0",
                Some("needs Python 3.8"),
            ),
            (
                version("1.13.1"),
                None,
                "3.7",
                "tensorflow==1.13.1",
                Some("needs Python 3.7"),
            ),
            (
                version("2.30.0"),
                None,
                "3.13",
                "tensorflow-cpu==2.30.0",
                Some("needs Python 3.13"),
            ),
            (
                version("2.11.0"),
                None,
                "3.11",
                "tensorflow-cpu==2.12.1",
                Some(
                    "there is no TensorFlow 2.11.0 for Python 3.11.7; TensorFlow 2.12.1, the nearest, is used",
                ),
            ),
            (
                version("2.4.0"),
                Some("3.11"),
                "3.11",
                "tensorflow-cpu==2.12.1",
                Some("the nearest"),
            ),
            (Release::Nightly, None, "3.11", "tf-nightly-cpu", None),
        ];
        for (release, python, minor, requirement, note) in table {
            let wanted = Wanted {
                python: python.map(str::to_owned),
                packages: Packages::TensorFlow {
                    release: release.clone(),
                    gpu: false,
                },
            };
            let chosen = choose(&wanted, &tools, &mut |_| {}).unwrap();
            assert_eq!(chosen.interpreter.minor(), minor, "{release:?}");
            if has_cpu_builds() {
                assert_eq!(chosen.requirements[0], requirement, "{release:?}");
            }
            let said = chosen.note.as_deref().unwrap_or_default();
            assert!(said.contains(note.unwrap_or_default()), "{release:?}: {said}");
            assert_eq!(chosen.note.is_some(), note.is_some(), "{release:?}");
        }
    }

    #[test]
    fn with_gpus_the_libraries_for_them_come_along() {
        let scratch = Scratch::new();
        let tools = tools(&scratch);
        for (text, requirement) in [
            ("2.15.0", "tensorflow[and-cuda]==2.15.0"),
            ("2.12.0", "tensorflow==2.12.0"),
        ] {
            let wanted = Wanted {
                python: None,
                packages: Packages::TensorFlow {
                    release: version(text),
                    gpu: true,
                },
            };
            assert_eq!(
                choose(&wanted, &tools, &mut |_| {}).unwrap().requirements[0],
                requirement
            );
        }
    }

    #[test]
    fn old_versions_are_kept_from_packages_that_have_moved_on() {
        let table: [((u32, u32), &[&str]); 5] = [
            ((1, 13), &["protobuf<3.21", "numpy<1.24", "setuptools<81"]),
            ((2, 11), &["numpy<1.24", "setuptools<81"]),
            ((2, 15), &["numpy<2", "setuptools<81"]),
            ((2, 18), &["setuptools<81"]),
            ((2, 21), &["tensorboard", "setuptools<81"]),
        ];
        for (minor, expected) in table {
            assert_eq!(companions(minor).collect::<Vec<_>>(), expected, "{minor:?}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        let scratch = Scratch::new();
        let wanted = Wanted {
            python: None,
            packages: Packages::TensorFlow {
                release: version("two"),
                gpu: false,
            },
        };
        assert!(choose(&wanted, &tools(&scratch), &mut |_| {}).is_err());
    }
}
