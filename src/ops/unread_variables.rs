//! Warns about variables of the command line (`--var NAME VALUE`) that nothing can read.
//!
//! Expressions and templates read a variable by its name. Some tasks are rendered late, so the texts are searched
//! instead of waiting for all of them: a name that no text of the project has can never be read.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::session::Session;
use crate::system::fs::{self, EntryKind};
use crate::text::most_similar;

/// The start of the variables that set inputs. They are checked when inputs are read.
const INPUT_PREFIX: &str = "input_";

/// Folders that hold results of jobs and no templates.
const SKIPPED_FOLDERS: [&str; 6] = [".git", "active", "changes", "failed", "jobs", "planned"];

/// The maximum number of folder entries that are searched.
const MAX_ENTRIES: usize = 5_000;

/// The maximum size of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Returns a warning for each variable that no loaded text and no file of the project mentions.
pub(super) fn unread_variables(session: &Session) -> Diagnostics {
    let inputs = &session.service.topology.inputs;
    let given = session.options.vars.iter().map(|given| given.name.as_str());
    // Inputs without the prefix have a warning of their own.
    let given = given.filter(|name| !name.starts_with(INPUT_PREFIX) && !inputs.contains_key(*name));
    let mut unread: Vec<&str> = given.collect();
    for (_, source) in session.sources.iter() {
        unread.retain(|name| !mentions(&source.text, name));
    }
    let mut warnings = Diagnostics::default();
    if unread.is_empty() || !retain_unmentioned(&mut unread, &project_folders(session)) {
        return warnings;
    }
    for name in unread {
        let message = format!("nothing reads the variable `{name}` of `--var`");
        let similar = most_similar(name, inputs.keys().map(|input| &**input));
        let help = match similar {
            Some(input) => format!("did you mean `--var {INPUT_PREFIX}{input} VALUE`?"),
            None => "expressions and templates read variables by their names; \
                     `--var input_NAME VALUE` sets an input"
                .to_owned(),
        };
        warnings.push(Diagnostic::warning(message).help(help));
    }
    warnings
}

/// Returns the folders of the ensemble and of its project, without those inside another one.
fn project_folders(session: &Session) -> Vec<PathBuf> {
    let project = session.location.located.project.as_ref();
    let project = project.map(|project| project.root.clone());
    let mut folders: Vec<PathBuf> = project
        .into_iter()
        .chain([session.manifest.base_dir().to_path_buf()])
        .collect();
    folders.sort();
    folders.dedup_by(|later, earlier| later.starts_with(earlier));
    folders
}

/// Removes the names that a file in the folders mentions. Returns false if not all files could be searched.
fn retain_unmentioned(names: &mut Vec<&str>, folders: &[PathBuf]) -> bool {
    let mut waiting: Vec<PathBuf> = folders.to_vec();
    let mut entries = 0;
    while let Some(folder) = waiting.pop() {
        let Ok(listed) = fs::list(&folder) else {
            return false;
        };
        entries += listed.len();
        if entries > MAX_ENTRIES {
            return false;
        }
        for entry in listed {
            match entry.kind {
                EntryKind::Folder if SKIPPED_FOLDERS.contains(&entry.name.as_str()) => {}
                EntryKind::Folder => waiting.push(entry.path),
                EntryKind::File => retain_unmentioned_in(names, &entry.path),
                EntryKind::Link | EntryKind::Other => {}
            }
        }
    }
    true
}

fn retain_unmentioned_in(names: &mut Vec<&str>, file: &Path) {
    // A file that cannot be read is no template either.
    if let Ok(bytes) = fs::read_within(file, MAX_FILE_BYTES) {
        let text = String::from_utf8_lossy(&bytes);
        names.retain(|name| !mentions(&text, name));
    }
}

/// Returns true if a text has a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_counts_as_a_whole_word_only() {
        for text in ["$who", "{{ who }}", "a: who", "who", "[who,x]", "whom who"] {
            assert!(mentions(text, "who"), "{text}");
        }
        for text in ["", "whom", "_who", "who_2", "éwho"] {
            assert!(!mentions(text, "who"), "{text}");
        }
    }
}
