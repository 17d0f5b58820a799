//! The files of the predefined repository `unfurl`, embedded in the binary.
//!
//! Their paths start with `unfurl:`. The file loader reads them like files on disk.

use std::path::{Path, PathBuf};

use crate::system::fs;

/// The prefix of the paths of embedded files.
const PREFIX: &str = "unfurl:";

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../schemas/unfurl/", $name)))),+]
    };
}

/// The embedded files, by their path in the repository.
const FILES: &[(&str, &str)] = files![
    "configurators/templates/dns.yaml",
    "configurators/templates/docker.yaml",
    "configurators/templates/helm.yaml",
    "configurators/templates/supervisor.yaml",
    "tosca_plugins/artifacts.yaml",
    "tosca_plugins/googlecloud.yaml",
    "tosca_plugins/k8s.yaml",
    "tosca_plugins/localhost.yaml",
];

/// Former paths of files, with their present paths.
const LEGACY_NAMES: &[(&str, &str)] = &[
    (
        "configurators/dns-template.yaml",
        "configurators/templates/dns.yaml",
    ),
    (
        "configurators/docker-template.yaml",
        "configurators/templates/docker.yaml",
    ),
    (
        "configurators/helm-template.yaml",
        "configurators/templates/helm.yaml",
    ),
    (
        "configurators/supervisor-template.yaml",
        "configurators/templates/supervisor.yaml",
    ),
];

/// Returns the root of the repository. File paths can be joined to it.
pub(super) fn root() -> PathBuf {
    PathBuf::from(PREFIX)
}

/// Returns the canonical path of an embedded file, such as `unfurl:tosca_plugins/k8s.yaml`.
///
/// Resolves `..` and former paths. Returns `None` if the path is outside of the repository.
pub(super) fn path_within(path: &Path) -> Option<PathBuf> {
    let rest = path.to_str()?.strip_prefix(PREFIX)?;
    let normalized = fs::normalize(Path::new(rest.trim_start_matches('/')));
    let name = normalized.to_str()?;
    let now = LEGACY_NAMES.iter().find(|(earlier, _)| *earlier == name);
    let name = now.map_or(name, |(_, now)| *now);
    Some(PathBuf::from(format!("{PREFIX}{name}")))
}

/// Returns the text of an embedded file, by its canonical path.
pub(super) fn text(path: &Path) -> Option<&'static str> {
    let name = path.to_str()?.strip_prefix(PREFIX)?;
    let found = FILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}

/// Returns the paths of all embedded files.
pub(super) fn file_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// Whether a URL is the address of Unfurl's own repository.
///
/// The embedded files are a part of that repository and serve in its place.
pub(super) fn is_own_url(url: &str) -> bool {
    let url = url.strip_prefix("git+").unwrap_or(url);
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (bare, fragment) = bare.split_once('#').unwrap_or((bare, ""));
    let bare = bare.trim_end_matches('/');
    let bare = bare.strip_suffix(".git").unwrap_or(bare);
    bare == "github.com/onecommons/unfurl" && !fragment.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_path_however_it_is_asked_for() {
        let known = Path::new("unfurl:configurators/templates/docker.yaml");
        for path in [
            "unfurl:configurators/templates/docker.yaml",
            "unfurl:/configurators/templates/docker.yaml",
            "unfurl:tosca_plugins/../configurators/./templates/docker.yaml",
            "unfurl:configurators/docker-template.yaml",
        ] {
            assert_eq!(path_within(Path::new(path)).unwrap(), known, "{path}");
        }
        assert!(text(known).is_some());
        assert_eq!(path_within(Path::new("/unfurl:x")), None);
        let outside = path_within(Path::new("unfurl:../../etc/passwd")).unwrap();
        assert_eq!(text(&outside), None);
        assert_eq!(text(&root()), None);
    }

    #[test]
    fn the_address_of_the_public_repository_is_known() {
        for url in [
            "https://github.com/onecommons/unfurl",
            "https://github.com/onecommons/unfurl.git#v1.2.0",
            "github.com/onecommons/unfurl",
        ] {
            assert!(is_own_url(url), "{url}");
        }
        for url in [
            "https://github.com/onecommons/unfurl-types",
            "https://github.com/onecommons/unfurl#main:docs",
            "file:../unfurl",
        ] {
            assert!(!is_own_url(url), "{url}");
        }
    }
}
