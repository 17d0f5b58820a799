//! The files of this machine that a project may read while it is loaded, planned and inspected.

use std::path::{Component, Path, PathBuf};

use super::Trust;
use crate::diagnostic::{Diagnostic, Span};
use crate::git::Repository;
use crate::system::fs;

/// The name by which `--allow` permits reads of all files.
pub const READ_PERMISSION: &str = "read";

/// The folders and files that a project may read.
///
/// Symbolic links are resolved before a path is compared, so that no link in the project leads out of it.
/// The folders `.git` are not part of a project: they can hold credentials.
#[derive(Debug, Clone, Default)]
pub struct ReadScope {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
    unrestricted: bool,
}

/// The refusal to read a path that lies outside of the project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {}", path.display(), self.reason())]
pub struct OutsideError {
    path: PathBuf,
    reason: OutsideReason,
}

/// The way in which a path is outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OutsideReason {
    Path,
    Link,
    Git,
}

impl OutsideError {
    fn reason(&self) -> &'static str {
        match self.reason {
            OutsideReason::Path => "lies outside of the project",
            OutsideReason::Link => "leads out of the project by a symbolic link",
            OutsideReason::Git => "lies in a folder `.git`",
        }
    }

    /// Returns the hint for the user.
    pub fn help() -> String {
        Trust::help(READ_PERMISSION)
    }

    /// Returns the error with the place that names the path.
    pub fn diagnostic(&self, span: Span, label: &str) -> Diagnostic {
        let problem = Diagnostic::error(self).label(span, label);
        problem.help(Self::help())
    }
}

impl ReadScope {
    /// Creates a scope with all files of this machine.
    pub fn unrestricted() -> Self {
        Self {
            unrestricted: true,
            ..Self::default()
        }
    }

    /// Creates a scope with a folder and everything in it.
    pub fn of_folder(folder: &Path) -> Self {
        let mut scope = Self::default();
        scope.add_folder(folder);
        scope
    }

    /// Permits all reads if the user permits them to the project.
    pub fn set_trust(&mut self, trust: &Trust) {
        self.unrestricted = trust.permits(READ_PERMISSION);
    }

    /// Adds a folder and everything in it. The folder need not exist yet.
    pub fn add_folder(&mut self, folder: &Path) {
        add_real(&mut self.folders, folder);
    }

    /// Adds a single file.
    pub fn add_file(&mut self, file: &Path) {
        add_real(&mut self.files, file);
    }

    /// Adds the git repository of a file, if its last commit has the file.
    ///
    /// A repository that merely surrounds the file, such as that of a home folder, is another project.
    pub fn add_repository_of(&mut self, file: &Path) {
        let Ok(file) = fs::canonicalize(file) else {
            return;
        };
        let folder = file.parent().unwrap_or(Path::new("/"));
        let Ok(Some(repository)) = Repository::discover(folder) else {
            return;
        };
        let head = repository.head().ok().flatten();
        if let Some(head) = head
            && repository.blob_id_at(&head, &file).is_some()
        {
            self.add_folder(repository.root());
        }
    }

    /// Returns the path to open: without symbolic links, `.` and `..`.
    ///
    /// A path that does not exist is accepted if its nearest existing folder is.
    ///
    /// # Errors
    ///
    /// The path lies outside of the scope.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, OutsideError> {
        if self.unrestricted {
            return Ok(path.to_owned());
        }
        let named = fs::normalize(path);
        let real = real_path(&named, 0);
        let refused = |reason| OutsideError {
            path: path.to_owned(),
            reason,
        };
        if self.files.contains(&real) {
            return Ok(real);
        }
        let folders = self.folders.iter();
        let mut below = folders.filter_map(|folder| real.strip_prefix(folder).ok());
        if below.clone().any(|rest| !is_in_git(rest)) {
            return Ok(real);
        }
        Err(refused(if below.next().is_some() {
            OutsideReason::Git
        } else if real != named && self.folders.iter().any(|root| named.starts_with(root)) {
            OutsideReason::Link
        } else {
            OutsideReason::Path
        }))
    }

    /// Whether the path lies in the scope.
    pub fn contains(&self, path: &Path) -> bool {
        self.resolve(path).is_ok()
    }
}

fn add_real(list: &mut Vec<PathBuf>, path: &Path) {
    let real = real_path(&fs::normalize(path), 0);
    if !list.contains(&real) {
        list.push(real);
    }
}

/// The maximum number of links that lead to each other and finally nowhere.
const MAX_LINKS: usize = 40;

/// Returns the path without symbolic links. Parts that do not exist stay as they are.
fn real_path(path: &Path, links: usize) -> PathBuf {
    for folder in path.ancestors() {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        if let Ok(real) = fs::canonicalize(folder) {
            let rest = path.strip_prefix(folder).unwrap_or(path);
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
        // A link that leads nowhere must not count as the place where the link itself is.
        if fs::is_symlink(folder)
            && let Ok(target) = fs::read_link(folder)
        {
            let beside = folder.parent().unwrap_or(Path::new("/"));
            let real = fs::canonicalize(beside).unwrap_or_else(|_| beside.to_owned());
            let target = fs::absolute(&target, &real);
            return if links < MAX_LINKS {
                real_path(&target, links + 1)
            } else {
                target
            };
        }
    }
    path.to_owned()
}

fn is_in_git(path: &Path) -> bool {
    path.components().any(|part| match part {
        Component::Normal(name) => name.eq_ignore_ascii_case(".git"),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn shown(scope: &ReadScope, root: &Path, path: &str) -> String {
        let path = root.join(path);
        let (root, other) = (root.display().to_string(), "");
        match scope.resolve(&path) {
            Ok(real) => real.display().to_string().replace(&root, other),
            Err(refusal) => refusal.to_string().replace(&root, other),
        }
    }

    /// Makes a project `in` with links, and files beside it.
    fn project_with_links() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for file in ["in/a/b.txt", "in/.git/config", "out/c.txt", "inner/d"] {
            fs::write_plain(&root.join(file), b"x", None).unwrap();
        }
        for (target, link) in [
            ("../out/c.txt", "in/file"),
            ("../out", "in/folder"),
            ("a", "in/own"),
            ("../out/none", "in/dangling"),
            ("../in", "out/back"),
            ("loop", "in/loop"),
            ("folder/none", "in/chain"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        (place, root)
    }

    #[test]
    fn links_are_resolved_before_a_path_is_compared() {
        let (_place, root) = project_with_links();
        let scope = ReadScope::of_folder(&root.join("in"));
        let paths = [
            "in",
            "in/a/b.txt",
            "in/none/x",
            "in/own/b.txt",
            "in/a/../own/b.txt",
            "out/back/a/b.txt",
            "in/file",
            "in/folder/c.txt",
            "in/folder/none",
            "in/dangling",
            "in/../out/c.txt",
            "in/loop",
            "in/chain",
            "out/c.txt",
            "out/none",
            "inner/d",
            "in/.git/config",
            "in/own/../.GIT/x",
        ];
        let lines = paths.map(|path| format!("{path} => {}", shown(&scope, &root, path)));
        insta::assert_snapshot!(lines.join("\n"), @r"
        in => /in
        in/a/b.txt => /in/a/b.txt
        in/none/x => /in/none/x
        in/own/b.txt => /in/a/b.txt
        in/a/../own/b.txt => /in/a/b.txt
        out/back/a/b.txt => /in/a/b.txt
        in/file => `/in/file` leads out of the project by a symbolic link
        in/folder/c.txt => `/in/folder/c.txt` leads out of the project by a symbolic link
        in/folder/none => `/in/folder/none` leads out of the project by a symbolic link
        in/dangling => `/in/dangling` leads out of the project by a symbolic link
        in/../out/c.txt => `/in/../out/c.txt` lies outside of the project
        in/loop => /in/loop
        in/chain => `/in/chain` leads out of the project by a symbolic link
        out/c.txt => `/out/c.txt` lies outside of the project
        out/none => `/out/none` lies outside of the project
        inner/d => `/inner/d` lies outside of the project
        in/.git/config => `/in/.git/config` lies in a folder `.git`
        in/own/../.GIT/x => `/in/own/../.GIT/x` lies in a folder `.git`
        ");
    }

    #[test]
    fn single_files_and_all_files_are_permitted() {
        let (_place, root) = project_with_links();
        let mut all = ReadScope::of_folder(&root.join("in"));
        all.add_file(&root.join("out/c.txt"));
        assert!(all.contains(&root.join("in/file")));
        assert!(!all.contains(&root.join("out/none")));
        all.set_trust(&Trust::new(["read".to_owned()], false));
        assert!(all.contains(Path::new("/etc/passwd")));
    }
}
