//! Loads the files that a service template imports (TOSCA `imports`).

use std::path::{Path, PathBuf};

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Severity};
use crate::project::FileLoader;
use crate::text::{is_url, join_url};
use crate::tosca::{ImportRequest, Imported, Importer};
use crate::yaml::{self, IncludeRequest, Limits, LoadResult, Loader as _, Node};

/// An importer that uses the loader of included files, so that both follow the same rules.
#[derive(Debug)]
pub(crate) struct FileImporter<'l, 's> {
    pub(crate) loader: &'l mut FileLoader<'s>,
    pub(crate) document: Node,
    pub(crate) limits: Limits,
    /// Whether an import that was not fetched causes only a warning, unless something is missing without it.
    pub(crate) lenient: bool,
}

impl Importer for FileImporter<'_, '_> {
    fn import(&mut self, request: &ImportRequest) -> Result<Imported, Diagnostic> {
        let (file, fragment) = match request.file.split_once('#') {
            Some((file, fragment)) => (file, Some(fragment)),
            None => (&*request.file, None),
        };
        let file = match request.repository {
            Some(_) => file.to_owned(),
            None if file.contains("://") => file.to_owned(),
            None => join(&self.folder(request), file),
        };
        let include = IncludeRequest {
            file,
            repository: request.repository.as_deref().map(str::to_owned),
            repository_url: None,
            condition_variable: None,
            optional: false,
            span: request.span,
            from: request.from,
            document: self.document.clone(),
        };
        let loaded = self.loader.load(&include).map_err(|problems| {
            let mut problem = first(problems, request);
            if self.lenient && problem.check == Check::ImportNotFetched {
                problem.severity = Severity::Warning;
            }
            problem
        })?;
        let LoadResult::Found { source, root } = loaded else {
            let message = format!("the imported file `{}` does not exist", request.file);
            return Err(Diagnostic::error(message)
                .check(Check::Import)
                .label(request.span, "imported here")
                .help("correct its name; relative paths start from the folder of this file"));
        };
        let expanded = yaml::expand(&root, self.loader, &self.limits)
            .map_err(|problems| first(problems, request))?;
        let root = match fragment {
            Some(fragment) => pointer(&expanded.root, fragment).ok_or_else(|| {
                let message = format!(
                    "there is no `{fragment}` in the imported file `{}`",
                    request.file
                );
                Diagnostic::error(message)
                    .check(Check::Import)
                    .label(request.span, "imported here")
            })?,
            None => expanded.root,
        };
        let base_dir: PathBuf = self.loader.folder_of(source);
        Ok(Imported {
            source,
            root,
            base_dir,
        })
    }
}

impl FileImporter<'_, '_> {
    /// Returns the folder to which the file name is relative.
    fn folder(&self, request: &ImportRequest) -> PathBuf {
        let converted = self.loader.folder_of_python_source(request.span.source);
        converted.unwrap_or_else(|| request.base_dir.to_path_buf())
    }
}

fn first(problems: Diagnostics, request: &ImportRequest) -> Diagnostic {
    let fallback = || {
        let message = format!("the imported file `{}` cannot be read", request.file);
        Diagnostic::error(message)
            .check(Check::Import)
            .label(request.span, "imported here")
    };
    problems.into_iter().next().unwrap_or_else(fallback)
}

/// Returns the path or the address of a file in a folder.
fn join(folder: &Path, file: &str) -> String {
    match folder.to_str().filter(|folder| is_url(folder)) {
        Some(folder) => join_url(folder, file),
        None => folder.join(file).display().to_string(),
    }
}

/// Returns the node at a JSON pointer.
fn pointer(root: &Node, pointer: &str) -> Option<Node> {
    let mut node = root.clone();
    for part in pointer
        .trim_start_matches('/')
        .split('/')
        .filter(|part| !part.is_empty())
    {
        let key = part.replace("~1", "/").replace("~0", "~");
        let next = match node.as_seq() {
            Some(items) => items.get(key.parse::<usize>().ok()?)?.clone(),
            None => node.get(&key)?.clone(),
        };
        node = next;
    }
    Some(node)
}

/// Returns a path as text, for messages and expressions.
pub(crate) fn display_path(path: &Path) -> String {
    path.display().to_string()
}
