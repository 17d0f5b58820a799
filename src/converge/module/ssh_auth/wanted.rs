//! The keys that a state is about.

use super::keys::{Key, full_kind, split_options};
use crate::converge::{Call, Halt, refuse};

/// The complaint about a key that is none.
pub(super) const INVALID: &str = "Invalid public ssh key, most likely has spaces or invalid syntax";

/// The key that a state names: the whole line, or the key with `enc`, `comment` and `options`.
pub(super) fn key(call: &Call<'_>, name: &str) -> Result<Option<Key>, Halt> {
    let options = call.texts("options")?;
    if let Some(mut key) = Key::read(name) {
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
    let key = Key {
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

/// The keys of a file of the state tree; or why there are none.
fn source_keys(call: &Call<'_>, source: &str) -> Result<Result<Vec<Key>, String>, Halt> {
    let missing = format!("Failed to add the ssh key. Source file {source} is missing");
    let Some(path) = source.strip_prefix("salt://") else {
        return Ok(Err(missing));
    };
    let Some(bytes) = call.world.roots.read(path)? else {
        return Ok(Err(missing));
    };
    let options = call.texts("options")?;
    let text = String::from_utf8_lossy(&bytes);
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let mut keys: Vec<Key> = lines.filter_map(Key::read).filter(Key::is_valid).collect();
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

/// The keys that a state is about.
pub(super) fn wanted(call: &Call<'_>) -> Result<Result<Vec<Key>, String>, Halt> {
    match call.filled("source")? {
        Some(source) => source_keys(call, &source),
        None => Ok(key(call, call.name)?
            .map(|key| vec![key])
            .ok_or_else(|| INVALID.to_owned())),
    }
}

/// What a key is called in results: the key itself, or the state's name if they are from a file.
pub(super) fn title(call: &Call<'_>, keys: &[Key]) -> Result<String, Halt> {
    let is_file = call.filled("source")?.is_some();
    Ok(match keys {
        [only] if !is_file => only.text.clone(),
        _ => call.name.to_owned(),
    })
}
