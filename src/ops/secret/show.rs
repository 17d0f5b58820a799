//! Shows secrets: one value, or the places and readers of all of them.

use super::inventory::{Inventory, SecretEntry, sealed_leaf};
use super::project::SecretProject;
use super::target::SecretTarget;
use super::text_file::TextFile;
use crate::diagnostic::Diagnostic;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::PROJECT_FILE;
use crate::system::fs;
use crate::value::Value;
use crate::yaml::Route;

/// Decrypts one value.
pub fn get(project: &SecretProject, target: &SecretTarget) -> Result<Value, Failure> {
    let (file, route) = find(project, target)?;
    open_at(project, &file, &route)
}

/// Returns the encrypted values and files of a project, and messages about files that cannot be read.
pub fn list(project: &SecretProject) -> Result<(Vec<SecretEntry>, Vec<String>), Failure> {
    let inventory = Inventory::of(&project.root)?;
    let problems = inventory.problems.iter();
    let problems = problems.map(|(path, failure)| format!("`{}`: {failure}", path.display()));
    Ok((inventory.entries(&project.root), problems.collect()))
}

/// Returns the encrypted values with a name. No key is needed.
pub fn who(project: &SecretProject, target: &SecretTarget) -> Result<Vec<SecretEntry>, Failure> {
    let (entries, _) = list(project)?;
    let file = match &target.file {
        Some(file) => {
            let path = fs::absolute(file, &crate::session::current_dir()?);
            Some(fs::canonicalize(&path).unwrap_or(path))
        }
        None => None,
    };
    let found: Vec<SecretEntry> = entries
        .into_iter()
        .filter(|entry| {
            let path = project.root.join(&entry.place.file);
            file.as_ref().is_none_or(|file| *file == path)
                && has_name(&entry.place.name, &target.name)
        })
        .collect();
    if found.is_empty() {
        return Err(unknown(&target.name));
    }
    Ok(found)
}

/// Finds a value: the one at the place that the options name, or else the only encrypted value with the name.
pub(super) fn find(
    project: &SecretProject,
    target: &SecretTarget,
) -> Result<(TextFile, Route), Failure> {
    if target.file.is_some() || fs::is_file(&project.root.join(PROJECT_FILE)) {
        let (file, route) = target.locate(project)?;
        if route.find(&file.root).is_some() {
            return Ok((file, route));
        }
    }
    if target.file.is_some() || target.environment.is_some() {
        return Err(unknown(&target.name));
    }
    let inventory = Inventory::of(&project.root)?;
    let entries = inventory.entries(&project.root);
    let found: Vec<&SecretEntry> = entries
        .iter()
        .filter(|entry| has_name(&entry.place.name, &target.name))
        .collect();
    match found.as_slice() {
        [] => Err(unknown(&target.name)),
        [one] => {
            let file = TextFile::read(&project.root.join(&one.place.file))?;
            let route = super::text_file::route_of(&file.root, &one.place.name);
            Ok((file, route))
        }
        several => {
            let places = several.iter().map(|entry| entry.place.to_string());
            let places: Vec<String> = places.collect();
            let message = format!("`{}` is the name of {} secrets", target.name, several.len());
            let help = format!("name one with `--file`: {}", places.join(", "));
            Err(Failure::new(FailureKind::Refused, message, Some(help)))
        }
    }
}

/// Decrypts the value at a route. A clear text is returned as it is.
pub(super) fn open_at(
    project: &SecretProject,
    file: &TextFile,
    route: &Route,
) -> Result<Value, Failure> {
    let Some(node) = route.find(&file.root) else {
        return Err(unknown(&super::text_file::name_of(route)));
    };
    let Some(leaf) = sealed_leaf(node, route) else {
        return Ok(node.to_value().reveal().clone());
    };
    let opened = project.open_value(&file.path, &leaf);
    opened.map_err(|(reason, help)| {
        let message = format!("the value `{}` cannot be decrypted: {reason}", leaf.name);
        let problem = Diagnostic::error(message).label(file.span_of(node), "");
        Failure::with_sources(
            FailureKind::Refused,
            problem.help_if(help),
            file.sources().clone(),
        )
    })
}

fn has_name(path: &str, name: &str) -> bool {
    path == name
        || path
            .strip_suffix(name)
            .is_some_and(|rest| rest.ends_with('.'))
}

fn unknown(name: &str) -> Failure {
    let message = format!("there is no secret `{}`", name.escape_debug());
    let help = "`unfurl secret list` shows the names".to_owned();
    Failure::new(FailureKind::Refused, message, Some(help))
}
