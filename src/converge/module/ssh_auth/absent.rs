//! Keys are let in no more.

use super::keys::{Standing, standing, without};
use super::place::{Place, commit};
use super::wanted::{title, wanted};
use crate::converge::module::command::{failure, one, unchanged};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};

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
