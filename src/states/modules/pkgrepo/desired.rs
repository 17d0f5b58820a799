//! The apt repository that a `pkgrepo` state describes.
//!
//! [`DesiredRepo`] combines the line in the state's name with arguments such as `comps` and `dist`.

use super::entry::RepoEntry;
use crate::states::{Halt, StateCall, refuse};
use crate::value::Value;

/// The desired repository entry, its one-line form, and the file to put it in.
pub(super) struct DesiredRepo {
    pub(super) entry: RepoEntry,
    pub(super) line: String,
    pub(super) file: Option<String>,
}

impl DesiredRepo {
    /// Reads the repository from the arguments of a state.
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        let name = call.name.trim();
        if name.contains('\n') {
            return refuse(
                "a package repository must be a single line: write `deb [options] uri suite components`",
            );
        }
        let Some(mut entry) = RepoEntry::parse_line(name) else {
            return refuse(format!(
                "Failed to examine repo '{name}': write `deb [options] uri suite components`"
            ));
        };
        let comps = call.texts("comps")?;
        if !comps.is_empty() {
            let words = comps.iter().flat_map(|text| text.split([',', ' ']));
            let words = words.filter(|word| !word.is_empty());
            entry.components = words.map(str::to_owned).collect();
        }
        if let Some(dist) = call.text("dist")? {
            entry.suites = [dist].into();
        }
        if let Some(path) = call.text("signedby")? {
            entry.options.insert(("signed-by".to_owned(), path));
        }
        let enabled = call.arg("enabled").map(Value::is_truthy);
        if let Some(disabled) = call.arg("disabled").map(Value::is_truthy) {
            if enabled.is_some() {
                return refuse("Only one of enabled/disabled is allowed");
            }
            entry.is_disabled = disabled;
        } else {
            entry.is_disabled = enabled == Some(false);
        }
        let file = call.text("file")?;
        if let Some(file) = file.as_ref().filter(|file| !file.starts_with('/')) {
            return refuse(format!("`file: {file}` is not an absolute path"));
        }
        let mut line = build_line(name, &entry);
        let comments = call.texts("comments")?.join(" ");
        if comments.contains('\n') {
            return refuse("`comments` of a package repository must be single lines");
        }
        if !comments.is_empty() {
            line = format!("{} #{comments}\n", line.trim_end());
        }
        Ok(Self { entry, line, file })
    }

    /// Returns the absolute path of the key that `signed-by` names.
    pub(super) fn signed_by(&self) -> Option<&str> {
        let path = self.entry.option("signed-by");
        path.starts_with('/').then_some(path)
    }
}

/// Returns the one-line form of the entry. The user's own text is kept if the arguments change nothing
/// in it.
fn build_line(name: &str, entry: &RepoEntry) -> String {
    let bare = name.trim_start_matches(['#', ' ']);
    let is_as_written = RepoEntry::parse_line(bare).is_some_and(|mut written| {
        written.is_disabled = entry.is_disabled;
        written == *entry
    });
    let text = if is_as_written {
        bare.to_owned()
    } else {
        let options: Vec<String> = entry
            .options
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let options = if options.is_empty() {
            String::new()
        } else {
            format!("[{}]", options.join(" "))
        };
        let words = entry.kinds.iter().chain([&options]).chain(&entry.uris);
        let words = words.chain(&entry.suites).chain(&entry.components.0);
        let words: Vec<&str> = words
            .map(String::as_str)
            .filter(|word| !word.is_empty())
            .collect();
        words.join(" ")
    };
    if entry.is_disabled {
        format!("# {text}\n")
    } else {
        format!("{text}\n")
    }
}
