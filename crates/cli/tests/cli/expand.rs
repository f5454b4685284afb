//! `trainyard expand`, and the same program called `simpletfjob`.

mod api;
mod cluster;
mod file;
mod part_d;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Ran, folder, program};

/// simpletfjob's own example.
pub const SEED: &str = include_str!("../../../expand/tests/seed/mnist.yaml");
/// What it made of it on h10, h100 and h14.
pub const SEED_MADE: &str = include_str!("../../../expand/tests/seed/mnist_tfjob.yaml");

/// A folder with a template in it, and a state directory of its own.
pub struct Desk {
    pub folder: PathBuf,
}

impl Desk {
    pub fn with(name: &str, template: &str) -> Self {
        let folder = folder(&format!("expand-{name}"));
        fs::write(folder.join("mnist.yaml"), template).expect("a template can be written");
        Self { folder }
    }

    /// The program in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command
            .current_dir(&self.folder)
            .env("TRAINYARD_STATE", self.folder.join("state"));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.command(arguments).output().expect("the program runs").into()
    }

    /// `trainyard expand mnist.yaml …`.
    pub fn expand(&self, arguments: &[&str]) -> Ran {
        self.run(&[&["expand", "mnist.yaml"], arguments].concat())
    }

    /// The program called by the other name.
    pub fn simpletfjob(&self, arguments: &[&str], kubeconfig: &Path) -> Ran {
        let link = self.folder.join("simpletfjob");
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_trainyard"), &link).expect("a link can be made");
        }
        let mut command = Command::new(&link);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .env("KUBECONFIG", kubeconfig)
            .env("TRAINYARD_STATE", self.folder.join("state"));
        command.output().expect("the program runs").into()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).expect("a file can be written");
    }

    /// A file of the folder; none if it is not there.
    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// The manifest, if one was written.
    pub fn made(&self) -> Option<String> {
        self.read("mnist_tfjob.yaml")
    }

    /// Everything in the folder but the state.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).expect("the folder can be listed");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
        let mut names: Vec<String> = names.filter(|name| name != "state").collect();
        names.sort();
        names
    }
}

#[test]
fn the_example_of_simpletfjob_comes_out_byte_for_byte_and_is_told() {
    let desk = Desk::with("seed", SEED);
    let ran = desk.expand(&["--hosts", "h10,h100,h14,h23", "-N", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert_eq!(ran.err, "wrote mnist_tfjob.yaml: 1 parameter server, 2 workers\n");
    assert_eq!(desk.made().as_deref(), Some(SEED_MADE));
    let again = desk.expand(&["--hosts", "h10,h100,h14,h23", "-N", "3", "-o", "-"]);
    assert_eq!(
        (again.code, again.out.as_str(), again.err.as_str()),
        (Some(0), SEED_MADE, "")
    );
}

#[test]
fn hosts_come_as_words_from_files_and_from_standard_input() {
    let desk = Desk::with("hosts", "h: {{.host}}");
    desk.write("nodes", "h1\r\n# gone: h0\nh2, h3\n\n");
    let made = "h: h1\n---\nh: h2\n---\nh: h3";
    for arguments in [
        ["--hosts", "h1,h2,h3"],
        ["--hosts", "nodes"],
        ["--hosts", "./nodes"],
    ] {
        let ran = desk.expand(&[&arguments[..], &["-o", "-"]].concat());
        assert_eq!((ran.out.as_str(), ran.err.as_str()), (made, ""), "{arguments:?}");
    }
    let nodes = fs::File::open(desk.folder.join("nodes")).expect("it is there");
    let mut command = desk.command(&["expand", "mnist.yaml", "--hosts", "-", "-o", "-"]);
    let ran: Ran = command.stdin(nodes).output().expect("the program runs").into();
    assert_eq!(ran.out, made, "{}", ran.err);
    // A template on standard input goes to standard output.
    let template = fs::File::open(desk.folder.join("mnist.yaml")).expect("it is there");
    let mut command = desk.command(&["expand", "-", "--hosts", "h1,h2,h3"]);
    let ran: Ran = command.stdin(template).output().expect("the program runs").into();
    assert_eq!(ran.out, made, "{}", ran.err);
    assert_eq!(desk.files(), ["mnist.yaml", "nodes"]);
}

#[test]
fn every_variable_and_function_is_there() {
    let template = "\
k: [{{.type}}, {{.index}}, {{.host}}, {{.num}}, {{.port}}, {{.name}}]
hosts: {{toJson .hosts}}
ps: {{.ps_hosts}}
workers: {{quote .worker_hosts}}
line: {{.TF_CONFIG_JSON | quote}}
deep:
  er: |{{.TF_CONFIG_JSON | nindent 4}}
text: |-
{{indent 2 .host}}
";
    let desk = Desk::with("variables", template);
    let ran = desk.expand(&[
        "--hosts",
        "a,b,c,d,e",
        "--chief",
        "--evaluator",
        "--port",
        "3333",
        "-o",
        "-",
    ]);
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn a_dry_run_shows_the_parts_and_touches_nothing() {
    let desk = Desk::with("dry-run", SEED);
    let arguments = ["--hosts", "a,b,c,d,e", "--psn", "2", "--chief", "--dry-run"];
    insta::assert_snapshot!(desk.expand(&arguments).shown());
    assert_eq!(desk.files(), ["mnist.yaml"]);
    assert!(!desk.folder.join("state").exists());
    desk.write("mnist_tfjob.yaml", "mine");
    let refused = desk.expand(&arguments);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    assert_eq!(desk.made().as_deref(), Some("mine"));
}

#[test]
fn mistakes_in_a_template_are_shown_in_its_text_all_at_once() {
    let table = [
        ("names", "\na: {{.foo}}\nb: {{.hots}}\nc: {{upper .host}}\n"),
        ("block", "a: b\n{{if eq .type \"ps\"}}\nc: d\n"),
        ("action", "a: {{.host\n"),
        ("compare", "a: b\n{{if eq .index 0}}c: d{{end}}\n"),
        (
            "yaml",
            "a: b\nenv:\n- value: >\n{{.TF_CONFIG}}\n  - c: {{.host}}: x\n",
        ),
        ("nothing", "# {{.host}}\n"),
    ];
    let mut shown = String::new();
    for (name, template) in table {
        let desk = Desk::with(&format!("mistakes-{name}"), template);
        // No cluster is asked before the template is right: there is none here.
        let ran = desk.expand(&["--hosts", "a,b"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{name}");
        shown = format!("{shown}{name}\n{}\n", ran.err);
        assert_eq!(desk.files(), ["mnist.yaml"]);
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn wrong_words_are_told_with_what_is_right() {
    let desk = Desk::with("words", SEED);
    desk.write("empty", "\n# no host\n");
    let cases: [&[&str]; 15] = [
        &[],
        &["-E", "mnist.yaml"],
        &["mnist.yaml", "--hosts", "a,b", "-N", "0"],
        &["mnist.yaml", "--hosts", "a,b", "-N", "-2"],
        &["mnist.yaml", "--hosts", "a,b", "--psn", "-1"],
        &["mnist.yaml", "--hosts", "a,b", "--port", "70000"],
        &["mnist.yaml", "--hosts", "a,b", "--context", "c"],
        &["mnist.yaml", "--hosts", "nodes.txt"],
        &["mnist.yaml", "--hosts", ""],
        &["mnist.yaml", "--hosts", "./nodes.txt"],
        &["mnist.yaml", "--hosts", "empty"],
        &["mnist.yaml", "--hosts", "a,b,a"],
        &["mnist.yaml", "--hosts", "a,b", "--psf", "empty"],
        &["mnist.yaml", "--hosts", "a,b", "-o", "mnist.yaml", "--force"],
        &["mnist.yaml", "--hosts", "a,b", "-o", "state/no/such/folder.yaml"],
    ];
    let mut shown = String::new();
    for typed in cases {
        let ran = desk.run(&[&["expand"], typed].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{typed:?}");
        shown = format!("{shown}$ trainyard expand {}\n{}\n", typed.join(" "), ran.err);
    }
    insta::assert_snapshot!(shown);
    assert_eq!(desk.files(), ["empty", "mnist.yaml"]);
}
