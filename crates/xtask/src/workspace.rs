//! The workspace's root and its crates, read from the manifests.

use std::path::{Path, PathBuf};

/// The workspace's root, two directories above this crate.
pub fn root() -> Result<PathBuf, String> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").ok_or("start this with `cargo xtask`")?;
    let root = Path::new(&here)
        .ancestors()
        .nth(2)
        .ok_or("this crate is not in crates/xtask")?;
    Ok(root.to_path_buf())
}

/// A crate of the workspace.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// The package's name.
    pub name: String,
    /// Whether it has features to switch on and off.
    pub has_features: bool,
}

/// Every crate under `crates/`, by folder name.
pub fn members(root: &Path) -> Result<Vec<Member>, String> {
    let folder = root.join("crates");
    let unreadable = |error: std::io::Error| format!("cannot list {}: {error}", folder.display());
    let mut manifests = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let manifest = entry.map_err(unreadable)?.path().join("Cargo.toml");
        if manifest.is_file() {
            manifests.push(manifest);
        }
    }
    manifests.sort();
    manifests.iter().map(|path| member(path)).collect()
}

fn member(manifest: &Path) -> Result<Member, String> {
    let text = std::fs::read_to_string(manifest)
        .map_err(|error| format!("cannot read {}: {error}", manifest.display()))?;
    read_member(&text).ok_or_else(|| format!("no package name in {}", manifest.display()))
}

/// Reads a `Cargo.toml` as ours are written: `name = "…"` first, one header per table.
fn read_member(text: &str) -> Option<Member> {
    let name = package_name(text)?;
    let has_features = text
        .lines()
        .skip_while(|line| *line != "[features]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.contains('=') && !line.starts_with('#'));
    Some(Member { name, has_features })
}

/// The name of the package that a `Cargo.toml` describes.
pub fn package_name(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_has_features_only_if_its_table_names_one() {
        let cases = [
            (
                "[package]\nname = \"a\"\n\n[features]\n# why\nsim = []\n\n[dependencies]\n",
                true,
            ),
            (
                "[package]\nname = \"a\"\n\n[features]\n# none = []\n\n[dependencies]\nb = \"1\"\n",
                false,
            ),
            ("[package]\nname = \"a\"\n\n[dependencies]\nb = \"1\"\n", false),
        ];
        for (text, has_features) in cases {
            assert_eq!(
                read_member(text),
                Some(Member {
                    name: "a".into(),
                    has_features
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn our_own_crates_are_found() {
        let root = root().unwrap();
        let members = members(&root).unwrap();
        let core = members.iter().find(|member| member.name == "trainyard-core");
        assert!(core.is_some_and(|core| core.has_features), "{members:?}");
    }
}
