//! Checks encrypted values without a key: their form, their digest, their place and their readers.

use std::path::Path;

use super::encrypt::is_clear;
use super::inventory::{Inventory, SealedLeaf, SecretFile, SecretScheme, whole_place};
use super::project::SecretProject;
use super::report::SecretPlace;
use super::text_file::{TextFile, relative};
use crate::ops::failure::Failure;
use crate::secret::{
    AgeError, ReaderPolicy, RotationDebt, SealedValue, ValuePlace, check_age_form, check_vault_form,
};
use crate::system::fs;
use crate::yaml::tagged_nodes;

/// A problem of an encrypted value or file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretProblem {
    pub place: SecretPlace,
    pub message: String,
    pub help: Option<String>,
}

/// The result of a check without a key.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// The number of values and of whole files that were checked.
    pub values: usize,
    pub files: usize,
    pub problems: Vec<SecretProblem>,
    /// The values that a removed reader could read, and that have not changed since.
    pub rotate: Vec<RotationDebt>,
}

/// Checks all encrypted values and files of a project.
pub fn verify(project: &SecretProject) -> Result<VerifyReport, Failure> {
    let root = &project.root;
    let inventory = Inventory::of(root)?;
    let mut report = VerifyReport::default();
    for (path, failure) in &inventory.problems {
        report.problem(whole_place(root, path), failure.to_string(), None);
    }
    for path in &inventory.policies {
        match ReaderPolicy::load(fs::parent_of(path)) {
            Ok(policy) => report
                .rotate
                .extend(policy.into_iter().flat_map(|it| it.rotate)),
            Err(error) => report.age_problem(whole_place(root, path), &error),
        }
    }
    for file in &inventory.files {
        match file {
            SecretFile::Values(text, leaves) => {
                let policy = ReaderPolicy::around(fs::parent_of(&text.path))
                    .ok()
                    .flatten();
                for leaf in leaves {
                    report.values += 1;
                    let place = text.place_of(root, &leaf.node, &leaf.route);
                    check_leaf(leaf, policy.as_ref(), place, &mut report);
                }
            }
            SecretFile::Whole {
                path,
                bytes,
                scheme,
            } => {
                report.files += 1;
                let place = whole_place(root, path);
                check_whole(bytes, scheme, place, &mut report);
            }
        }
    }
    for (path, text) in marked_files(&inventory) {
        for (route, node) in tagged_nodes(&text.root) {
            if node.tag() != Some("!sensitive") && is_clear(&node) {
                let tag = node.tag().unwrap_or_default();
                let message = format!("the value has the tag `{tag}`, and is not encrypted");
                let help = format!(
                    "run `unfurl secret encrypt {}`",
                    relative(root, path).display()
                );
                report.problem(text.place_of(root, &node, &route), message, Some(help));
            }
        }
    }
    report.problems.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(report)
}

/// Returns the files that have values with tags.
fn marked_files(inventory: &Inventory) -> impl Iterator<Item = (&Path, &TextFile)> {
    inventory.files.iter().filter_map(|file| match file {
        SecretFile::Values(text, _) => Some((&*text.path, text)),
        SecretFile::Whole { .. } => None,
    })
}

fn check_leaf(
    leaf: &SealedLeaf,
    policy: Option<&ReaderPolicy>,
    place: SecretPlace,
    report: &mut VerifyReport,
) {
    if leaf.scheme() != SecretScheme::Age {
        if let Err(reason) = check_vault_form(leaf.text()) {
            report.problem(
                place,
                format!("the encrypted text is damaged: {reason}"),
                None,
            );
        }
        return;
    }
    let Some(policy) = policy else {
        let message =
            "the value is encrypted with age, and the project has no `secret-readers.yaml`";
        report.problem(place, message.to_owned(), None);
        return;
    };
    let checked = SealedValue::parse(leaf.text()).and_then(|sealed| {
        sealed.check_place(ValuePlace {
            project: &policy.id,
            path: &leaf.name,
        })?;
        sealed.check_readers(policy)
    });
    if let Err(error) = checked {
        report.age_problem(place, &error);
    }
}

fn check_whole(bytes: &[u8], scheme: &SecretScheme, place: SecretPlace, report: &mut VerifyReport) {
    match scheme {
        SecretScheme::Age => {
            if let Err(error) = check_age_form(bytes) {
                report.age_problem(place, &error);
            }
        }
        SecretScheme::Vault(_) => {
            if let Err(reason) = check_vault_form(&String::from_utf8_lossy(bytes)) {
                report.problem(
                    place,
                    format!("the encrypted file is damaged: {reason}"),
                    None,
                );
            }
        }
    }
}

impl VerifyReport {
    fn problem(&mut self, place: SecretPlace, message: String, help: Option<String>) {
        self.problems.push(SecretProblem {
            place,
            message,
            help,
        });
    }

    fn age_problem(&mut self, place: SecretPlace, error: &AgeError) {
        self.problem(place, error.to_string(), error.help());
    }
}
