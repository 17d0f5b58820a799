//! The request of a repository for a package: its id, where it is, and which revision.

use super::source_url::{SourceUrl, is_shorthand};
use super::version::Version;
use crate::text::without_logins;

/// The revision that asks for the files as they are in a clone, whatever its version.
pub(super) const CURRENT: &str = "HEAD";

/// A package that a repository of a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRequest {
    /// The id: host and path of the repository, `.git/` and a folder in it, and `/vN`.
    pub id: String,
    /// The address, if the request states one or a rule has set it.
    pub(super) url: Option<SourceUrl>,
    /// A minimal version, or the name of a branch, tag or commit.
    pub revision: Option<String>,
    /// Whether any clone is accepted as it is.
    pub is_current: bool,
}

impl PackageRequest {
    /// Reads the URL or package id of a repository. `revision` overrides that of the fragment.
    ///
    /// Returns `None` for a path on this machine.
    pub fn of(url: &str, revision: Option<&str>) -> Option<Self> {
        if url.is_empty()
            || ["-", ".", "/", "~", "file:", "git-local"]
                .iter()
                .any(|start| url.starts_with(start))
        {
            return None;
        }
        let source = SourceUrl::parse(url);
        let stated = revision
            .map(str::to_owned)
            .or_else(|| source.revision.clone());
        let (id, is_address) = id_of(&source);
        let url = is_address.then_some(SourceUrl {
            revision: None,
            ..source
        });
        Some(Self {
            id,
            url,
            is_current: stated.as_deref() == Some(CURRENT),
            revision: stated.filter(|revision| revision != CURRENT),
        })
    }

    /// Returns the address of the repository; without one in the request, that which the id stands for.
    pub fn source(&self) -> SourceUrl {
        if let Some(url) = &self.url {
            return url.clone();
        }
        let (repository, path) = self.id.split_once(".git/").unwrap_or((&self.id, ""));
        SourceUrl {
            address: format!("https://{repository}.git"),
            revision: None,
            path: path.to_owned(),
        }
    }

    /// Returns the version that the request asks for; `None` for the name of a branch, tag or commit.
    pub fn version(&self) -> Option<Version> {
        Version::parse(self.revision.as_deref()?)
    }

    /// Returns the start of the tags of the package: `v`, or `FOLDER/v` for a package in a folder.
    pub fn tag_prefix(&self) -> String {
        let path = self.source().path;
        let (folder, _) = split_major(&path);
        match folder {
            "" => "v".to_owned(),
            folder => format!("{folder}/v"),
        }
    }

    /// Returns the git tag of a version, or the revision itself if it is no version.
    pub fn tag_of(&self, revision: &str) -> String {
        if Version::parse(revision).is_none() {
            return revision.to_owned();
        }
        format!("{}{}", self.tag_prefix(), revision.trim_start_matches('v'))
    }

    /// Returns the version that a git tag of the repository means for this package.
    pub fn version_of_tag<'t>(&self, tag: &'t str) -> Option<(&'t str, Version)> {
        let text = tag.strip_prefix(&*self.tag_prefix())?;
        let version = Version::parse(text).filter(|_| !text.starts_with('v'))?;
        let major = split_major(&self.id).1;
        major
            .is_none_or(|major| major == version.major())
            .then_some((text, version))
    }

    /// Returns the highest version among git tags. Pre-releases count only if there is nothing else.
    pub fn latest<'t>(&self, tags: impl IntoIterator<Item = &'t str>) -> Option<String> {
        let versions = tags.into_iter().filter_map(|tag| self.version_of_tag(tag));
        let highest = versions.max_by(|a, b| {
            let rank = |version: &Version| (!version.is_pre_release(), version.clone());
            rank(&a.1).cmp(&rank(&b.1))
        });
        highest.map(|(text, _)| text.to_owned())
    }

    /// Returns the folder of the package in the repository, without the major version at its end.
    pub fn folders(&self) -> [String; 2] {
        let path = self.source().path;
        let without = split_major(&path).0.to_owned();
        [path, without]
    }
}

impl std::fmt::Display for PackageRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&without_logins(&self.id))?;
        match &self.revision {
            Some(revision) => write!(f, "#{revision}"),
            None => Ok(()),
        }
    }
}

/// Splits `/vN` from the end of an id or path.
fn split_major(path: &str) -> (&str, Option<u64>) {
    let (before, last) = path.rsplit_once('/').unwrap_or(("", path));
    let number = last.strip_prefix('v').filter(|digits| !digits.is_empty());
    let number = number.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    match number.and_then(|digits| digits.parse().ok()) {
        Some(major) => (before, Some(major)),
        None => (path, None),
    }
}

/// Returns the id that an address or id stands for, and whether it is an address.
fn id_of(source: &SourceUrl) -> (String, bool) {
    let text = source.address.as_str();
    let (host, path, is_address) = match text.split_once("://") {
        Some((_, rest)) => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = authority
                .rsplit_once('@')
                .map_or(authority, |(_, host)| host);
            let port = host
                .rfind(':')
                .filter(|at| host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()));
            (port.map_or(host, |at| &host[..at]), path, true)
        }
        None if is_shorthand(text) => {
            let (host, path) = text.split_once(':').unwrap_or((text, ""));
            (
                host.rsplit_once('@').map_or(host, |(_, host)| host),
                path,
                true,
            )
        }
        None => ("", text, false),
    };
    let parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    let path = parts.collect::<Vec<_>>().join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path);
    let mut id = if host.is_empty() {
        path.to_owned()
    } else {
        format!("{}/{path}", host.to_ascii_lowercase())
    };
    if !source.path.is_empty() && source.path != "." {
        id = format!("{id}.git/{}", source.path);
    }
    (id, is_address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(url: &str) -> PackageRequest {
        PackageRequest::of(url, None).unwrap()
    }

    #[test]
    fn urls_and_ids_of_the_same_package_have_the_same_id() {
        for (url, id, address) in [
            (
                "example.org/t/types",
                "example.org/t/types",
                "https://example.org/t/types.git",
            ),
            (
                "https://u:p@Example.org:8443/t/types.git#v1.2.0",
                "example.org/t/types",
                "https://Example.org:8443/t/types.git",
            ),
            (
                "git@example.org:t/types.git",
                "example.org/t/types",
                "git@example.org:t/types.git",
            ),
            (
                "https://example.org/t.git#:sub/v2",
                "example.org/t.git/sub/v2",
                "https://example.org/t.git#:sub/v2",
            ),
            (
                "example.org/t.git/sub/v2#v2.1.0",
                "example.org/t.git/sub/v2",
                "https://example.org/t.git#:sub/v2",
            ),
        ] {
            let request = request(url);
            assert_eq!(request.id, id, "{url}");
            assert!(
                request
                    .source()
                    .to_string()
                    .ends_with(address.trim_start_matches("https://")),
                "{url}"
            );
        }
        for path in ["./x", "/srv/x", "file:x", "git-local://abc/x", "-x", ""] {
            assert!(PackageRequest::of(path, None).is_none(), "{path}");
        }
    }

    #[test]
    fn tags_of_a_package_have_its_folder_and_its_major_version() {
        let root = request("https://h/r.git#1.2.0");
        assert_eq!(root.tag_of("1.2.0"), "v1.2.0");
        assert_eq!(root.tag_of("v1.2.0"), "v1.2.0");
        assert_eq!(root.tag_of("main"), "main");
        let below = request("h/r.git/sub/v2");
        assert_eq!(below.tag_of("2.1.0"), "sub/v2.1.0");
        let tags = [
            "v3.0.0",
            "sub/v1.9.0",
            "sub/v2.1.0",
            "sub/v2.3.0-rc.1",
            "sub/vx",
            "sub/vv2.9.0",
        ];
        assert_eq!(below.latest(tags).as_deref(), Some("2.1.0"));
        assert_eq!(
            root.latest(["x", "v0.1.0", "v0.2.0", "1.9.0"]).as_deref(),
            Some("0.2.0")
        );
        assert_eq!(root.latest(["v1.0.0-rc.1"]).as_deref(), Some("1.0.0-rc.1"));
        assert_eq!(request("h/r.git/v2").tag_of("2.0.0"), "v2.0.0");
        assert_eq!(root.latest([]), None);
    }

    #[test]
    fn head_asks_for_the_clone_as_it_is() {
        let request = PackageRequest::of("https://h/r.git#v1", Some("HEAD")).unwrap();
        assert!(request.is_current && request.revision.is_none());
    }
}
