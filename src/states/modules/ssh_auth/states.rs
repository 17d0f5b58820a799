//! The states `ssh_auth.present`, `ssh_auth.absent` and `ssh_auth.manage`.
//!
//! Each state edits the text of the user's `authorized_keys` file and writes it as a whole.

use super::authorized_keys::{AuthorizedKeysFile, commit_keys, missing_user_outcome};
use super::keys::{
    AuthorizedKey, KeyStatus, full_kind, key_status, split_options, with_key, without_key,
};
use crate::states::modules::decision::{done, failure, single_change, unchanged};
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::value::Map;

pub(in crate::states::modules) static MODULE: StateModule = StateModule {
    name: "ssh_auth",
    functions: &[
        StateFunction::new("present", present)
            .about("Allows keys to log in as a user.")
            .accepts_more()
            .requires("user")
            .options(OPTIONS)
            .reversed_by("absent"),
        StateFunction::new("absent", absent)
            .about("Removes keys of a user.")
            .requires("user")
            .options(OPTIONS)
            .reversed_by("present"),
        StateFunction::new("manage", manage)
            .about("Makes these the only keys that may log in as a user.")
            .accepts_more()
            .requires("ssh_keys user")
            .options(OPTIONS)
            .irreversible("the previous keys are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "enc comment source options config fingerprint_hash_type";

/// Decides `ssh_auth.present`: adds or updates keys.
pub(super) fn present(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let keys = match desired_keys(call)? {
        Ok(keys) => keys,
        Err(why) => return failure(why),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let Some(key_file) = AuthorizedKeysFile::from_call(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Key {title} for user {name} is set to be added");
            return done(StateOutcome::planned(comment));
        }
        return done(missing_user_outcome());
    };
    let mut text = key_file.text().to_owned();
    let mut worst = KeyStatus::Same;
    let mut notes = Vec::new();
    for key in &keys {
        let status = key_status(&text, key);
        match (status, worst) {
            (KeyStatus::Same, _) => continue,
            (KeyStatus::Differs, _) => worst = KeyStatus::Differs,
            (KeyStatus::Missing, KeyStatus::Same) => worst = KeyStatus::Missing,
            (KeyStatus::Missing, _) => {}
        }
        let word = if status == KeyStatus::Differs {
            "update"
        } else {
            "add"
        };
        notes.push(format!("Set to {word}: {}\n", key.text));
        text = with_key(&text, key);
    }
    let (would, was, word) = match worst {
        KeyStatus::Same => {
            return unchanged(format!(
                "The authorized host key {title} is already present for user {name}"
            ));
        }
        KeyStatus::Differs => ("updated", "updated", "Updated"),
        KeyStatus::Missing => ("added", "added", "New"),
    };
    let would = if keys.len() > 1 {
        notes.concat()
    } else {
        format!("Key {title} for user {name} is set to be {would}")
    };
    let was = format!("The authorized host key {title} for user {name} was {was}");
    let predicted = StateOutcome::planned(would);
    let outcome = StateOutcome::changed(single_change(&title, word), was);
    commit_keys(&key_file, text, facts, predicted, outcome)
}

/// Decides `ssh_auth.absent`: removes keys from the user's file.
pub(super) fn absent(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let is_file = call.non_empty_text("source")?.is_some();
    let keys = match desired_keys(call)? {
        Ok(keys) => keys,
        // A real run of Salt accepts a file that does not exist: it has no key to remove.
        Err(_) if is_file && call.mode == Mode::Apply => return unchanged(""),
        Err(why) if is_file => return failure(why),
        // A text that is no valid key cannot be in the file, so nothing is to be removed.
        Err(_) => Vec::new(),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let unchanged_comment = match call.mode {
        Mode::Test => "Key is already absent",
        Mode::Apply => "Key not present",
    };
    let Some(key_file) = AuthorizedKeysFile::from_call(call, facts)? else {
        return unchanged(unchanged_comment);
    };
    let text = keys
        .iter()
        .filter(|key| key_status(key_file.text(), key) != KeyStatus::Missing)
        .fold(key_file.text().to_owned(), |text, key| {
            without_key(&text, &key.text)
        });
    if text == key_file.text() {
        return unchanged(unchanged_comment);
    }
    let would = format!("Key {title} for user {name} is set for removal");
    let predicted = StateOutcome::planned(would);
    let outcome = StateOutcome::changed(single_change(&title, "Removed"), "Key removed");
    commit_keys(&key_file, text, facts, predicted, outcome)
}

/// Decides `ssh_auth.manage`: the user has exactly these keys.
pub(super) fn manage(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let names = call.texts("ssh_keys")?;
    let name = call.required("user")?;
    let mut desired = Vec::new();
    for text in &names {
        match parse_key(call, text)? {
            Some(key) => desired.push(key),
            None => return failure(INVALID_KEY),
        }
    }
    let Some(key_file) = AuthorizedKeysFile::from_call(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Keys for user {name} are set to be added");
            return done(StateOutcome::planned(comment));
        }
        return done(missing_user_outcome());
    };
    let mut text = key_file.text().to_owned();
    let mut changes = Map::new();
    let (mut same, mut would) = (Vec::new(), Vec::new());
    let lines = key_file
        .text()
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for old in lines.filter_map(AuthorizedKey::parse) {
        if desired.iter().all(|key| key.text != old.text) {
            text = without_key(&text, &old.text);
            would.push(format!("{} Key set for removal", old.text));
            changes.extend(single_change(&old.text, "Key removed"));
        }
    }
    for key in &desired {
        let (word, verb) = match key_status(&text, key) {
            KeyStatus::Same => {
                same.push(format!(
                    "The authorized host key {} is already present for user {name}",
                    key.text
                ));
                continue;
            }
            KeyStatus::Differs => ("Updated", "updated"),
            KeyStatus::Missing => ("New", "added"),
        };
        would.push(format!(
            "Key {} for user {name} is set to be {verb}",
            key.text
        ));
        changes.extend(single_change(&key.text, word));
        text = with_key(&text, key);
    }
    if changes.is_empty() {
        return unchanged(same.join("\n"));
    }
    let predicted = StateOutcome::planned(would.join("\n"));
    let outcome = StateOutcome::changed(changes, same.join("\n"));
    commit_keys(&key_file, text, facts, predicted, outcome)
}

/// The comment about an invalid key, in Salt's words.
pub(super) const INVALID_KEY: &str =
    "Invalid public ssh key, most likely has spaces or invalid syntax";

/// Parses the key that a state names: a whole line, or a key with the arguments `enc`, `comment` and
/// `options`.
///
/// None means that the key is invalid.
pub(super) fn parse_key(call: &StateCall<'_>, name: &str) -> Result<Option<AuthorizedKey>, Halt> {
    let options = call.texts("options")?;
    if let Some(mut key) = AuthorizedKey::parse(name) {
        if key.options.is_empty() {
            key.options = options;
        }
        if key.comment.is_empty() {
            key.comment = call.text("comment")?.unwrap_or_default();
        }
        return Ok(key.is_valid().then_some(key));
    }
    let (text, comment) = name.split_once(char::is_whitespace).unwrap_or((name, ""));
    let kind = call.text_or("enc", "ssh-rsa")?;
    let Some(kind) = full_kind(&kind) else {
        return refuse(format!("Incorrect encryption key type '{kind}'."));
    };
    let comment = comment.trim();
    let key = AuthorizedKey {
        kind,
        text: text.to_owned(),
        comment: if comment.is_empty() {
            call.text("comment")?.unwrap_or_default()
        } else {
            comment.to_owned()
        },
        options: options.iter().flat_map(|it| split_options(it)).collect(),
    };
    let is_one_line =
        !key.comment.contains('\n') && !key.options.iter().any(|it| it.contains('\n'));
    Ok((key.is_valid() && is_one_line).then_some(key))
}

/// Reads the keys of a file of the state tree. The inner error is the comment of the failed state.
fn source_keys(
    call: &StateCall<'_>,
    source: &str,
) -> Result<Result<Vec<AuthorizedKey>, String>, Halt> {
    let missing = format!("Failed to add the ssh key. Source file {source} is missing");
    let Some(path) = source.strip_prefix("salt://") else {
        return Ok(Err(missing));
    };
    let Some(bytes) = call.context.roots.read(path)? else {
        return Ok(Err(missing));
    };
    let options = call.texts("options")?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut keys: Vec<AuthorizedKey> = lines
        .filter_map(AuthorizedKey::parse)
        .filter(AuthorizedKey::is_valid)
        .collect();
    if keys.is_empty() {
        return Ok(Err(format!(
            "No keys detected in {source}. Is file properly formatted?"
        )));
    }
    for key in keys.iter_mut().filter(|_| !options.is_empty()) {
        key.options.clone_from(&options);
    }
    Ok(Ok(keys))
}

/// Returns the keys that a state names. The inner error is the comment of the failed state.
pub(super) fn desired_keys(
    call: &StateCall<'_>,
) -> Result<Result<Vec<AuthorizedKey>, String>, Halt> {
    match call.non_empty_text("source")? {
        Some(source) => source_keys(call, &source),
        None => Ok(parse_key(call, call.name)?
            .map(|key| vec![key])
            .ok_or_else(|| INVALID_KEY.to_owned())),
    }
}

/// Returns the name of the keys in results: the key text, or the state's name if they come from a file.
pub(super) fn title(call: &StateCall<'_>, keys: &[AuthorizedKey]) -> Result<String, Halt> {
    let is_file = call.non_empty_text("source")?.is_some();
    Ok(match keys {
        [only] if !is_file => only.text.clone(),
        _ => call.name.to_owned(),
    })
}
