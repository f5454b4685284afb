//! The cache of built programs: one folder per content of `go.mod`, one lock per folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Home, KUBERNETES, Missing, Program, go, read};

/// Where tools are kept, and where the programs of this state of `go.mod` are.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The folder of the user's cache for tools: `$XDG_CACHE_HOME/trainyard/tools`, else `~/.cache/trainyard/tools`.
    pub fn tools() -> Result<PathBuf, Missing> {
        let set = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let base = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        let why = "neither XDG_CACHE_HOME nor HOME is set";
        let base = base.ok_or_else(|| Missing::new("a place to keep tools", why))?;
        Ok(base.join("trainyard").join("tools"))
    }

    /// The user's, for what is built in that module.
    pub(crate) fn of_user(home: Home) -> Result<Self, Missing> {
        Self::inside(&Self::tools()?, home)
    }

    /// One inside that folder.
    pub(crate) fn inside(tools: &Path, home: Home) -> Result<Self, Missing> {
        let mut name = Name::new();
        for file in home.files {
            name.add(&read(&format!("{}/{file}", home.folder))?);
        }
        name.add(link_flags().as_bytes());
        let folder = tools.join(format!("{}-{}-{:016x}", home.name, home.version, name.0));
        Ok(Self { folder })
    }

    /// The program, if it has been built.
    #[must_use]
    pub fn built(&self, program: Program) -> Option<PathBuf> {
        let file = self.folder.join(program.name());
        // It gets this name when it is complete.
        file.is_file().then_some(file)
    }

    /// Builds it, or waits for another process that builds it.
    pub(crate) fn build(&self, program: Program, tell: &mut dyn FnMut(&str)) -> Result<PathBuf, Missing> {
        let name = program.name();
        let refused =
            |error: std::io::Error| Missing::new(name, format!("{}: {error}", self.folder.display()));
        fs::create_dir_all(&self.folder).map_err(refused)?;
        let lock = File::create(self.folder.join("lock")).map_err(refused)?;
        if lock.try_lock().is_err() {
            tell(&format!(
                "waiting for another process that builds into {}",
                self.folder.display()
            ));
            lock.lock().map_err(refused)?;
        }
        if let Some(built) = self.built(program) {
            return Ok(built);
        }
        tell(&format!(
            "building {name} into {} (a minute to five, once)",
            self.folder.display()
        ));
        let part = self.folder.join(format!("{name}.part"));
        run(build(program, &part)).map_err(|why| Missing::new(name, why))?;
        let complete = self.folder.join(name);
        fs::rename(&part, &complete).map_err(refused)?;
        Ok(complete)
    }
}

fn build(program: Program, to: &Path) -> Command {
    let mut go = go(program.home().folder);
    go.args(["build", "-trimpath", "-ldflags", &link_flags(), "-o"])
        .arg(to)
        .arg(program.package());
    go
}

/// Without the version, servers say that they are v0.0.0; without `-s -w` the files are a third larger.
fn link_flags() -> String {
    let mut numbers = KUBERNETES.split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let version = "k8s.io/component-base/version";
    format!(
        "-s -w -X {version}.gitVersion=v{KUBERNETES} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    )
}

/// Runs a program; what it said, if it failed.
pub(crate) fn run(mut command: Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let ended = command
        .output()
        .map_err(|error| format!("cannot start {name}: {error}"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    let said = if said.trim().is_empty() {
        String::from_utf8_lossy(&ended.stdout).into_owned()
    } else {
        said
    };
    Err(format!("{name} failed ({}):\n{said}", ended.status))
}

/// FNV-1a: tells states of a file apart, and is the same on every machine.
pub(crate) struct Name(pub(crate) u64);

impl Name {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("trainyard-tools-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn another_go_mod_is_another_folder() {
        let [mut one, mut other] = [Name::new(), Name::new()];
        one.add(b"require a v1");
        other.add(b"require a v2");
        assert_ne!(one.0, other.0);
    }

    #[test]
    fn a_half_made_program_is_not_used() {
        let tools = scratch("half");
        let cache = Cache::inside(&tools, Home::KUBERNETES).unwrap();
        fs::create_dir_all(&cache.folder).unwrap();
        fs::write(cache.folder.join("etcd.part"), "half").unwrap();
        assert_eq!(cache.built(Program::Etcd), None);
        fs::write(cache.folder.join("etcd"), "whole").unwrap();
        assert_eq!(cache.built(Program::Etcd), Some(cache.folder.join("etcd")));
        fs::remove_dir_all(tools).unwrap();
    }

    #[test]
    fn a_second_build_waits_and_takes_the_result_of_the_first() {
        let tools = scratch("second");
        let cache = Cache::inside(&tools, Home::KUBERNETES).unwrap();
        fs::create_dir_all(&cache.folder).unwrap();
        let first = File::create(cache.folder.join("lock")).unwrap();
        first.lock().unwrap();
        let (waits, waiting) = std::sync::mpsc::channel();
        let second = std::thread::spawn({
            let cache = cache.clone();
            move || {
                let tell = &mut |line: &str| waits.send(line.to_owned()).unwrap();
                cache.build(Program::Etcd, tell).unwrap()
            }
        });
        assert!(waiting.recv().unwrap().starts_with("waiting"));
        fs::write(cache.folder.join("etcd"), "built by the first").unwrap();
        drop(first);
        let found = second.join().unwrap();
        assert_eq!(fs::read_to_string(found).unwrap(), "built by the first");
        fs::remove_dir_all(tools).unwrap();
    }
}
