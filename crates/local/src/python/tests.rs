//! One environment is made for real, from a package of our own on disk; the others are pretended. No index is asked.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;

use super::*;
use crate::pod::testing::Scratch;

/// Tools that install from a directory instead of an index.
fn tools(wheels: &Path) -> Option<Tools> {
    let mut tools = Tools::look();
    tools.uv = None;
    tools.environment = BTreeMap::from([
        ("PIP_NO_INDEX".into(), "1".into()),
        ("PIP_FIND_LINKS".into(), url(wheels).into()),
    ]);
    let python = tools.interpreter(None).ok()?;
    tools.has_pip(&python.path).then_some(tools)
}

/// A path as pip takes it from a variable, where spaces separate several.
fn url(path: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let encoded = bytes.map(|byte| match byte {
        byte if plain(*byte) => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("file://{}", encoded.collect::<String>())
}

/// A wheel with one module that holds its version, written with Python's own means.
fn wheel(directory: &Path, name: &str, version: &str) {
    let script = r#"
import sys, zipfile
directory, name, version = sys.argv[1:]
info = "%s-%s.dist-info" % (name, version)
with zipfile.ZipFile("%s/%s-%s-py3-none-any.whl" % (directory, name, version), "w") as wheel:
    wheel.writestr(name + ".py", "version = %r\n" % version)
    wheel.writestr(info + "/METADATA", "Metadata-Version: 2.1\nName: %s\nVersion: %s\n" % (name, version))
    wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "/RECORD", "")
"#;
    let status = Command::new("python3")
        .args(["-c", script])
        .arg(directory)
        .args([name, version])
        .status();
    assert!(status.unwrap().success());
}

fn wanted(requirement: &str) -> Wanted {
    Wanted {
        python: None,
        packages: Packages::Requirements(vec![requirement.to_owned()]),
    }
}

#[test]
fn an_environment_is_made_once_even_by_two_at_a_time_and_found_again() {
    let scratch = Scratch::new();
    let Some(tools) = tools(scratch.path()) else {
        return;
    };
    wheel(scratch.path(), "smallest", "1.2");
    let cache = Cache::at(scratch.path().join("cache"));
    let wanted = wanted("smallest");
    assert_eq!(cache.find(&wanted), None);
    let heard = Mutex::new(Vec::new());
    let make = || {
        cache
            .ensure(&wanted, &|| tools.clone(), &mut |progress| {
                heard.lock().unwrap().push(progress);
            })
            .unwrap()
    };
    let both = thread::scope(|scope| {
        let both = [scope.spawn(make), scope.spawn(make)];
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(both[0], both[1]);
    let heard = heard.into_inner().unwrap();
    let made = heard
        .iter()
        .filter(|progress| matches!(progress, Progress::Made { .. }));
    assert_eq!(made.count(), 1, "{heard:?}");
    let output = Command::new(both[0].python())
        .args(["-c", "import smallest; print(smallest.version)"])
        .output();
    assert_eq!(String::from_utf8_lossy(&output.unwrap().stdout).trim(), "1.2");
    let begun = Instant::now();
    assert_eq!(cache.find(&wanted).as_ref(), Some(&both[0]));
    assert!(
        begun.elapsed() < Duration::from_millis(50),
        "{:?}",
        begun.elapsed()
    );
}

/// Tools that pretend: a script that is Python, makes environments of itself, and installs only if a file is there.
fn pretended(scratch: &Scratch) -> Tools {
    let stock = scratch.path().join("stock");
    let script = format!(
        r#"case "$*" in
*"import sys"*) echo 3.11.7;;
"-m venv --clear "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python";;
"-m pip install "*) test -e '{}' || {{ echo "ERROR: No matching distribution found"; exit 1; }};;
esac"#,
        stock.display()
    );
    scratch.script("python3", &script);
    Tools {
        uv: None,
        path: vec![scratch.path().to_owned()],
        environment: BTreeMap::new(),
    }
}

#[test]
fn what_is_half_made_is_never_used() {
    let scratch = Scratch::new();
    let tools = pretended(&scratch);
    let cache = Cache::at(scratch.path().join("cache"));
    let wanted = wanted("smallest");
    let ensure = || cache.ensure(&wanted, &|| tools.clone(), &mut |_| {});
    // Nothing to install: it fails, says why, and leaves nothing that could be taken for an environment.
    let error = ensure().unwrap_err().to_string();
    assert!(error.contains("No matching distribution"), "{error}");
    assert_eq!(cache.find(&wanted), None);
    let left = fs::read_dir(cache.environments()).map_or(0, Iterator::count);
    assert_eq!(left, 0);
    fs::write(scratch.path().join("stock"), "").unwrap();
    let made = ensure().unwrap();
    // As after a kill in the middle: everything is there but the marker.
    fs::remove_file(made.root.join(MARKER)).unwrap();
    fs::write(made.root.join("rubbish"), "").unwrap();
    assert_eq!(cache.find(&wanted), None);
    assert_eq!(ensure().unwrap(), made);
    assert!(!made.root.join("rubbish").exists(), "it was made anew");
    // The interpreter behind it has gone.
    fs::remove_file(made.python()).unwrap();
    assert_eq!(cache.find(&wanted), None);
}

#[test]
fn where_uv_fails_pip_is_tried() {
    let scratch = Scratch::new();
    let mut tools = pretended(&scratch);
    fs::write(scratch.path().join("stock"), "").unwrap();
    let log = scratch.path().join("uv.log");
    tools.uv = Some(scratch.script("uv", &format!("echo \"$*\" >> '{}'; exit 2", log.display())));
    let cache = Cache::at(scratch.path().join("cache"));
    let made = cache
        .ensure(&wanted("smallest"), &|| tools.clone(), &mut |_| {})
        .unwrap();
    assert!(made.python().exists());
    let asked = fs::read_to_string(log).unwrap();
    assert!(asked.starts_with("venv --quiet --seed --python "), "{asked}");
}

#[test]
fn requests_for_the_same_thing_share_an_environment_and_others_do_not() {
    let release = |version: &str, gpu| Wanted {
        python: None,
        packages: Packages::TensorFlow {
            release: Release::Version(version.to_owned()),
            gpu,
        },
    };
    let keys = [
        key(&release("2.15.0", false)),
        key(&release("2.15.0", true)),
        key(&release("2.15.1", false)),
        key(&wanted("a")),
        key(&wanted("b")),
        key(&Wanted {
            python: Some("3.9".into()),
            ..wanted("a")
        }),
    ];
    for (position, one) in keys.iter().enumerate() {
        assert!(keys.iter().skip(position + 1).all(|other| other != one), "{one}");
    }
    assert!(keys[0].starts_with("tensorflow-2.15.0-cpu-"), "{}", keys[0]);
    assert_eq!(key(&release("2.15.0", false)), keys[0]);
}

#[test]
fn failures_that_are_known_have_a_remedy() {
    let failed = |said: &str| PythonError::Failed {
        command: "x".into(),
        said: said.into(),
    };
    let table = [
        (
            "The virtual environment was not created because ensurepip is not available.",
            Some("python3-venv"),
        ),
        (
            "OSError: [Errno 28] No space left on device",
            Some("XDG_CACHE_HOME"),
        ),
        ("[Errno -2] Name or service not known", Some("PIP_INDEX_URL")),
        ("something else", None),
    ];
    for (said, part) in table {
        let error = failed(said);
        match part {
            Some(part) => assert!(error.hint().is_some_and(|hint| hint.contains(part)), "{said}"),
            None => assert_eq!(error.hint(), None),
        }
    }
}
