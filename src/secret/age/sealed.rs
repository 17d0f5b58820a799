//! A value of a YAML file that is encrypted with age, and bound to its place and its readers.
//!
//! The text has readable lines about the value, and the armor of age. The encrypted part repeats the project, the
//! path of the value and its readers, so that a copy at another place and a changed line are refused. The digest
//! lets programs without a key find damage.

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::cipher::{ARMOR_BEGIN, encrypt_age};
use super::error::AgeError;
use super::identity::{Identities, decrypt_age};
use super::policy::ReaderPolicy;
use crate::value::{Value, hex};

/// The tag of an encrypted value.
pub const AGE_TAG: &str = "!age";
/// The format of the encrypted part.
const FORMAT: i64 = 1;
/// The names of the lines before the armor, in order.
const LINES: [&str; 5] = ["project", "name", "readers", "recipients", "digest"];
/// The label of the digest.
const DIGEST_LABEL: &[u8] = b"unfurl age value\0";

/// The place of a value: the id of its project, and its path in the file.
#[derive(Debug, Clone, Copy)]
pub struct ValuePlace<'a> {
    pub project: &'a str,
    /// The keys, joined by `.`; indices of lists are numbers.
    pub path: &'a str,
}

/// An encrypted value with the lines about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    pub project: String,
    /// The path of the value, with control characters escaped.
    pub name: String,
    /// The names of the readers.
    pub readers: String,
    /// The digest of the readers and their keys.
    recipients: String,
    digest: String,
    armor: String,
}

impl SealedValue {
    /// Encrypts a value for the readers of a policy.
    pub fn seal(
        value: &Value,
        path: &str,
        policy: &ReaderPolicy,
        identities: &Identities,
    ) -> Result<Self, AgeError> {
        let keys = policy.recipients(identities)?;
        let readers: serde_json::Map<String, serde_json::Value> = policy
            .readers
            .iter()
            .map(|(name, key)| (name.clone(), key.text().into()))
            .collect();
        let payload = serde_json::json!({
            "format": FORMAT,
            "project": policy.id,
            "name": path,
            "readers": readers,
            "value": plain_json(value),
        });
        let payload = Zeroizing::new(payload.to_string());
        let armor = encrypt_age(payload.as_bytes(), &keys)?;
        let mut sealed = Self {
            project: policy.id.clone(),
            name: one_line(path),
            readers: policy.reader_names(),
            recipients: policy.recipients_digest(),
            digest: String::new(),
            armor,
        };
        sealed.digest = sealed.computed_digest();
        Ok(sealed)
    }

    /// Reads the text of a value and checks its form and its digest. No key is needed.
    pub fn parse(text: &str) -> Result<Self, AgeError> {
        let damaged = |reason: String| AgeError::Damaged { reason };
        let Some(start) = text.find(ARMOR_BEGIN) else {
            return Err(damaged(
                "the armor of age (`-----BEGIN AGE ENCRYPTED FILE-----`) is missing".to_owned(),
            ));
        };
        let (header, armor) = text.split_at(start);
        let mut lines = header.lines();
        let mut read = |name: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(name));
            let value = line.and_then(|line| line.strip_prefix(": "));
            value
                .map(str::to_owned)
                .ok_or_else(|| damaged(format!("the line `{name}: …` is missing")))
        };
        let [project, name, readers, recipients, digest] = {
            let mut values = LINES.map(|_| String::new());
            for (place, line) in LINES.iter().enumerate() {
                values[place] = read(line)?;
            }
            values
        };
        if let Some(line) = lines.next() {
            let line = line.escape_debug();
            return Err(damaged(format!("the line `{line}` does not belong to it")));
        }
        let sealed = Self {
            project,
            name,
            readers,
            recipients,
            digest,
            armor: armor.to_owned(),
        };
        if sealed.digest != sealed.computed_digest() {
            return Err(damaged("its digest is another one".to_owned()));
        }
        Ok(sealed)
    }

    /// Returns the text of the value.
    pub fn text(&self) -> String {
        let values = [
            &self.project,
            &self.name,
            &self.readers,
            &self.recipients,
            &self.digest,
        ];
        let mut text = String::new();
        for (line, value) in LINES.iter().zip(values) {
            text += &format!("{line}: {value}\n");
        }
        text + &self.armor
    }

    /// Decrypts the value, and checks that it belongs to the place.
    pub fn open(&self, place: ValuePlace<'_>, identities: &Identities) -> Result<Value, AgeError> {
        self.check_place(place)?;
        let plain = decrypt_age(self.armor.as_bytes(), identities, &self.name);
        let plain = plain.map_err(|error| match error {
            AgeError::NotAReader { count, .. } => AgeError::NotAReader {
                count,
                readers: self.readers.clone(),
            },
            other => other,
        })?;
        let payload: Option<serde_json::Value> = serde_json::from_slice(&plain).ok();
        let Some(mut payload) = payload else {
            let reason = "the decrypted text is not that of a value".to_owned();
            return Err(AgeError::Damaged { reason });
        };
        self.check_payload(&payload, place)?;
        Ok(Value::from(payload["value"].take()))
    }

    /// Checks that the lines name the place. No key is needed.
    pub fn check_place(&self, place: ValuePlace<'_>) -> Result<(), AgeError> {
        let reason = if self.project != place.project {
            format!(
                "the value belongs to the project {}, and this is the project {}",
                self.project.escape_debug(),
                place.project.escape_debug()
            )
        } else if self.name != one_line(place.path) {
            format!(
                "the value was encrypted as `{}`, and stands at `{}`",
                self.name.escape_debug(),
                one_line(place.path)
            )
        } else {
            return Ok(());
        };
        Err(AgeError::Misplaced { reason })
    }

    /// Checks that the lines name the readers of a policy. No key is needed.
    pub fn check_readers(&self, policy: &ReaderPolicy) -> Result<(), AgeError> {
        if self.is_for(policy) {
            return Ok(());
        }
        let reason = if self.readers == policy.reader_names() {
            "the value is encrypted to other keys of its readers".to_owned()
        } else {
            let now = policy.reader_names();
            format!(
                "the value is encrypted to {}, and the policy names {now}",
                self.readers
            )
        };
        Err(AgeError::Misplaced { reason })
    }

    /// Returns true if the readers are those of a policy, so that nothing needs to be encrypted again.
    pub fn is_for(&self, policy: &ReaderPolicy) -> bool {
        self.recipients == policy.recipients_digest() && self.readers == policy.reader_names()
    }

    fn check_payload(
        &self,
        payload: &serde_json::Value,
        place: ValuePlace<'_>,
    ) -> Result<(), AgeError> {
        let misplaced = |what: &str| AgeError::Misplaced {
            reason: format!("{what} differs from the one that was encrypted"),
        };
        if payload["format"].as_i64() != Some(FORMAT) {
            let reason = "the encrypted part has an unknown format".to_owned();
            return Err(AgeError::Damaged { reason });
        }
        if payload["project"].as_str() != Some(place.project) {
            return Err(misplaced("the project of the value"));
        }
        if payload["name"].as_str() != Some(place.path) {
            return Err(misplaced("the path of the value"));
        }
        let readers = payload["readers"].as_object();
        let readers = readers.ok_or_else(|| misplaced("the list of readers"))?;
        let names: Vec<&str> = readers.keys().map(String::as_str).collect();
        if names.join(", ") != self.readers || digest_of(readers) != self.recipients {
            return Err(misplaced("the list of readers"));
        }
        if payload.get("value").is_none() {
            let reason = "the encrypted part holds no value".to_owned();
            return Err(AgeError::Damaged { reason });
        }
        Ok(())
    }

    /// Returns the digest that belongs to a text with another one.
    #[cfg(test)]
    pub(super) fn digest_of_text(text: &str) -> String {
        let line = |name: &str| {
            let start = text.find(&format!("{name}: ")).unwrap() + name.len() + 2;
            text[start..].lines().next().unwrap().to_owned()
        };
        let sealed = Self {
            project: line("project"),
            name: line("name"),
            readers: line("readers"),
            recipients: line("recipients"),
            digest: String::new(),
            armor: text[text.find(ARMOR_BEGIN).unwrap()..].to_owned(),
        };
        sealed.computed_digest()
    }

    fn computed_digest(&self) -> String {
        let mut hash = Sha256::new().chain_update(DIGEST_LABEL);
        for part in [
            &self.project,
            &self.name,
            &self.readers,
            &self.recipients,
            &self.armor,
        ] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        hex(&hash.finalize())
    }
}

/// Returns the digest of readers and keys as [`ReaderPolicy::recipients_digest`] does.
fn digest_of(readers: &serde_json::Map<String, serde_json::Value>) -> String {
    let mut pairs: Vec<(&str, &str)> = readers
        .iter()
        .map(|(name, key)| (&**name, key.as_str().unwrap_or_default()))
        .collect();
    pairs.sort_unstable();
    let mut hash = Sha256::new();
    for (name, key) in pairs {
        hash.update(format!("{name}\0{key}\n"));
    }
    hex(&hash.finalize()[..8])
}

fn one_line(path: &str) -> String {
    let escape = |c: char| match c {
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    path.chars().map(escape).collect()
}

/// Returns the JSON of a value with its marks removed.
pub fn plain_json(value: &Value) -> serde_json::Value {
    match value.reveal() {
        Value::List(items) => items.iter().map(plain_json).collect(),
        Value::Map(map) => {
            let entries = map
                .iter()
                .map(|(key, item)| (key.to_string(), plain_json(item)));
            serde_json::Value::Object(entries.collect())
        }
        Value::External(external) => plain_json(&external.value),
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}
