//! Keys are let in.

use super::keys::{Standing, standing, with};
use super::place::{Place, commit, no_user};
use super::wanted::{title, wanted};
use crate::converge::module::command::{done, failure, one, unchanged};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict};

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
