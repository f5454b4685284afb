//! Arguments of simpletfjob: `simpletfjob user_template [-N n] [-E] [--psn n] [--psf file]`.
//!
//! clap cannot parse them: `-E` may be written `-E=false`, numbers may be `0x10`, and arguments after the template are
//! ignored. Its README documented `-E FILE`, where its parser ignored FILE: [`Names`] supports both.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Expand;
use crate::failure::Failure;
use crate::inputs::shown_path;

/// The file that `-E` reads.
const EXC: &str = "exc";

pub const HELP: &str = "\
Expands a template for every task, one node of the cluster each, as simpletfjob did.

Usage: simpletfjob TEMPLATE [-N NUMBER] [-E [FILE]] [--psn NUMBER] [--psf FILE]

  -N, --num NUMBER   number of nodes to use; -1 and 0 mean all [default: -1]
  -E, --exc [FILE]   exclude the nodes listed in this file [default FILE: ./exc]
      --psn NUMBER   number of parameter servers [default: 1]
      --psf FILE     file with the hosts of the parameter servers, one per line
  -h, --help         print this text

The output file is TEMPLATE with `_tfjob.yaml` instead of `.yaml`; an existing file is replaced.
`trainyard expand --help` shows all features of templates.
";

/// Parses the arguments; `None` means `--help`.
pub fn read(words: &[OsString]) -> Result<Option<Expand>, Failure> {
    let mut typed = Expand {
        psn: 1,
        port: 2222,
        all_nodes: true,
        // Scripts rely on simpletfjob replacing the file.
        force: true,
        quiet: true,
        ..Expand::default()
    };
    let mut rest = words.iter().cloned();
    let mut only_names = false;
    let mut names = Names::default();
    while let Some(word) = rest.next() {
        let text = word.to_string_lossy().into_owned();
        let follows = std::mem::take(&mut names.follows);
        if only_names || text == "-" || !text.starts_with('-') {
            if follows {
                names.behind = Some(names.all.len());
            }
            names.all.push(PathBuf::from(word));
        } else if text == "--" {
            only_names = true;
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            if name == "help" {
                return Ok(None);
            }
            names.follows = text == "--exc";
            set(&mut typed, &format!("--{name}"), value, &mut rest)?;
        } else if !short(&mut typed, &text[1..], &mut rest)? {
            return Ok(None);
        } else {
            names.follows = text.ends_with('E') && text[1..].chars().all(|letter| letter == 'E');
        }
    }
    names.choose(&mut typed)?;
    if typed.template.is_none() {
        let hint = "try `simpletfjob mnist.yaml -N 3`, or `simpletfjob --help`";
        return Err(Failure::usage("no template given", hint));
    }
    Ok(Some(typed))
}

/// Arguments that are neither flags nor values of flags.
#[derive(Default)]
struct Names {
    all: Vec<PathBuf>,
    /// The previous argument was `-E`.
    follows: bool,
    /// The index of the one after `-E`.
    behind: Option<usize>,
}

impl Names {
    /// Chooses the template: the first one, except for the one after `-E` if that is a file of hosts.
    fn choose(self, typed: &mut Expand) -> Result<(), Failure> {
        let mut all = self.all;
        let asked = typed.exc.as_deref() == Some(Path::new(EXC));
        let Some(at) = self.behind.filter(|_| asked && all.len() > 1) else {
            typed.template = all.into_iter().next();
            return Ok(());
        };
        let behind = all.remove(at);
        let other = all.remove(0);
        // The template is recognised by its extension, or by being the first argument.
        match (is_manifest(&behind), is_manifest(&other)) {
            (false, true) => {}
            (false, false) if at > 0 => {}
            (true, false) if at == 0 => {
                typed.template = Some(behind);
                return Ok(());
            }
            _ => {
                let (behind, other) = (shown_path(&behind), shown_path(&other));
                let message =
                    format!("cannot tell the template from the file for `-E`: `{behind}` or `{other}`");
                let hint = format!("write `simpletfjob {other} --exc={behind}` or `simpletfjob {behind} -E`");
                return Err(Failure::usage(message, hint));
            }
        }
        typed.exc = Some(behind);
        typed.template = Some(other);
        Ok(())
    }
}

/// Whether an argument looks like a template.
fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    path == Path::new("-") || matches!(extension, Some("yaml" | "yml"))
}

/// Short flags may be combined: `-EN3`. False means `-h`.
fn short(
    typed: &mut Expand,
    letters: &str,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<bool, Failure> {
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        left = &left[letter.len_utf8()..];
        match letter {
            'h' => return Ok(false),
            'E' if is_flags(left) => typed.exc = Some(PathBuf::from(EXC)),
            _ => {
                let value = left.strip_prefix('=').unwrap_or(left);
                let given = !left.is_empty();
                let value = given.then(|| value.to_owned());
                set(typed, &format!("-{letter}"), value, rest)?;
                return Ok(true);
            }
        }
    }
    Ok(true)
}

/// Whether the characters after `E` are more short flags, not a file.
fn is_flags(behind: &str) -> bool {
    let last = behind.trim_start_matches('E');
    last.is_empty() || last == "h" || last.starts_with('N')
}

fn set(
    typed: &mut Expand,
    name: &str,
    value: Option<String>,
    rest: &mut impl Iterator<Item = OsString>,
) -> Result<(), Failure> {
    if matches!(name, "-E" | "--exc") {
        typed.exc = match value.as_deref() {
            Some("") => return Err(wrong(name, "a file, or true or false", Some(""))),
            None => Some(PathBuf::from(EXC)),
            Some(file) => match truth(file) {
                Some(on) => on.then(|| PathBuf::from(EXC)),
                None => Some(PathBuf::from(file)),
            },
        };
        return Ok(());
    }
    if !matches!(name, "-N" | "--num" | "--psn" | "--psf") {
        let hint = "simpletfjob has -N, -E, --psn, --psf and --help; see also `trainyard expand`";
        return Err(Failure::usage(format!("unknown flag `{name}`"), hint));
    }
    let value = value.or_else(|| rest.next().map(|word| word.to_string_lossy().into_owned()));
    let value = value.ok_or_else(|| wrong(name, "a value", None))?;
    let number = || number(&value).ok_or_else(|| wrong(name, "a whole number", Some(&value)));
    match name {
        "--psf" => typed.psf = Some(PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty()),
        "--psn" => typed.psn = number()?,
        // -1 and 0 mean all.
        _ => typed.num = Some(number()?).filter(|number| !matches!(number, -1 | 0)),
    }
    Ok(())
}

fn wrong(name: &str, takes: &str, found: Option<&str>) -> Failure {
    let found = found.map_or_else(String::new, |found| format!(", not `{}`", found.escape_debug()));
    Failure::usage(format!("`{name}` takes {takes}{found}"), None)
}

/// A boolean in Go's syntax.
fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// A number in Go's syntax: `3`, `0x3`, `0o3`, `03`, `0b11`.
fn number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (digits, base) = match lower.as_bytes() {
        [b'0', b'x', ..] => (&lower[2..], 16),
        [b'0', b'o', ..] => (&lower[2..], 8),
        [b'0', b'b', ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    let plain = digits.starts_with(|c: char| c.is_ascii_alphanumeric());
    plain
        .then(|| i64::from_str_radix(&format!("{sign}{digits}"), base).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &str) -> String {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        match read(&words) {
            Ok(Some(typed)) => {
                let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
                let words = [
                    path(&typed.template),
                    typed.num.map(|num| format!("num {num}")),
                    path(&typed.exc),
                    (typed.psn != 1).then(|| format!("psn {}", typed.psn)),
                    path(&typed.psf),
                ];
                words.into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
            Ok(None) => "help".to_owned(),
            Err(Failure::Error { message, .. }) => message,
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn arguments_mean_the_same_as_for_simpletfjob() {
        let table = [
            ("t.yaml", "t.yaml"),
            ("t.yaml -N 3 -E", "t.yaml num 3 exc"),
            ("-N 3 t.yaml more ignored", "t.yaml num 3"),
            ("-E t.yaml", "t.yaml exc"),
            ("-EN3 t.yaml", "t.yaml num 3 exc"),
            ("-EN 3 t.yaml", "t.yaml num 3 exc"),
            ("-N=3 --exc=true t.yaml", "t.yaml num 3 exc"),
            ("--num=-1 -E=false t.yaml", "t.yaml"),
            ("--num 0 t.yaml", "t.yaml"),
            ("-N -5 t.yaml", "t.yaml num -5"),
            ("-N 0x10 --psn 010 t.yaml", "t.yaml num 16 psn 8"),
            ("--psf ps t.yaml", "t.yaml ps"),
            ("-- -t.yaml", "-t.yaml"),
            ("t.yaml -h", "help"),
            ("--help", "help"),
            ("", "no template given"),
            ("t.yaml -N", "`-N` takes a value"),
            ("t.yaml -N three", "`-N` takes a whole number, not `three`"),
            ("t.yaml --exc=", "`--exc` takes a file, or true or false, not ``"),
            // Its README documented a file.
            ("t.yaml -E hosts", "t.yaml hosts"),
            ("t.yaml -N 3 --exc hosts", "t.yaml num 3 hosts"),
            ("-E hosts t.yaml", "t.yaml hosts"),
            ("plain -E hosts", "plain hosts"),
            ("t.yaml more -E hosts", "t.yaml hosts"),
            ("t.yaml --exc=hosts", "t.yaml hosts"),
            ("t.yaml -E=hosts", "t.yaml hosts"),
            ("t.yaml -Ehosts", "t.yaml hosts"),
            ("t.yaml -EE hosts", "t.yaml hosts"),
            ("t.yaml -Eh", "help"),
            ("t.yaml -E -N 3 more", "t.yaml num 3 exc"),
            ("t.yaml -E hosts -E=false", "t.yaml"),
            ("-E t.yaml more", "t.yaml exc"),
            (
                "-E a b",
                "cannot tell the template from the file for `-E`: `a` or `b`",
            ),
            (
                "t.yaml -E u.yaml",
                "cannot tell the template from the file for `-E`: `u.yaml` or `t.yaml`",
            ),
            (
                "plain -E t.yaml",
                "cannot tell the template from the file for `-E`: `t.yaml` or `plain`",
            ),
            ("t.yaml --hosts a,b", "unknown flag `--hosts`"),
        ];
        for (words, expected) in table {
            assert_eq!(told(words), expected, "{words}");
        }
    }
}
