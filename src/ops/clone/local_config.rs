//! Writes the settings of this computer into a clone: `local/unfurl.yaml`, from the template that the project has.

use std::path::Path;

use super::report::CloneReport;
use crate::ops::failure::Failure;
use crate::project::{MANIFEST, NewEntry, PROJECT_FILE, Registration, register_ensemble};
use crate::skeleton::VaultPassword;
use crate::system::fs::{self, Beneath, SECRET_MODE};
use crate::value::replace_variables;

/// The template in a project.
const TEMPLATE: &str = ".unfurl-local-template.yaml";
/// The folder of the file, which git ignores.
const FOLDER: &str = "local";
/// The variable of a template that stands for a new password.
const NEW_PASSWORD: &str = "generate_new_vault_password";
/// The maximum size of a template.
const MAX_BYTES: u64 = 1 << 20;

/// Writes `local/unfurl.yaml` of a project, unless it exists or there is no template.
pub(super) fn create(
    project: &Path,
    variables: &[(String, String)],
    report: &mut CloneReport,
) -> Result<(), Failure> {
    let folder = Beneath::open(project)?;
    let target = Path::new(FOLDER).join(PROJECT_FILE);
    let is_file = fs::is_file(&project.join(TEMPLATE)) && !fs::is_symlink(&project.join(TEMPLATE));
    if !is_file || folder.info(Path::new(FOLDER))?.is_some() && folder.info(&target)?.is_some() {
        return Ok(());
    }
    let text = folder.read(Path::new(TEMPLATE), MAX_BYTES)?;
    let text = String::from_utf8_lossy(&text);
    let mut kept = String::new();
    for line in text.lines().filter(|line| !line.starts_with("##")) {
        kept += line;
        kept.push('\n');
    }
    let new = VaultPassword::generate("")?.password;
    let has_new = std::cell::Cell::new(false);
    let text = replace_variables(&kept, |name| {
        let known = variables.iter().rev().find(|(known, _)| known == name);
        match known {
            Some((_, value)) => Some(escaped(value)),
            None if name == NEW_PASSWORD => {
                has_new.set(true);
                Some(new.clone())
            }
            None => None,
        }
    });
    folder.create_dir_all(Path::new(FOLDER))?;
    folder.write_atomic(&target, text.as_bytes(), Some(SECRET_MODE))?;
    if has_new.get() {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        report.notes.push(format!(
            "`local/{PROJECT_FILE}` of `{name}` has a new vault password, which does not open secrets that are committed \
             already; `unfurl clone --var VAULT_PASSWORD PASSWORD` sets the old one"
        ));
    }
    Ok(())
}

/// Returns a value as it stands between double quotes in YAML.
fn escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Lists the ensembles with repositories of their own in `local/unfurl.yaml`, if the project has this file.
pub(super) fn register_nested(project: &Path, report: &CloneReport) -> Result<(), Failure> {
    let local = project.join(FOLDER).join(PROJECT_FILE);
    if !fs::is_file(&local) {
        return Ok(());
    }
    for folder in &report.nested {
        let file = folder.join(MANIFEST);
        if fs::is_file(&project.join(&file)) {
            let entry = NewEntry {
                file: file.display().to_string(),
                alias: folder
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                ..NewEntry::default()
            };
            register_ensemble(&project.join(PROJECT_FILE), &entry, Registration::Local)?;
        }
    }
    Ok(())
}
