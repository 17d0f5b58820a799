//! Lookup of an operation's `tasks.yaml`: finds and reads the file and computes digests of all files
//! read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostics, Sources};
use crate::expr::{DirectoryOwner, LocalContext};
use crate::tasks::{Tasks, read_tasks};
use crate::value::{Map, Value};
use crate::yaml::{TagError, TagReader};

/// The file names to look for, in order.
const FILE_NAMES: [&str; 2] = ["tasks.yaml", "tasks.yml"];

/// Decrypts the values of a tasks file with the keys of the ensemble.
struct ContextTags<'a>(&'a dyn LocalContext);

impl TagReader for ContextTags<'_> {
    fn read(&self, tag: &str, text: &str, path: &str) -> Option<Result<Value, TagError>> {
        let read = self.0.decrypt(tag, text, path)?;
        Some(read.map_err(|(reason, help)| TagError { reason, help }))
    }
}

/// Tasks with the digests of the files they were read from.
#[derive(Debug)]
pub(super) struct TaskFile {
    pub(super) tasks: Tasks,
    pub(super) path: PathBuf,
    pub(super) sources: Sources,
    /// The digest of each file by its path within the project.
    pub(super) digests: Map,
}

impl TaskFile {
    /// Reads the file that an operation names, or the nearest one.
    ///
    /// The search starts in the ensemble's folder and goes up to the project's.
    pub(super) fn read(
        explicit: Option<&Value>,
        local_context: &dyn LocalContext,
        base: &Path,
    ) -> Result<Self, String> {
        let project = local_context.directory(&DirectoryOwner::default(), "project");
        let project = project.map_err(|error| error.to_string())?;
        let file = match explicit {
            Some(explicit) => find_named(explicit, local_context, base)?,
            None => find_nearest(local_context, base, &project)?,
        };
        let seen = RefCell::new(Vec::new());
        let read = |path: &Path| {
            seen.borrow_mut().push(path.to_owned());
            let bytes = local_context
                .read(path)
                .map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|_| format!("`{}` is not UTF-8 text", path.display()))
        };
        let mut sources = Sources::default();
        let tasks = read_tasks(&file, &mut sources, &read, &ContextTags(local_context));
        let tasks = tasks.map_err(|problems| describe_first_problem(&problems, &sources, &file))?;
        seen.borrow_mut().extend(tasks.variable_files());
        let digest = |path: PathBuf| {
            let digest = local_context.content_digest(&path)?;
            let shown = path.strip_prefix(&project).unwrap_or(&path);
            Some((shown.to_string_lossy().into(), Value::from(digest)))
        };
        Ok(Self {
            tasks,
            path: file,
            sources,
            digests: seen.into_inner().into_iter().filter_map(digest).collect(),
        })
    }
}

fn find_named(
    explicit: &Value,
    local_context: &dyn LocalContext,
    base: &Path,
) -> Result<PathBuf, String> {
    let plain = |text: &&str| !text.is_empty() && !text.contains("{{") && !text.contains("{%");
    let Some(path) = explicit.as_str().filter(plain) else {
        return Err(
            "`file` must be a plain path; expressions and templates are not allowed".to_owned(),
        );
    };
    let path = base.join(path);
    let file = if local_context.is_dir(&path) {
        find_in_folder(local_context, &path)
    } else {
        local_context.exists(&path).then(|| path.clone())
    };
    file.ok_or_else(|| format!("there is no file `{}`", path.display()))
}

fn find_nearest(
    local_context: &dyn LocalContext,
    base: &Path,
    project: &Path,
) -> Result<PathBuf, String> {
    let inside = |folder: &&Path| *folder == base || folder.starts_with(project);
    let mut folders = base.ancestors().take_while(inside);
    let found = folders.find_map(|folder| find_in_folder(local_context, folder));
    let missing = "no `tasks.yaml` was found in the folder of the ensemble or above it in the \
                   project; set `file` to the path of a task file";
    found.ok_or_else(|| missing.to_owned())
}

fn find_in_folder(local_context: &dyn LocalContext, folder: &Path) -> Option<PathBuf> {
    let mut files = FILE_NAMES.iter().map(|name| folder.join(name));
    files.find(|file| local_context.exists(file) && !local_context.is_dir(file))
}

/// Returns the first problem of a file with its position, and the number of others.
pub(super) fn describe_first_problem(
    problems: &Diagnostics,
    sources: &Sources,
    file: &Path,
) -> String {
    let Some(first) = problems.iter().next() else {
        return format!("`{}` cannot be read", file.display());
    };
    let place = first.span().and_then(|span| sources.position(span));
    let line = place.map_or(String::new(), |place| format!(":{}", place.line));
    let more = match problems.len() {
        0 | 1 => String::new(),
        2 => " (and 1 more problem)".to_owned(),
        many => format!(" (and {} more problems)", many - 1),
    };
    format!("{}{line}: {}{more}", file.display(), first.message)
}
