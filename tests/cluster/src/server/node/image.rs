//! Images without a registry: made from a folder, and handed to containerd as an archive.
//!
//! There are five. `pause` holds pods' namespaces. `busybox` is a shell with the usual commands. And
//! `tensorflow/tensorflow:2.21.0`, so that the examples run as they are: it holds links and empty folders, and every
//! container gets this machine's `/usr`, the Python environment that `trainyard run` makes, and our repository, read-only
//! and at the same paths. The fourth is ours, as `trainyard install` names it: the program, which finds its libraries there too.
//! The fifth, `trainyard/tf-mnist:gpu`, is what readers of an exercise make: TensorFlow's, with a script that it runs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::json;
use trainyard_local::python::{Cache, Packages, Progress, Release, Tools, Wanted};
use trainyard_tools::Program;

use super::super::{Trouble, doing};
use super::run;

/// The image that every pod has; the version is of no meaning.
pub const PAUSE: &str = "registry.k8s.io/pause:3.10";
/// A shell.
pub const BUSYBOX: &str = "docker.io/library/busybox:latest";
/// As examples name it.
pub const TENSORFLOW: &str = "docker.io/tensorflow/tensorflow:2.21.0";
/// As the reader of an exercise names it, who writes a Dockerfile of three lines: from TensorFlow's image, with a copy of
/// `main.py` in `/app`, which is its entry point.
const EXERCISE: &str = "docker.io/trainyard/tf-mnist:gpu";
/// The version of TensorFlow.
const VERSION: &str = "2.21.0";

/// What stands for TensorFlow's image.
#[derive(Clone, Debug)]
pub struct Tensorflow {
    environment: PathBuf,
    interpreter: PathBuf,
}

impl Tensorflow {
    fn wanted() -> Wanted {
        Wanted {
            python: None,
            packages: Packages::TensorFlow {
                release: Release::Version(VERSION.into()),
                gpu: false,
            },
        }
    }

    /// Makes the environment if it is not there, which takes a minute and a network.
    pub fn ensure(tell: &mut dyn FnMut(&str)) -> Result<(), Trouble> {
        let mut progress = |progress: Progress| {
            if let Progress::Making { .. } = progress {
                tell(&format!(
                    "installing TensorFlow {VERSION} for pods (a minute, once)"
                ));
            }
        };
        let made = cache()?.ensure(&Self::wanted(), &Tools::look, &mut progress);
        made.map(drop).map_err(doing("install TensorFlow for pods"))
    }

    /// Finds the environment that was made before.
    pub fn look() -> Result<Self, Trouble> {
        let found = cache()?.find(&Self::wanted());
        let environment = found.ok_or_else(|| Trouble("there is no Python environment for pods".into()))?;
        let interpreter = fs::canonicalize(environment.python()).map_err(doing("find Python"))?;
        // …/bin/python3: its library is beside.
        let installed = interpreter
            .ancestors()
            .nth(2)
            .unwrap_or_else(|| Path::new("/usr"));
        Ok(Self {
            interpreter: installed.to_path_buf(),
            environment: environment.root,
        })
    }

    /// What every container finds of this machine.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let mut mounts = vec![
            PathBuf::from("/usr"),
            self.interpreter.clone(),
            self.environment.clone(),
            trainyard_tools::root().join("examples"),
        ];
        // Debian's own Python is in /usr, which is there already.
        mounts.dedup_by(|later, earlier| later.starts_with(&*earlier));
        mounts
    }
}

fn cache() -> Result<Cache, Trouble> {
    Cache::of_user().ok_or_else(|| Trouble("neither XDG_CACHE_HOME nor HOME is set".into()))
}

/// An image's files and settings.
struct Image<'a> {
    name: &'a str,
    files: PathBuf,
    path: String,
    /// Whether a pod's arguments go to the command, or take its place.
    takes_arguments: bool,
    command: &'a [&'a str],
    start_in: PathBuf,
}

/// Makes the images in a folder; their archives.
pub fn make(folder: &Path, tensorflow: &Tensorflow) -> Result<Vec<PathBuf>, Trouble> {
    let plain = "/bin:/usr/bin".to_owned();
    let in_environment = format!(
        "{}/bin:/usr/local/bin:/usr/bin:/bin",
        tensorflow.environment.display()
    );
    let ours = format!("docker.io/library/{}", trainyard_manifest::install::image());
    let images = [
        Image {
            name: &ours,
            files: ours_and_links(&folder.join("trainyard"))?,
            path: plain.clone(),
            takes_arguments: true,
            command: &["/trainyard"],
            start_in: "/".into(),
        },
        Image {
            name: PAUSE,
            files: pause(&folder.join("pause"))?,
            path: plain.clone(),
            takes_arguments: false,
            command: &["/pause"],
            start_in: "/".into(),
        },
        Image {
            name: BUSYBOX,
            files: busybox(&folder.join("busybox"))?,
            path: plain,
            takes_arguments: false,
            command: &["/bin/sh"],
            start_in: "/".into(),
        },
        Image {
            name: TENSORFLOW,
            files: links(&folder.join("tensorflow"))?,
            path: in_environment.clone(),
            takes_arguments: false,
            command: &["/bin/bash"],
            // As tasks of `trainyard run` do.
            start_in: trainyard_tools::root().to_path_buf(),
        },
        Image {
            name: EXERCISE,
            files: exercise(&folder.join("tf-mnist"))?,
            path: in_environment,
            takes_arguments: true,
            command: &["python", "/app/main.py"],
            start_in: "/".into(),
        },
    ];
    images.iter().map(archive).collect()
}

fn pause(files: &Path) -> Result<PathBuf, Trouble> {
    let program = trainyard_tools::find(Program::Pause, &mut |_| {}).map_err(doing("make an image"))?;
    let copied = fs::create_dir_all(files).and_then(|()| fs::copy(program, files.join("pause")));
    copied.map_err(doing("copy pause"))?;
    Ok(files.to_path_buf())
}

fn busybox(files: &Path) -> Result<PathBuf, Trouble> {
    let commands = run("/bin/busybox", &["--list"])?;
    let failed = |error| doing("make the image of busybox")(error);
    for folder in ["bin", "tmp", "etc"] {
        fs::create_dir_all(files.join(folder)).map_err(failed)?;
    }
    fs::copy("/bin/busybox", files.join("bin/busybox")).map_err(failed)?;
    for command in commands.lines().filter(|command| *command != "busybox") {
        symlink("busybox", files.join("bin").join(command)).map_err(failed)?;
    }
    Ok(files.to_path_buf())
}

/// The program as it was built for the tests, which is not static.
fn ours_and_links(files: &Path) -> Result<PathBuf, Trouble> {
    let program = trainyard_tools::trainyard().map_err(doing("make our own image"))?;
    links(files)?;
    fs::copy(program, files.join("trainyard")).map_err(doing("copy our program"))?;
    Ok(files.to_path_buf())
}

/// What is left of a system when everything is in `/usr`.
fn links(files: &Path) -> Result<PathBuf, Trouble> {
    let failed = |error| doing("make the image of TensorFlow")(error);
    for folder in ["etc", "root", "tmp", "usr", "var/tmp"] {
        fs::create_dir_all(files.join(folder)).map_err(failed)?;
    }
    for link in ["bin", "lib", "lib64", "sbin"] {
        symlink(Path::new("usr").join(link), files.join(link)).map_err(failed)?;
    }
    fs::write(files.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").map_err(failed)?;
    Ok(files.to_path_buf())
}

/// The same, with a script and what it needs of the examples.
fn exercise(files: &Path) -> Result<PathBuf, Trouble> {
    let files = links(files)?;
    let app = files.join("app");
    let failed = |error| doing("make the image of an exercise")(error);
    fs::create_dir_all(&app).map_err(failed)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("images/tf-mnist/main.py");
    let digits = trainyard_tools::root().join("examples/digits");
    let others = ["data.py", "model.py", "digits.npz"].map(|name| digits.join(name));
    for file in std::iter::once(script).chain(others) {
        let name = file.file_name().unwrap_or_default();
        fs::copy(&file, app.join(name)).map_err(failed)?;
    }
    Ok(files)
}

/// An archive as `docker save` writes it: one layer, its settings, and a list of both.
fn archive(image: &Image<'_>) -> Result<PathBuf, Trouble> {
    let folder = image.files.with_extension("image");
    let failed = |error| doing(format!("write the image {}", image.name))(error);
    fs::create_dir_all(&folder).map_err(failed)?;
    let path = |name: &str| folder.join(name).display().to_string();
    run(
        "tar",
        &[
            "-C",
            &image.files.display().to_string(),
            "-cf",
            &path("layer.tar"),
            ".",
        ],
    )?;
    let sum = run("sha256sum", &[&path("layer.tar")])?;
    let sum = sum.split_whitespace().next().unwrap_or_default();
    let command = if image.takes_arguments {
        "Entrypoint"
    } else {
        "Cmd"
    };
    let settings = json!({
        "architecture": architecture(), "os": "linux",
        "config": {
            "Env": [format!("PATH={}", image.path)], command: image.command, "WorkingDir": image.start_in,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{sum}")]},
    });
    fs::write(folder.join("config.json"), settings.to_string()).map_err(failed)?;
    let list = json!([{"Config": "config.json", "RepoTags": [image.name], "Layers": ["layer.tar"]}]);
    fs::write(folder.join("manifest.json"), list.to_string()).map_err(failed)?;
    let to = path("archive.tar");
    let parts = ["config.json", "manifest.json", "layer.tar"];
    run(
        "tar",
        &[&["-C", &folder.display().to_string(), "-cf", &to][..], &parts].concat(),
    )?;
    Ok(to.into())
}

/// Go's word for this machine.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
