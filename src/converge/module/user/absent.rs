//! A user is removed.

use crate::converge::module::accounts::{Groups, ask, check_name, user};
use crate::converge::module::command::{act, one, run, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::fact::Domain;
use crate::text::quoted;
use crate::value::Map;

/// Removes a user.
pub(super) fn absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    check_name(call.name)?;
    let name = call.name.to_owned();
    ask(facts, &name)?;
    let Some(before) = user(facts, &name)? else {
        return unchanged(format!("User {name} is not present"));
    };
    let groups = Groups::of(facts)?.of_user(&before);
    let predicted = Outcome::planned(format!("User {name} set for removal"));
    let mut text = String::from("userdel");
    let mut touches = vec![Domain::Accounts];
    if call.flag("purge", false) {
        text.push_str(" -r");
        touches.push(Domain::Path(before.home.clone()));
    }
    if call.flag("force", false) {
        text.push_str(" -f");
    }
    let steps = vec![run(format!("{text} {}", quoted(&name)), touches)];
    act(predicted, steps, move |complaint, facts| {
        let after = Groups::of(facts)?;
        let is_left = user(facts, &name)?.is_some();
        if let Some(why) = complaint.filter(|_| is_left) {
            return Ok(Outcome::failed(format!(
                "Failed to remove user {name}\n{why}"
            )));
        }
        let mut changes = Map::new();
        for group in groups.iter().filter(|group| after.named(group).is_none()) {
            changes.extend(one(&format!("{group} group"), "removed"));
        }
        changes.extend(one(&name, "removed"));
        Ok(Outcome::changed(changes, format!("Removed user {name}")))
    })
}
