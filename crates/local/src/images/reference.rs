//! Names of images, and which TensorFlow the official ones hold.

use crate::python::{Release, Version};

/// The repository and the tag of `[registry/]repository[:tag][@digest]`.
fn parse(image: &str) -> (&str, Option<&str>) {
    let name = image.split_once('@').map_or(image, |(name, _)| name);
    // A colon before the last slash belongs to the registry's port.
    let (name, tag) = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (name, None),
    };
    match name.split_once('/') {
        Some((host, rest)) if host.contains(['.', ':']) || host == "localhost" => (rest, tag),
        _ => (name, tag),
    }
}

/// The TensorFlow in an image, if it is one of the official ones or a copy of it in another registry.
pub(super) fn official(image: &str) -> Option<Release> {
    let (repository, tag) = parse(image);
    (repository == "tensorflow/tensorflow").then(|| tag.map_or(Release::Newest, release))
}

/// What a tag stands for: `2.15.0-gpu-jupyter` is 2.15.0.
fn release(tag: &str) -> Release {
    if tag.starts_with("nightly") || tag.starts_with("devel") {
        return Release::Nightly;
    }
    let first = tag.split('-').next().unwrap_or_default();
    let first = first.strip_prefix('v').unwrap_or(first);
    match Version::parse(first) {
        Some(_) => Release::Version(first.to_owned()),
        None => Release::Newest,
    }
}

/// Whether an image's name fits a pattern: `*` is anything, everything else is itself. A pattern without a tag fits
/// every tag.
pub(super) fn fits(pattern: &str, image: &str) -> bool {
    let tagless = parse(pattern).1.is_none() && !pattern.contains('@') && !pattern.ends_with('*');
    glob(pattern, image)
        || tagless && {
            let name = image.split_once('@').map_or(image, |(name, _)| name);
            let (_, tag) = parse(name);
            let name = tag.map_or(name, |tag| &name[..name.len() - tag.len() - 1]);
            glob(pattern, name)
        }
}

fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn official_images_are_known_by_their_name_in_any_registry() {
        let version = |text: &str| Some(Release::Version(text.to_owned()));
        let table = [
            ("tensorflow/tensorflow", Some(Release::Newest)),
            ("tensorflow/tensorflow:latest", Some(Release::Newest)),
            ("tensorflow/tensorflow:latest-gpu-jupyter", Some(Release::Newest)),
            ("tensorflow/tensorflow:nightly", Some(Release::Nightly)),
            ("tensorflow/tensorflow:devel-gpu", Some(Release::Nightly)),
            ("tensorflow/tensorflow:1.13.1-py3", version("1.13.1")),
            ("tensorflow/tensorflow:2.11.0", version("2.11.0")),
            ("tensorflow/tensorflow:2.15.0-gpu", version("2.15.0")),
            ("tensorflow/tensorflow:2.16.0rc0-gpu", version("2.16.0rc0")),
            ("tensorflow/tensorflow:v2.3", version("2.3")),
            ("docker.io/tensorflow/tensorflow:2.15.0", version("2.15.0")),
            (
                "registry.example:5000/tensorflow/tensorflow",
                Some(Release::Newest),
            ),
            ("localhost/tensorflow/tensorflow:2.1.0", version("2.1.0")),
            ("tensorflow/tensorflow:2.15.0@sha256:abc", version("2.15.0")),
            ("tensorflow/tensorflow@sha256:abc", Some(Release::Newest)),
            ("tensorflow/serving", None),
            ("mine/tensorflow/tensorflow", None),
            ("tensorflow", None),
            ("", None),
        ];
        for (image, expected) in table {
            assert_eq!(official(image), expected, "{image}");
        }
    }

    #[test]
    fn patterns_fit_with_stars_and_without_tags() {
        let table = [
            ("mine/app:1", "mine/app:1", true),
            ("mine/app:1", "mine/app:2", false),
            ("mine/app", "mine/app:2", true),
            ("mine/app", "mine/app:2@sha256:abc", true),
            ("mine/app", "mine/app@sha256:abc", true),
            ("mine/app", "mine/app", true),
            ("mine/app", "mine/apple", false),
            ("mine/*", "mine/app:2", true),
            ("*/app:*", "registry:5000/mine/app:2", true),
            ("registry:5000/app", "registry:5000/app:2", true),
            ("registry:5000/app", "registry:5000/app", true),
            ("*dist*mnist*", "volcanosh/dist-mnist-tf-example:0.0.1", true),
            ("*dist*x", "dist", false),
            ("a*a", "a", false),
            ("*", "anything", true),
        ];
        for (pattern, image, expected) in table {
            assert_eq!(fits(pattern, image), expected, "{pattern} {image}");
        }
    }
}
