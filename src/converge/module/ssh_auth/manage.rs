//! A user has certain keys and no others.

use super::keys::{Key, Standing, standing, with, without};
use super::place::{Place, commit, no_user};
use super::wanted::{INVALID, key};
use crate::converge::module::command::{done, failure, one, unchanged};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};
use crate::value::Map;

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
