//! What helps if a task's script does not exist: it lies beside the manifest, in the image, or has another name.

use std::fs;
use std::path::{Path, PathBuf};

use trainyard_document::problem::closest;

/// Names of a directory that are compared with a script's.
const MOST_NAMES: usize = 1000;

/// Where a script could be.
pub(crate) struct Surroundings<'a> {
    /// In which the task started.
    pub workdir: &'a Path,
    /// Of the manifest, if there is one.
    pub manifest: Option<&'a Path>,
    /// Of the task's container, as the manifest names it.
    pub image: Option<&'a str>,
}

/// What helps; none where nothing more is known than that the script is not there.
pub(crate) fn help(script: &Path, around: &Surroundings<'_>) -> Option<String> {
    let relative = script.strip_prefix(around.workdir).ok();
    let relative = relative.or_else(|| script.is_relative().then_some(script));
    match relative {
        Some(relative) => beside_manifest(relative, around).or_else(|| other_name(relative, around)),
        None => in_image(script, around),
    }
}

fn beside_manifest(relative: &Path, around: &Surroundings<'_>) -> Option<String> {
    let directory = around.manifest.filter(|directory| *directory != around.workdir)?;
    directory.join(relative).is_file().then(|| {
        let directory = directory.display();
        format!(
            "it lies beside the manifest: run with `--workdir {directory}`, or start the run in that directory; relative paths start where `trainyard run` was started"
        )
    })
}

fn other_name(relative: &Path, around: &Surroundings<'_>) -> Option<String> {
    let wanted = around.workdir.join(relative);
    let name = wanted.file_name()?.to_str()?;
    let entries = fs::read_dir(wanted.parent()?).ok()?.flatten().take(MOST_NAMES);
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "py"))
        .collect();
    let near = closest(name, names.iter().map(String::as_str))?;
    Some(format!(
        "did you mean `{near}`, which is in {}?",
        wanted.parent()?.display()
    ))
}

/// An absolute path: most likely one inside the image, whose files are not here.
fn in_image(script: &Path, around: &Surroundings<'_>) -> Option<String> {
    let (image, folder, name) = (around.image?, script.parent()?, script.file_name()?);
    let places = [Some(around.workdir), around.manifest];
    let found: Option<PathBuf> = places
        .into_iter()
        .flatten()
        .find(|directory| directory.join(name).is_file())
        .map(Path::to_owned);
    let here = found.map_or_else(|| "./src".into(), |found| found.display().to_string());
    let folder = folder.display();
    Some(format!(
        "it lies in the image, whose files are not on this machine: say in the configuration file where they are, `images: {{{image}: {{files: {{{folder}: {here}}}}}}}`, or mount a directory with `--volume`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_script_lies_decides_what_helps() {
        let root = tempfile::tempdir().unwrap();
        let (workdir, manifest) = (root.path().join("here"), root.path().join("jobs"));
        for directory in [&workdir, &manifest] {
            fs::create_dir(directory).unwrap();
        }
        fs::write(manifest.join("train.py"), "").unwrap();
        fs::write(workdir.join("evaluate.py"), "").unwrap();
        let around = Surroundings {
            workdir: &workdir,
            manifest: Some(&manifest),
            image: Some("mycompany/trainer"),
        };
        let at_work = |name: &str| workdir.join(name);
        let files = format!("{{/app: {}}}", manifest.display());
        let table: [(PathBuf, Option<&str>); 6] = [
            (at_work("train.py"), Some("beside the manifest")),
            ("train.py".into(), Some("--workdir")),
            (at_work("evalaute.py"), Some("did you mean `evaluate.py`")),
            ("/app/train.py".into(), Some(&files)),
            ("/opt/other.py".into(), Some("{/opt: ./src}")),
            (at_work("nothing-like-it.py"), None),
        ];
        for (script, expected) in table {
            let help = help(&script, &around);
            let fits = match (expected, &help) {
                (Some(words), Some(help)) => help.contains(words),
                (expected, help) => expected.is_none() && help.is_none(),
            };
            assert!(fits, "{}: {help:?}", script.display());
        }
    }
}
