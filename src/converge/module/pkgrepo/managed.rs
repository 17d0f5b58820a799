//! A repository is configured.

use super::desired::Desired;
use super::entry::{Entry, File};
use super::files::{files, find, write};
use super::key::key_steps;
use crate::converge::module::command::{act_or_fail, failure, old_new, one, run, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::change::Change;
use crate::host::fact::Domain;
use crate::value::{Map, Value};

/// Configures a repository, with the key that signs its packages.
pub(super) fn managed(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    if call.args.contains_key("repo") {
        return failure(
            "'repo' is not a supported argument for this state. The 'name' argument is probably what was intended.",
        );
    }
    let name = call.name;
    let desired = Desired::of(call)?;
    let files = files(facts)?;
    let key = key_steps(call, &desired, facts)?;
    let found = find(&files, &desired);
    let old = found.map(|(file, _, entry)| (files[file].path.clone(), entry));
    let is_clean = !call.flag("clean_file", false)
        || desired.file.as_ref().is_none_or(|path| {
            let file = files.iter().find(|file| file.path == *path);
            file.is_none_or(|file| file.count() <= 1)
        });
    let is_same = old
        .as_ref()
        .is_some_and(|(_, entry)| *entry == desired.entry);
    if is_same && is_clean && key.is_empty() {
        let comment = format!("Package repo '{name}' already configured");
        return unchanged(comment);
    }
    let mut steps = key;
    if !is_same || !is_clean {
        steps.push(write_step(call, &desired, &files));
    }
    if call.flag("refresh", true) && call.flag("refresh_db", true) {
        let lists = Domain::Path("/var/lib/apt".to_owned());
        let text = "apt-get -q -o DPkg::Lock::Timeout=120 update";
        steps.push(run(text, [Domain::Packages, lists]));
    }
    let changes = changes(name, &desired.entry, old.as_ref().map(|(_, entry)| entry));
    let predicted = Outcome::would(
        changes.clone(),
        format!(
            "Package repo '{name}' would be configured. This may cause pkg states to behave differently than stated if this action is repeated without test=True, due to the differences in the configured repositories."
        ),
    );
    let name = name.to_owned();
    let outcome = Outcome::changed(changes, format!("Configured package repo '{name}'"));
    let complaint = format!("Failed to configure repo '{name}': ");
    act_or_fail(predicted, steps, outcome, complaint)
}

fn changes(name: &str, new: &Entry, old: Option<&Entry>) -> Map {
    let Some(old) = old else {
        return one("repo", name);
    };
    let join = |words: &std::collections::BTreeSet<String>| {
        Value::list(words.iter().map(|word| Value::from(word.as_str())))
    };
    let mut changes = Map::new();
    if old.components != new.components {
        changes.extend(one(
            "comps",
            old_new(join(&old.components), join(&new.components)),
        ));
    }
    if old.is_disabled != new.is_disabled {
        changes.extend(one("disabled", old_new(old.is_disabled, new.is_disabled)));
    }
    if old.options != new.options {
        let options = |entry: &Entry| {
            let words: Vec<String> = entry
                .options
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            words.join(" ")
        };
        changes.extend(one("options", old_new(options(old), options(new))));
    }
    if changes.is_empty() {
        changes = one("repo", name);
    }
    changes
}

/// Writes the entry where it is, or into the file that is named.
fn write_step(call: &Call<'_>, desired: &Desired, files: &[File]) -> Change {
    let found = find(files, desired);
    let path = match (&found, &desired.file) {
        (_, Some(path)) => path.clone(),
        (Some((file, ..)), None) => files[*file].path.clone(),
        (None, None) => "/etc/apt/sources.list".to_owned(),
    };
    let file = files.iter().find(|file| file.path == path);
    let mut file = file.cloned().unwrap_or_else(|| File::new(&path, ""));
    let place = found
        .filter(|(at, ..)| files[*at].path == path)
        .map(|(_, place, _)| place);
    if call.flag("clean_file", false) {
        file.clear();
    }
    let text = if file.has_paragraphs() {
        desired.entry.as_paragraph()
    } else {
        desired.line.clone()
    };
    file.put(place, text);
    write(&path, file.text())
}
