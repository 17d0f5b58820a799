//! Sets one secret: encrypts it and splices it into its file.

use std::path::Path;

use super::inventory::{SealedLeaf, SecretScheme, sealed_leaf, vault_readers};
use super::project::{Cipher, SecretProject};
use super::report::SecretPlace;
use super::target::SecretTarget;
use super::text_file::{TextFile, name_of, relative};
use crate::lock::Lock;
use crate::ops::failure::{Failure, FailureKind};
use crate::project::MANIFEST;
use crate::secret::{AGE_TAG, FileChange, ReaderPolicy, SealedValue, write_all_or_none};
use crate::system::fs;
use crate::value::Value;
use crate::yaml::{Route, TaggedText};

/// A secret to set.
#[derive(Debug, Clone)]
pub struct NewSecret {
    pub target: SecretTarget,
    pub value: Value,
}

/// The result of setting a secret.
#[derive(Debug, Clone)]
pub struct SetResult {
    pub place: SecretPlace,
    pub scheme: SecretScheme,
    pub readers: String,
    /// True if the file had the value already, so that nothing was written.
    pub unchanged: bool,
}

/// Encrypts a value and splices it into its file. Writes nothing if the file has the value already.
pub fn set(project: &SecretProject, new: &NewSecret) -> Result<SetResult, Failure> {
    let (file, route) = new.target.locate(project)?;
    let _lock = lock_manifest(&file.path)?;
    set_in(project, &file, &route, &new.value)
}

/// Sets a secret that exists, at the place where [`super::get`] finds it.
pub fn set_found(
    project: &SecretProject,
    target: &SecretTarget,
    value: &Value,
) -> Result<SetResult, Failure> {
    let (file, route) = super::show::find(project, target)?;
    let _lock = lock_manifest(&file.path)?;
    set_in(project, &file, &route, value)
}

/// Sets a value in a file that was read.
pub(super) fn set_in(
    project: &SecretProject,
    file: &TextFile,
    route: &Route,
    value: &Value,
) -> Result<SetResult, Failure> {
    let name = name_of(route);
    let cipher = project.cipher_for(&file.path)?;
    let old = route
        .find(&file.root)
        .and_then(|node| sealed_leaf(node, route));
    let old_value = old
        .as_ref()
        .and_then(|leaf| project.open_value(&file.path, leaf).ok());
    let is_same = old_value.as_ref() == Some(value);
    let is_current = old.as_ref().is_some_and(|leaf| is_current(leaf, &cipher));
    let unchanged = is_same && is_current;
    let (text, root);
    let shown = if unchanged {
        file
    } else {
        let (tag, sealed) = project.seal(&cipher, value, &name)?;
        text = file.with_values(&[TaggedText {
            route: route.clone(),
            tag,
            value: Value::from(sealed),
        }])?;
        save(file, &text, (!is_same).then_some(&name))?;
        root = TextFile::parse(&file.path, text)?;
        &root
    };
    let node = route
        .find(&shown.root)
        .cloned()
        .unwrap_or_else(|| shown.root.clone());
    let (scheme, readers) = match &cipher {
        Cipher::Vault(vault) => (
            SecretScheme::Vault(vault.id.clone()),
            vault_readers(&vault.id),
        ),
        Cipher::Age(policy) => (SecretScheme::Age, policy.reader_names()),
    };
    Ok(SetResult {
        place: shown.place_of(&project.root, &node, route),
        scheme,
        readers,
        unchanged,
    })
}

/// Returns true if a value is encrypted as a new one would be.
fn is_current(leaf: &SealedLeaf, cipher: &Cipher) -> bool {
    match cipher {
        Cipher::Vault(vault) => leaf.scheme() == SecretScheme::Vault(vault.id.clone()),
        Cipher::Age(policy) => {
            leaf.tag == AGE_TAG
                && SealedValue::parse(leaf.text()).is_ok_and(|sealed| sealed.is_for(policy))
        }
    }
}

/// Saves the new text of a file. A value that changed no longer needs a rotation.
fn save(file: &TextFile, text: &str, changed: Option<&String>) -> Result<(), Failure> {
    let policy = ReaderPolicy::around(fs::parent_of(&file.path))?;
    let (Some(mut policy), Some(name)) = (policy, changed) else {
        return file.save(text);
    };
    let own = relative(policy.project(), &file.path);
    let count = policy.rotate.len();
    policy
        .rotate
        .retain(|debt| Path::new(&debt.file) != own || debt.name != *name);
    if policy.rotate.len() == count {
        return file.save(text);
    }
    let changes = [
        FileChange {
            path: file.path.clone(),
            old: file.text().as_bytes().to_vec(),
            new: text.as_bytes().to_vec(),
        },
        FileChange {
            path: policy.path.clone(),
            old: fs::read(&policy.path)?,
            new: policy.to_text()?.into_bytes(),
        },
    ];
    Ok(write_all_or_none(policy.project(), &changes)?)
}

/// Locks the ensemble whose manifest is to be changed, so that no job writes it at the same time.
pub(super) fn lock_manifest(path: &Path) -> Result<Option<Lock>, Failure> {
    if path.file_name().is_none_or(|name| name != MANIFEST) {
        return Ok(None);
    }
    let acquired = Lock::acquire(path, "unfurl secret").map_err(|error| {
        let hint = error.hint();
        Failure::new(FailureKind::Locked, error, hint)
    })?;
    Ok(Some(acquired.lock))
}
