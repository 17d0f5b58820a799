//! Patterns for local paths of files that come from several hosts, so that no two hosts write to
//! the same file (rule F64).

use std::path::{Component, Path, PathBuf};

/// The placeholder for the name of the host.
const HOST_PLACEHOLDER: &str = "%(host)s";
/// The placeholder for the path on the host.
const PATH_PLACEHOLDER: &str = "%(path)s";

/// A path of this machine that may contain `%(host)s` and `%(path)s`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalPattern(String);

/// The reason why a text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalPatternError {
    #[error("the local path is empty")]
    Empty,
    /// The text contains an unknown placeholder.
    #[error("\"{0}\" is not a placeholder; a local path may contain `%(host)s` and `%(path)s`")]
    Unknown(String),
}

impl LocalPattern {
    /// Parses a pattern and checks its placeholders.
    pub fn parse(text: &str) -> Result<Self, LocalPatternError> {
        if text.is_empty() {
            return Err(LocalPatternError::Empty);
        }
        let mut rest = text;
        while let Some(start) = rest.find("%(") {
            rest = &rest[start..];
            if !rest.starts_with(HOST_PLACEHOLDER) && !rest.starts_with(PATH_PLACEHOLDER) {
                let end = rest.find(')').map_or(rest.len(), |end| end + 1);
                let end = rest[end..]
                    .chars()
                    .next()
                    .map_or(end, |c| end + c.len_utf8());
                return Err(LocalPatternError::Unknown(rest[..end].to_owned()));
            }
            rest = &rest[HOST_PLACEHOLDER.len()..];
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the local path for a file or folder of a host.
    ///
    /// With `several` hosts, a pattern without `%(host)s` gets a folder per host below it. In a
    /// path that ends with `/`, `.` or `..`, the file keeps its own name.
    pub fn expand(&self, host: &str, source: &str, several: bool) -> PathBuf {
        let below = confined_path(source);
        let name = below.file_name().map(PathBuf::from).unwrap_or_default();
        let path = below.to_string_lossy();
        // Inserted text is not searched for placeholders again.
        let filled: Vec<String> = self
            .0
            .split(HOST_PLACEHOLDER)
            .map(|part| part.replace(PATH_PLACEHOLDER, &path))
            .collect();
        let filled = filled.join(&host_folder_name(host));
        if several && !self.0.contains(HOST_PLACEHOLDER) {
            return Path::new(&filled).join(host_folder_name(host)).join(name);
        }
        let is_folder = ["/", "/.", "/.."].iter().any(|end| filled.ends_with(end))
            || [".", ".."].contains(&filled.as_str());
        if is_folder && !name.as_os_str().is_empty() {
            return Path::new(&filled).join(name);
        }
        PathBuf::from(filled)
    }
}

/// Makes a path of a host relative, without parts that could leave a folder.
fn confined_path(source: &str) -> PathBuf {
    let source = source.strip_prefix("~/").unwrap_or(source);
    let parts = Path::new(source).components();
    parts
        .filter(|part| matches!(part, Component::Normal(_)) && part.as_os_str() != "~")
        .collect()
}

/// Returns a folder name for a host, different for each host.
fn host_folder_name(host: &str) -> String {
    if host.chars().all(|c| c == '.') {
        return host.replace('.', "%2E");
    }
    host.replace('%', "%25").replace('/', "%2F")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pattern: &str, host: &str, source: &str, several: bool) -> String {
        let pattern = LocalPattern::parse(pattern).unwrap();
        pattern.expand(host, source, several).display().to_string()
    }

    #[test]
    fn the_host_and_the_path_are_put_in() {
        let of = |pattern| place(pattern, "web1", "/etc/ssh/sshd_config", true);
        assert_eq!(of("out/%(host)s/%(path)s"), "out/web1/etc/ssh/sshd_config");
        assert_eq!(of("%(host)s.conf"), "web1.conf");
        assert_eq!(of("%(host)s/"), "web1/sshd_config");
        assert_eq!(place("%(path)s", "web1", "~/a/../b", false), "a/b");
        assert_eq!(place("%(host)s", "%(path)s", "b", false), "%25(path)s");
    }

    #[test]
    fn several_hosts_never_meet() {
        assert_eq!(place("out", "a", "/etc/hosts", false), "out");
        assert_eq!(place("out", "a", "/etc/hosts", true), "out/a/hosts");
        assert_eq!(place("%(path)s", "a", "/x/y", true), "x/y/a/y");
        assert_eq!(place("out", "..", "/x", true), "out/%2E%2E/x");
        assert_ne!(
            place("out", "a/b", "/x", true),
            place("out", "a%2Fb", "/x", true)
        );
    }

    #[test]
    fn a_path_that_is_a_folder_takes_what_comes_under_its_own_name() {
        assert_eq!(place("out/", "a", "/var/log", false), "out/log");
        assert_eq!(place(".", "a", "/var/log/", false), "./log");
        assert_eq!(place("out/", "a", "~", false), "out/");
    }

    #[test]
    fn what_cannot_be_put_in_is_refused() {
        let refused = |text| LocalPattern::parse(text).unwrap_err().to_string();
        insta::assert_snapshot!(refused("a/%(hots)s"), @r#""%(hots)s" is not a placeholder; a local path may contain `%(host)s` and `%(path)s`"#);
        insta::assert_snapshot!(refused("%(host)s%(pa"), @r#""%(pa" is not a placeholder; a local path may contain `%(host)s` and `%(path)s`"#);
        insta::assert_snapshot!(refused(""), @"the local path is empty");
    }
}
