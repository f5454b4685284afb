//! Files become rows. A file is a YAML stream: first the scenario, then the manifest.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use trainyard_document::{Source, parse};

use crate::fault::Fault;
use crate::scenario::{Expect, Scenario, World};

/// A file that is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not of the right form.
    #[error("{file}: {problem}")]
    Form {
        /// Which.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// What stands before the manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    scenario: String,
    worlds: Vec<World>,
    runs: Vec<Run>,
}

/// One way to play the manifest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// Tells variants apart.
    name: Option<String>,
    /// Where only some of the file's worlds can play it.
    worlds: Option<Vec<World>>,
    watch: Option<u32>,
    #[serde(default)]
    faults: Vec<Fault>,
    expect: Expect,
}

/// Every row of the table, by file name.
pub fn all() -> Result<Vec<Scenario>, BadFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let failed = |source| BadFile::Read {
        path: folder.clone(),
        source,
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).map_err(|source| BadFile::Read {
            path: path.clone(),
            source,
        })?;
        rows.extend(read_text(&name, &text)?);
    }
    Ok(rows)
}

/// The rows of one file.
pub fn read_text(file: &str, text: &str) -> Result<Vec<Scenario>, BadFile> {
    let bad = |problem: String| BadFile::Form {
        file: file.into(),
        problem,
    };
    let cut = text
        .find("\n---\n")
        .ok_or_else(|| bad("no `---` between scenario and manifest".into()))?;
    let (head, manifest) = (&text[..=cut], &text[cut + "\n---\n".len()..]);
    let source = Source::from_bytes(file, head.as_bytes()).map_err(|problem| bad(problem.message.clone()))?;
    let (documents, problems) = parse(&source);
    if let Some(problem) = problems.first() {
        return Err(bad(format!("{problem:?}")));
    }
    let [document] = &documents[..] else {
        return Err(bad("expected one document before the manifest".into()));
    };
    let head: Head =
        serde_json::from_value(document.root.to_json()).map_err(|error| bad(error.to_string()))?;
    Ok(head.rows(file, manifest))
}

impl Head {
    fn rows(self, file: &str, manifest: &str) -> Vec<Scenario> {
        let Self {
            scenario,
            worlds,
            runs,
        } = self;
        let row = |run: Run| {
            let Run {
                name,
                worlds: only,
                watch,
                faults,
                expect,
            } = run;
            Scenario {
                name: name.map_or_else(|| scenario.clone(), |name| format!("{scenario}: {name}")),
                file: file.into(),
                manifest: manifest.into(),
                faults,
                expect,
                worlds: only.unwrap_or_else(|| worlds.clone()),
                watch,
            }
        };
        runs.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_scenario_is_refused_with_what_is_wrong() {
        let head = "scenario: x\nworlds: [simulator]\nruns:\n- expect: {creates: 1}\n";
        let table = [
            (head.to_owned(), "no `---`"),
            (
                format!("{head}  fault: []\n---\nkind: TFJob\n"),
                "unknown field `fault`",
            ),
            (
                head.replace("simulator", "moon") + "---\n",
                "unknown variant `moon`",
            ),
            (head.replace("creates", "made") + "---\n", "unknown field `made`"),
            (
                head.replace("{creates: 1}", "{}") + "---\n",
                "missing field `creates`",
            ),
            (
                format!("{head}  faults: [exit: {{task: worker, after: 1, code: 0}}]\n---\n"),
                "is not a task",
            ),
        ];
        for (text, expected) in table {
            let error = read_text("x.yaml", &text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("x.yaml"), "{error}");
        }
    }

    #[test]
    fn each_run_is_a_row_with_the_whole_manifest() {
        let text = "scenario: x\nworlds: [simulator, processes]\nruns:\n- expect: {creates: 1}\n\
                    - name: again\n  worlds: [simulator]\n  expect: {creates: 2}\n---\na: 1\n---\nb: 2\n";
        let rows = read_text("x.yaml", text).unwrap();
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (row.name.as_str(), row.worlds.len(), row.expect.creates))
            .collect();
        assert_eq!(shown, [("x", 2, 1), ("x: again", 1, 2)]);
        assert_eq!(rows[1].manifest, "a: 1\n---\nb: 2\n");
    }
}
