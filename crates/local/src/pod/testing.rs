//! What the tests of this crate's pure parts share: jobs, templates, and a directory that goes away.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use trainyard_core::{
    Addresses, Clean, ClusterForm, InPlace, Job, Limits, Role, RoleKind, RoleName, Template,
};

/// A directory of its own for a test, removed with it.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "trainyard-test-{}-{}",
            process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A shell script that can be started. A child writes it: a file that we hold open for writing, and that another
    /// thread's child has inherited for a moment, could not be executed.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        let mut writer = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = writer.stdin.take().unwrap();
        writeln!(input, "#!/bin/sh\n{text}").unwrap();
        drop(input);
        assert!(writer.wait().unwrap().success());
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that stays behind in the system's own place for such things does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A role of that name with one container, which runs `true`.
pub(crate) fn role(name: &str, replicas: u32) -> Role {
    let kind = match name {
        "chief" => RoleKind::Chief,
        "master" => RoleKind::Master,
        "worker" => RoleKind::Worker,
        "ps" => RoleKind::Ps,
        "evaluator" => RoleKind::Evaluator,
        _ => RoleKind::Other,
    };
    Role {
        name: RoleName::new(name),
        kind,
        tf_type: name.into(),
        replicas,
        template: template(&pod(json!({"command": ["true"]}))),
        resume_template: None,
        in_place: InPlace::Never,
        port: 2222,
        ask: std::collections::BTreeMap::new(),
        after: None,
    }
}

/// A job of these roles, all of them in the cluster.
pub(crate) fn job(roles: Vec<Role>) -> Job {
    let names = roles.iter().map(|role| role.name.clone()).collect();
    Job {
        name: "mnist".into(),
        namespace: "default".into(),
        uid: "u1".into(),
        roles,
        rules: Vec::new(),
        limits: Limits::default(),
        clean: Clean::None,
        suspend: false,
        gang: None,
        addresses: Addresses::PerJob,
        cluster: ClusterForm::Full {
            roles: names,
            environment: false,
        },
    }
}

/// A pod template whose only container, `tensorflow`, has these fields.
pub(crate) fn pod(mut container: Value) -> Value {
    container["name"] = "tensorflow".into();
    json!({"spec": {"containers": [container]}})
}

/// JSON as the model carries it.
pub(crate) fn template(json: &Value) -> Template {
    Template(json.to_string().into())
}
