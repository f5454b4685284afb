//! Finding a program's file, and saying in a sentence why it cannot be started.
//!
//! Searching the program's own `PATH`, behind its own mounts, lets the message say which directories were searched; and
//! with a full path the standard library can start it without copying our process first.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Where programs are looked for without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The file of a program, as a full path; or why there is none.
pub(crate) fn find(program: &OsStr, path: Option<&OsStr>, workdir: &Path) -> Result<PathBuf, String> {
    if !workdir.is_dir() {
        return Err(format!(
            "the working directory `{}` does not exist: create it, or set another one with --workdir",
            workdir.display()
        ));
    }
    if program.is_empty() {
        return Err("the command is empty: give the program's name".into());
    }
    if program.as_bytes().contains(&b'/') {
        let file = workdir.join(program);
        return check(&file).map(|()| file);
    }
    search(program, path.unwrap_or_else(|| OsStr::new(DEFAULT_PATH)), workdir)
}

fn search(program: &OsStr, path: &OsStr, workdir: &Path) -> Result<PathBuf, String> {
    let mut reason = None;
    for directory in std::env::split_paths(path) {
        let file = workdir.join(directory).join(program);
        match check(&file) {
            Ok(()) => return Ok(file),
            Err(why) if file.is_file() => reason = reason.or(Some(why)),
            Err(_) => {}
        }
    }
    Err(reason.unwrap_or_else(|| {
        format!(
            "`{}` was not found on PATH: {}",
            program.display(),
            remedy(program, workdir)
        )
    }))
}

/// What helps where no program has that name.
fn remedy(program: &OsStr, workdir: &Path) -> String {
    let word = program.to_string_lossy();
    if word.contains(char::is_whitespace) {
        return "a command is a list of words, and this is one word with spaces: leave out the quotes around it".into();
    }
    if BUILTINS.contains(&&*word) {
        return format!("`{word}` is a word of the shell: run `sh -c \"…\"`, or set --workdir");
    }
    if workdir.join(program).is_file() {
        let runner = if word.ends_with(".py") { "python " } else { "./" };
        return format!("it is a file of the working directory: run `{runner}{word}`");
    }
    if is_nearly(&word, "python") {
        return "did you mean `python`?".into();
    }
    "a task runs this machine's programs, so install it or give its full path".into()
}

/// Words that shells know and PATH does not.
const BUILTINS: &[&str] = &[
    "cd", "export", "source", ".", "set", "ulimit", "umask", "alias", "eval",
];

/// Whether two words have the same letters but for their order or one letter more or less.
fn is_nearly(word: &str, meant: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text
            .trim_end_matches(|it: char| it.is_ascii_digit() || it == '.')
            .chars()
            .collect();
        letters.sort_unstable();
        letters
    };
    let (word, meant) = (sorted(word), sorted(meant));
    let (long, short) = if word.len() > meant.len() {
        (word, meant)
    } else {
        (meant, word)
    };
    let mut rest = short.iter().peekable();
    let missed = long
        .iter()
        .filter(|letter| rest.next_if_eq(letter).is_none())
        .count();
    rest.next().is_none() && missed <= 1
}

fn check(file: &Path) -> Result<(), String> {
    let shown = file.display();
    let metadata = fs::metadata(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!(
            "`{shown}` does not exist: a task runs this machine's programs, so check the path, --workdir and the mounts"
        ),
        _ => format!("`{shown}` cannot be looked at: {error}"),
    })?;
    if metadata.is_dir() {
        return Err(format!("`{shown}` is a directory: name the program in it"));
    }
    access(file, Access::EXEC_OK).map_err(|_| not_executable(file))
}

fn not_executable(file: &Path) -> String {
    format!(
        "`{}` is not executable: allow it with `chmod +x`, or put its interpreter in front, as in `python {0}`",
        file.display()
    )
}

/// Why the system did not start a file that looked as if it could be started.
pub(crate) fn explain(file: &Path, error: &io::Error) -> String {
    let shown = file.display();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => match interpreter(file) {
            Some(interpreter) if interpreter.ends_with("\\r") => format!(
                "`{shown}` has Windows line ends (CRLF), so that the name of its interpreter ends with a carriage return: \
                 convert it with `sed -i 's/\\r$//' {shown}`"
            ),
            Some(interpreter) => format!(
                "`{shown}` asks for the interpreter `{interpreter}`, which does not exist: install it, or change the \
                 file's first line"
            ),
            None => format!(
                "`{shown}` needs a program loader that this machine does not have: it was built for another system"
            ),
        },
        Some(Errno::NOEXEC) => format!(
            "`{shown}` is not a program for this machine: a script needs a first line such as `#!/bin/sh`, or its \
             interpreter in front of it"
        ),
        Some(Errno::ACCESS) => format!(
            "`{shown}` may not be executed: check its permissions, those of its interpreter, and that its file system is \
             not mounted noexec"
        ),
        Some(Errno::TOOBIG) => format!(
            "`{shown}` was given more arguments and variables than this system allows: a single one may have 131,071 bytes"
        ),
        Some(Errno::AGAIN) => {
            format!("`{shown}` was not started, since there are too many processes: raise `ulimit -u`")
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            format!("`{shown}` was not started, since too many files are open: raise `ulimit -n`")
        }
        _ => format!("`{shown}` was not started: {error}"),
    }
}

/// Enough of a file to tell a script, and its first line.
pub(crate) fn first_bytes(file: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(file)?.take(256).read_to_end(&mut start)?;
    Ok(start)
}

/// What a script's first line asks for.
fn interpreter(file: &Path) -> Option<String> {
    let start = first_bytes(file).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    // A carriage return is part of the name: that it shows is the point.
    let name = line.trim_matches([' ', '\t']).split([' ', '\t']).next()?;
    Some(name.replace('\r', "\\r"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn write(directory: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
        let file = directory.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn every_way_not_to_be_started_names_the_file_and_a_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        write(here, "plain", "#!/bin/sh\n", 0o644);
        write(here, "train.py", "", 0o644);
        write(here, "good", "#!/bin/sh\n", 0o755);
        let cases = [
            ("nosuchthing", "nosuchthing", "not found on PATH: a task runs"),
            ("pyhton3", "pyhton3", "did you mean `python`?"),
            ("pyton", "pyton", "did you mean `python`?"),
            ("python train.py", "python train.py", "leave out the quotes"),
            ("cd", "cd", "a word of the shell"),
            ("train.py", "train.py", "run `python train.py`"),
            ("./nosuchthing", "nosuchthing", "does not exist"),
            ("plain", "plain", "chmod +x"),
            ("./plain", "plain", "chmod +x"),
            ("./", "/", "is a directory"),
            ("", "", "is empty"),
        ];
        for (program, name, remedy) in cases {
            let path = if program == "train.py" {
                OsStr::new("/none")
            } else {
                here.as_os_str()
            };
            let why = find(OsStr::new(program), Some(path), here).unwrap_err();
            assert!(why.contains(name) && why.contains(remedy), "{program}: {why}");
        }
        for program in ["good", "./good"] {
            let found = find(OsStr::new(program), Some(here.as_os_str()), here).unwrap();
            assert!(found.ends_with("good"), "{}", found.display());
        }
        let why = find(OsStr::new("good"), None, &here.join("gone")).unwrap_err();
        assert!(why.contains("working directory") && why.contains("gone"), "{why}");
    }

    #[test]
    fn an_interpreter_that_is_missing_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let script = write(directory.path(), "a", "#! /no/such/python3 -u\nprint()", 0o755);
        let missing = io::Error::from_raw_os_error(Errno::NOENT.raw_os_error());
        assert!(explain(&script, &missing).contains("`/no/such/python3`"));
        let windows = write(directory.path(), "b", "#!/bin/sh\r\n", 0o755);
        let why = explain(&windows, &missing);
        assert!(why.contains("CRLF") && why.contains("sed -i 's/\\r$//'"), "{why}");
    }

    #[test]
    fn what_the_system_refuses_is_explained() {
        let cases = [
            (Errno::NOEXEC, "#!/bin/sh"),
            (Errno::ACCESS, "noexec"),
            (Errno::TOOBIG, "131,071"),
            (Errno::AGAIN, "ulimit -u"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NOENT, "another system"),
            (Errno::IO, "error"),
        ];
        for (number, word) in cases {
            let error = io::Error::from_raw_os_error(number.raw_os_error());
            let why = explain(Path::new("/bin/true"), &error);
            assert!(why.contains("/bin/true") && why.contains(word), "{why}");
        }
    }
}
