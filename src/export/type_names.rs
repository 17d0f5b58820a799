//! The names of types in exports, unique in the whole world: `Type@package:file`.

use std::path::{Path, PathBuf};

use super::values::{Object, ObjectExt as _};
use crate::diagnostic::Sources;
use crate::git::Repository;
use crate::tosca::{ServiceTemplate, TypeKey, TypeOrigin};
use crate::yaml::Node;

/// Files whose types carry no name of a file.
const MAIN_FILES: [&str; 4] = [
    "service-template.yaml",
    "ensemble.yaml",
    "ensemble-template.yaml",
    "dummy-ensemble.yaml",
];

/// Gives types their names.
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

    /// The name of a type.
    pub(super) fn of(&self, key: TypeKey) -> String {
        let origin = self.service.types.origin(key);
        if origin.built_in {
            return origin.name.to_string();
        }
        self.qualified(&origin)
    }

    /// The name of a type that no file declares.
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

    /// The file of an imported type and the repository that it is in.
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

    /// What must be imported for a type; none if no file imports it.
    pub(super) fn source_info(&self, origin: &TypeOrigin) -> Option<Object> {
        let (repository, file) = self.file(origin)?;
        let mut info = Object::new();
        info.put("file", file.display().to_string());
        info.put_some("repository", repository);
        info.put_some("prefix", origin.prefix.as_deref());
        Some(info)
    }
}

/// The URL of a repository's entry.
pub(super) fn url_of(repository: &Node) -> Option<&str> {
    repository
        .as_str()
        .or_else(|| repository.get("url")?.as_str())
}

/// What names a repository everywhere: host and path of its origin, or else its first commit;
/// nothing outside of git.
pub(super) fn package(repository: Option<&Repository>) -> String {
    let Some(repository) = repository else {
        return String::new();
    };
    match repository.origin() {
        Some(url) => package_of_url(&url),
        None => repository.first_commit().unwrap_or_default(),
    }
}

/// Host and path of a URL, without scheme, user and `.git`.
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

/// The path of a repository on its server, or on this machine.
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
