//! Container images: which Python environment stands for which.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What stands for an image on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StandIn {
    /// Directories that come first on the path.
    pub path: Vec<PathBuf>,
    /// The Python that a program means by `/usr/bin/python`.
    pub python: Option<PathBuf>,
    /// The Python environment, if it is one.
    pub environment: Option<PathBuf>,
    /// What the image starts where a template does not say.
    pub entrypoint: Entrypoint,
    /// What the image holds: a path in it, and where that is on this machine.
    pub files: BTreeMap<PathBuf, PathBuf>,
    /// Variables that the image sets.
    pub env: BTreeMap<String, String>,
    /// Where its programs start, if the template does not say.
    pub workdir: Option<String>,
}

/// What an image starts by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entrypoint {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Nothing: the arguments are the command.
    None,
    /// This, with the arguments behind it.
    Command(Vec<String>),
}
