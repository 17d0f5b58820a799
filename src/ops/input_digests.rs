//! Detects other values of secret inputs than at the last job, by keyed digests in its record.

use std::collections::HashSet;
use std::sync::Arc;

use crate::ensemble::SecretInputs;
use crate::job::Report;
use crate::secret::Keyring;
use crate::value::{Map, Value};

/// Returns keyed digests of the inputs with secret values. None without such inputs, and without a key.
///
/// A key exists once a task has read a secret. Inputs that no task reads need no digest.
pub(super) fn secret_inputs(report: &Report, keys: &Keyring) -> Option<SecretInputs> {
    let inputs = report
        .values
        .status_section
        .as_ref()?
        .get("inputs")?
        .as_map()?;
    let secret: Vec<_> = inputs
        .iter()
        .filter(|(_, value)| value.has_sensitive())
        .collect();
    if secret.is_empty() {
        return None;
    }
    let key = keys.current().ok().flatten()?;
    let digest =
        |(name, value): (&Arc<str>, &Value)| (name.to_string(), key.digest([(&**name, value)]));
    Some(SecretInputs {
        digests: secret.into_iter().map(digest).collect(),
        key: key.name().clone(),
    })
}

/// Returns the names of secret inputs that have other values than at the last job, as far as that is known.
pub(super) fn changed_secrets(
    recorded: Option<&SecretInputs>,
    now: &Map,
    keys: &Keyring,
) -> HashSet<Arc<str>> {
    let Some(recorded) = recorded else {
        return HashSet::new();
    };
    let Ok(Some(key)) = keys.find(&recorded.key) else {
        return HashSet::new();
    };
    let changed = recorded.digests.iter().filter_map(|(name, digest)| {
        let (name, value) = now.get_key_value(name.as_str())?;
        let is_changed = value.has_sensitive() && key.digest([(&**name, value)]) != *digest;
        is_changed.then(|| Arc::clone(name))
    });
    changed.collect()
}
