//! Encrypts the values of a file that are marked as secret, in place.

use std::path::Path;

use super::inventory::{VAULT_TAGS, is_clear_age};
use super::project::{Cipher, SecretProject, policy_of};
use super::report::SecretPlace;
use super::set::lock_manifest;
use super::text_file::{TextFile, name_of};
use crate::ops::failure::{Failure, FailureKind};
use crate::secret::{AGE_TAG, POLICY_FILE, is_vault_text};
use crate::session::current_dir;
use crate::system::fs;
use crate::value::Value;
use crate::yaml::{Node, Route, TaggedText, tagged_nodes};

/// The mark of a secret value that is not encrypted.
const SENSITIVE_TAG: &str = "!sensitive";

/// The result of encrypting the values of a file.
#[derive(Debug, Clone, Default)]
pub struct EncryptedLeaves {
    /// The places of the values in the new text.
    pub places: Vec<SecretPlace>,
    /// The places of tags without a value.
    pub empty: Vec<SecretPlace>,
}

/// Encrypts each value with `!sensitive`, and each clear text with `!vault` or `!age`. All other bytes stay.
pub fn encrypt(project: &SecretProject, file: &Path) -> Result<EncryptedLeaves, Failure> {
    let path = fs::absolute(file, &current_dir()?);
    let path = fs::canonicalize(&path).unwrap_or(path);
    let _lock = lock_manifest(&path)?;
    let text = TextFile::read(&path)?;
    let mut result = EncryptedLeaves::default();
    let mut values = Vec::new();
    let mut found = Vec::new();
    for (route, node) in tagged_nodes(&text.root) {
        if !is_clear(&node) {
            continue;
        }
        let value = node.to_value();
        if value.is_null() || value.as_str() == Some("") {
            result
                .empty
                .push(text.place_of(&project.root, &node, &route));
            continue;
        }
        let cipher = cipher_of(project, &node, &path)?;
        let (tag, sealed) = project.seal(&cipher, &value, &name_of(&route))?;
        found.push(route.clone());
        values.push(TaggedText {
            route,
            tag,
            value: Value::from(sealed),
        });
    }
    if values.is_empty() {
        return Ok(result);
    }
    let new = text.with_values(&values)?;
    text.save(&new)?;
    let new = TextFile::parse(&path, new)?;
    let place = |route: &Route| {
        let node = route.find(&new.root)?;
        Some(new.place_of(&project.root, node, route))
    };
    result.places = found.iter().filter_map(place).collect();
    Ok(result)
}

/// Returns true if a node is marked as secret and stands in clear text.
pub(super) fn is_clear(node: &Node) -> bool {
    match node.tag() {
        Some(SENSITIVE_TAG) => true,
        Some(AGE_TAG) => node.as_str().is_none_or(is_clear_age),
        Some(tag) if VAULT_TAGS.contains(&tag) => node
            .as_str()
            .is_none_or(|text| !is_vault_text(text.as_bytes())),
        _ => false,
    }
}

/// Returns the way to encrypt a node: the one that its tag names.
fn cipher_of(project: &SecretProject, node: &Node, path: &Path) -> Result<Cipher, Failure> {
    let refuse = |message: &str, help: &str| {
        let help = Some(help.to_owned());
        Err(Failure::new(FailureKind::Refused, message, help))
    };
    match node.tag() {
        Some(AGE_TAG) => match policy_of(path)? {
            Some(policy) => Ok(Cipher::Age(policy)),
            None => refuse(
                &format!("the tag `!age` needs a file `{POLICY_FILE}` in the project"),
                "create a project with `unfurl init --secrets age`, or use the tag `!vault`",
            ),
        },
        Some(tag) if VAULT_TAGS.contains(&tag) => match project.keys().passwords().first() {
            Some(password) => Ok(Cipher::Vault(password.clone())),
            None => refuse(
                "the tag `!vault` needs the password of a vault",
                "set the variable UNFURL_VAULT_DEFAULT_PASSWORD, or use the tag `!age`",
            ),
        },
        _ => project.cipher_for(path),
    }
}
