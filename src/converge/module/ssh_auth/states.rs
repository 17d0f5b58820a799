//! The states of the module `ssh_auth`: keys that may log in as a user.

use super::keys::{Key, Standing, full_kind, split_options, standing, with, without};
use super::place::{Place, commit, no_user};
use crate::converge::module::command::{done, failure, one, unchanged};
use crate::converge::{Call, Facts, Function, Halt, Mode, Module, Outcome, Verdict, refuse};
use crate::value::Map;

/// The module.
pub(in crate::converge::module) static MODULE: Module = Module {
    name: "ssh_auth",
    functions: &[
        Function::new("present", present)
            .requires("user")
            .options(OPTIONS)
            .reversed_by("absent"),
        Function::new("absent", absent)
            .requires("user")
            .options(OPTIONS)
            .reversed_by("present"),
        Function::new("manage", manage)
            .requires("ssh_keys user")
            .options(OPTIONS)
            .irreversible("the keys that were there before are not known any more"),
    ],
    watch: None,
    aggregate: None,
};

const OPTIONS: &str = "enc comment source options config fingerprint_hash_type";

/// Lets keys in.
pub(super) fn present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let keys = match wanted(call)? {
        Ok(keys) => keys,
        Err(why) => return failure(why),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let Some(place) = Place::of(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Key {title} for user {name} is set to be added");
            return done(Outcome::planned(comment));
        }
        return done(no_user());
    };
    let mut text = place.text().to_owned();
    let mut worst = Standing::Same;
    let mut notes = Vec::new();
    for key in &keys {
        let standing = standing(&text, key);
        match (standing, worst) {
            (Standing::Same, _) => continue,
            (Standing::Differs, _) => worst = Standing::Differs,
            (Standing::Missing, Standing::Same) => worst = Standing::Missing,
            (Standing::Missing, _) => {}
        }
        let word = if standing == Standing::Differs {
            "update"
        } else {
            "add"
        };
        notes.push(format!("Set to {word}: {}\n", key.text));
        text = with(&text, key);
    }
    let (would, was, word) = match worst {
        Standing::Same => {
            return unchanged(format!(
                "The authorized host key {title} is already present for user {name}"
            ));
        }
        Standing::Differs => ("updated", "updated", "Updated"),
        Standing::Missing => ("added", "added", "New"),
    };
    let would = if keys.len() > 1 {
        notes.concat()
    } else {
        format!("Key {title} for user {name} is set to be {would}")
    };
    let was = format!("The authorized host key {title} for user {name} was {was}");
    let predicted = Outcome::planned(would);
    let outcome = Outcome::changed(one(&title, word), was);
    commit(&place, text, facts, predicted, outcome)
}

/// Removes keys.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let is_file = call.filled("source")?.is_some();
    let keys = match wanted(call)? {
        Ok(keys) => keys,
        Err(why) if is_file => return failure(why),
        // What is no key is not there.
        Err(_) => Vec::new(),
    };
    let title = title(call, &keys)?;
    let name = call.required("user")?;
    let nothing = match call.mode {
        Mode::Test => "Key is already absent",
        Mode::Apply => "Key not present",
    };
    let Some(place) = Place::of(call, facts)? else {
        return unchanged(nothing);
    };
    let text = keys
        .iter()
        .filter(|key| standing(place.text(), key) != Standing::Missing)
        .fold(place.text().to_owned(), |text, key| {
            without(&text, &key.text)
        });
    if text == place.text() {
        return unchanged(nothing);
    }
    let would = format!("Key {title} for user {name} is set for removal");
    let predicted = Outcome::planned(would);
    let outcome = Outcome::changed(one(&title, "Removed"), "Key removed");
    commit(&place, text, facts, predicted, outcome)
}

/// Brings a user to have these keys and no others.
pub(super) fn manage(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let names = call.texts("ssh_keys")?;
    let name = call.required("user")?;
    let mut desired = Vec::new();
    for text in &names {
        match key(call, text)? {
            Some(key) => desired.push(key),
            None => return failure(INVALID),
        }
    }
    let Some(place) = Place::of(call, facts)? else {
        if call.mode == Mode::Test {
            let comment = format!("Keys for user {name} are set to be added");
            return done(Outcome::planned(comment));
        }
        return done(no_user());
    };
    let mut text = place.text().to_owned();
    let mut changes = Map::new();
    let (mut same, mut would) = (Vec::new(), Vec::new());
    let lines = place
        .text()
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    for old in lines.filter_map(Key::read) {
        if desired.iter().all(|key| key.text != old.text) {
            text = without(&text, &old.text);
            would.push(format!("{} Key set for removal", old.text));
            changes.extend(one(&old.text, "Key removed"));
        }
    }
    for key in &desired {
        let (word, verb) = match standing(&text, key) {
            Standing::Same => {
                same.push(format!(
                    "The authorized host key {} is already present for user {name}",
                    key.text
                ));
                continue;
            }
            Standing::Differs => ("Updated", "updated"),
            Standing::Missing => ("New", "added"),
        };
        would.push(format!(
            "Key {} for user {name} is set to be {verb}",
            key.text
        ));
        changes.extend(one(&key.text, word));
        text = with(&text, key);
    }
    if changes.is_empty() {
        return unchanged(same.join("\n"));
    }
    let predicted = Outcome::planned(would.join("\n"));
    let outcome = Outcome::changed(changes, same.join("\n"));
    commit(&place, text, facts, predicted, outcome)
}

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
