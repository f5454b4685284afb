//! Modules of which we need the files and not the programs: other projects' CRDs.

use std::path::PathBuf;

use crate::cache::run;
use crate::{Missing, go, has_go};

/// A Go module at one version, with the checksum that it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// `path@version`.
    pub name: &'static str,
    /// As `go.sum` writes it.
    sum: &'static str,
}

/// `JobSet`, for its CRD.
pub const JOBSET: Module = Module {
    name: "sigs.k8s.io/jobset@v0.11.0",
    sum: "h1:1r2uTNQmylnqG/WCSSDADgNkHryvyUaCNCOgvSPWpN8=",
};

/// Volcano, for its CRDs of jobs, pod groups and queues.
pub const VOLCANO: Module = Module {
    name: "volcano.sh/volcano@v1.10.0",
    sum: "h1:+GzQinGgeV0j58WpWpxByOXgF+YfUPW55zghM8GqjF0=",
};

/// The plugins of Kubernetes' schedulers, for their CRD of pod groups.
pub const PLUGINS: Module = Module {
    name: "sigs.k8s.io/scheduler-plugins@v0.33.5",
    sum: "h1:9u4QAYbuoxa59aStrJKP4Bii2EQrZmGPN2tzvfs2gL0=",
};

/// Kubeflow's operator, for what it installs: the definition of `TFJob`, its Deployment, its webhooks.
pub const KUBEFLOW: Module = Module {
    name: "github.com/kubeflow/training-operator@v1.9.3",
    sum: "h1:aaSHqskOtCY8Dn8sVd+l9p5XAczW6O0nYMPjVLAw/lc=",
};

/// Kueue, for its CRDs.
pub const KUEUE: Module = Module {
    name: "sigs.k8s.io/kueue@v0.19.2",
    sum: "h1:mPNzr37u0nwI7ikST5QQl5gg6EgtYOAvC9ZbTgywdN8=",
};

impl Module {
    /// Where the module's files are, after getting them if they are not there.
    pub fn folder(&self) -> Result<PathBuf, Missing> {
        if !has_go() {
            let why = "it comes as a Go module, and there is no Go to get it: install Go 1.26 or later";
            return Err(Missing::new(self.name, why));
        }
        let mut go = go(".");
        go.args(["mod", "download", "-json", self.name]);
        let answer = run(go).map_err(|why| Missing::new(self.name, why))?;
        if field(&answer, "Sum") != Some(self.sum) {
            let why = format!("its checksum should be {}, found\n{answer}", self.sum);
            return Err(Missing::new(self.name, why));
        }
        let folder = field(&answer, "Dir").map(PathBuf::from);
        folder.ok_or_else(|| Missing::new(self.name, format!("Go does not say where it is:\n{answer}")))
    }
}

/// One field of the flat JSON that `go mod download -json` prints, one field a line.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("\"{name}\": \"");
    let line = json
        .lines()
        .find_map(|line| line.trim().strip_prefix(begin.as_str()))?;
    line.trim_end_matches(',').strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_from_what_go_prints() {
        let answer = "{\n\t\"Path\": \"a.b/c\",\n\t\"Dir\": \"/x/y@v1\",\n\t\"Sum\": \"h1:abc=\"\n}\n";
        assert_eq!(field(answer, "Dir"), Some("/x/y@v1"));
        assert_eq!(field(answer, "Sum"), Some("h1:abc="));
        assert_eq!(field(answer, "Error"), None);
    }
}
