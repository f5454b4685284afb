//! honcho, what people run several programs with today: made once, in an environment of its own in the cache.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::lines;
use crate::place::{Place, succeed};

const VERSION: &str = "2.0.0";

/// Its program, installed if need be.
pub fn find() -> io::Result<PathBuf> {
    let set = |name: &str| env::var_os(name).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| io::Error::other("neither XDG_CACHE_HOME nor HOME is set"))?;
    let folder = cache.join("trainyard/tools").join(format!("honcho-{VERSION}"));
    let program = folder.join("bin/honcho");
    if !program.is_file() {
        println!("installing honcho {VERSION} into {}", folder.display());
        install(&folder)?;
    }
    Ok(program)
}

/// A half-made one is removed again.
fn install(folder: &Path) -> io::Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let made = succeed(Command::new("python3").args(["-m", "venv"]).arg(folder)).and_then(|_| {
        let package = format!("honcho=={VERSION}");
        succeed(Command::new(folder.join("bin/pip")).args(["install", "--quiet", &package]))
    });
    if made.is_err() {
        let _ = fs::remove_dir_all(folder);
    }
    made.map(drop)
}

/// Runs these writers of lines under it, into a file; how long that took.
pub fn run(honcho: &Path, place: &Place, writers: &[String], megabytes: u64) -> io::Result<Duration> {
    let procfile = place.scratch().join("Procfile");
    let ourselves = place.ourselves().display();
    let one = |who: &String| format!("{who}: '{ourselves}' {} {who} {megabytes}\n", lines::STAGE);
    fs::write(&procfile, writers.iter().map(one).collect::<String>())?;
    let output = place.scratch().join("honcho");
    let took = succeed(
        Command::new(honcho)
            .args(["-f".as_ref(), procfile.as_os_str(), "start".as_ref()])
            .current_dir(place.scratch())
            .stdin(Stdio::null())
            .stdout(File::create(&output)?)
            .stderr(Stdio::null()),
    )?;
    let least = megabytes * 1_000_000 * writers.len() as u64;
    let written = fs::metadata(&output)?.len();
    fs::remove_file(output)?;
    if written < least {
        let what = format!("honcho wrote {written} bytes of {least}");
        return Err(io::Error::other(what));
    }
    Ok(took)
}
