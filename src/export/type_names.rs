//! Globally unique names of exported types: `Type@package:file`.

use std::path::{Path, PathBuf};

use super::values::{Object, ObjectExt as _};
use crate::diagnostic::Sources;
use crate::git::Repository;
use crate::tosca::{ServiceTemplate, TypeKey, TypeOrigin};
use crate::yaml::Node;

/// Main files, whose types have no file in their names.
const MAIN_FILES: [&str; 4] = [
    "service-template.yaml",
    "ensemble.yaml",
    "ensemble-template.yaml",
    "dummy-ensemble.yaml",
];

/// Computes the exported names of types.
#[derive(Debug)]
pub(super) struct TypeNames<'a> {
    service: &'a ServiceTemplate,
    sources: &'a Sources,
    base: PathBuf,
    package: String,
}

impl<'a> TypeNames<'a> {
    pub(super) fn new(
        service: &'a ServiceTemplate,
        sources: &'a Sources,
        base: &Path,
        package: String,
    ) -> Self {
        Self {
            service,
            sources,
            base: base.to_path_buf(),
            package,
        }
    }

    /// Returns the exported name of a type.
    pub(super) fn of(&self, key: TypeKey) -> String {
        let origin = self.service.types.origin(key);
        if origin.built_in {
            return origin.name.to_string();
        }
        self.qualified(&origin)
    }

    /// Returns the exported name of a type that no file declares.
    pub(super) fn of_generated(&self, name: &str) -> String {
        match self.package.as_str() {
            "" => name.to_owned(),
            package => format!("{name}@{package}"),
        }
    }

    fn qualified(&self, origin: &TypeOrigin) -> String {
        let name = self.of_generated(&origin.name);
        let Some((_, file)) = self.file(origin) else {
            return name;
        };
        if self.package.is_empty() || MAIN_FILES.iter().any(|main| Path::new(main) == file) {
            return name;
        }
        format!("{name}:{}", file.with_extension("").display())
    }

    /// Returns the file of an imported type and the repository that contains it.
    fn file(&self, origin: &TypeOrigin) -> Option<(Option<&str>, PathBuf)> {
        if !origin.imported {
            return None;
        }
        let path = &self.sources.get(origin.span.source)?.path;
        if let Ok(inside) = path.strip_prefix(&self.base) {
            return Some((None, inside.to_path_buf()));
        }
        for (name, repository) in &self.service.repositories {
            let url = url_of(repository).and_then(|url| url.strip_prefix("file:"));
            let folder = url.map(|url| crate::system::fs::absolute(Path::new(url), &self.base));
            if let Some(inside) = folder.and_then(|folder| path.strip_prefix(folder).ok()) {
                return Some((Some(name), inside.to_path_buf()));
            }
        }
        Some((None, PathBuf::from(path.file_name()?)))
    }

    /// Returns the import that makes a type available; `None` if it is not imported.
    pub(super) fn source_info(&self, origin: &TypeOrigin) -> Option<Object> {
        let (repository, file) = self.file(origin)?;
        let mut info = Object::new();
        info.put("file", file.display().to_string());
        info.put_some("repository", repository);
        info.put_some("prefix", origin.prefix.as_deref());
        Some(info)
    }
}

/// Returns the URL in a repository's declaration.
pub(super) fn url_of(repository: &Node) -> Option<&str> {
    repository
        .as_str()
        .or_else(|| repository.get("url")?.as_str())
}

/// Returns a globally unique name of a repository: host and path of `origin`, or else its first commit; empty
/// outside of git.
pub(super) fn package(repository: Option<&Repository>) -> String {
    let Some(repository) = repository else {
        return String::new();
    };
    match repository.origin() {
        Some(url) => package_of_url(&url),
        None => repository.first_commit().unwrap_or_default(),
    }
}

/// Returns the host and path of a URL, without scheme, user and `.git`.
fn package_of_url(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (has_scheme, rest) = match url.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, url.strip_prefix("file:").unwrap_or(url)),
    };
    let is_path = url.starts_with(['.', '/']) || url.starts_with("file:");
    let (host, path) = match rest.split_once('/') {
        _ if is_path => ("", rest.trim_start_matches('/')),
        Some((host, path)) => (host, path),
        None => (rest, ""),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = if has_scheme {
        host.split(':').next().unwrap_or(host).to_owned()
    } else {
        host.replacen(':', "/", 1)
    };
    let whole = format!("{host}/{path}");
    let whole = whole.trim_matches('/');
    whole.strip_suffix(".git").unwrap_or(whole).to_owned()
}

/// Returns the path of a repository on its server, or of the local folder.
pub(super) fn project_path(repository: Option<&Repository>, folder: &Path) -> String {
    match repository.and_then(Repository::origin) {
        Some(url) => {
            let package = package_of_url(&url);
            match package.split_once('/') {
                Some((host, path)) if host.contains('.') => path.to_owned(),
                _ => package,
            }
        }
        None => folder.display().to_string().trim_matches('/').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_packages() {
        let packages = [
            (
                "https://user:pw@example.com:8443/a/b.git",
                "example.com/a/b",
            ),
            ("git@example.com:a/b.git", "example.com/a/b"),
            ("ssh://git@example.com/a/b", "example.com/a/b"),
            ("https://example.com/a.git#main", "example.com/a"),
            ("file:///srv/a.git", "srv/a"),
            ("/srv/a.git", "srv/a"),
        ];
        for (url, package) in packages {
            assert_eq!(package_of_url(url), package, "{url}");
        }
    }
}
