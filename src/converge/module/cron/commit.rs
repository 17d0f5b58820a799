//! A changed table becomes the crontab of a user.

use super::crontab::install;
use super::table::Table;
use crate::converge::module::command::{act_or_fail, one};
use crate::converge::{Halt, Outcome, Verdict};
use crate::value::Map;

/// Installs a table; `would` and `was` are the comments.
pub(super) fn commit(
    user: &str,
    name: &str,
    table: &Table,
    (would, was): (String, String),
) -> Result<Verdict, Halt> {
    let steps = vec![install(user, &table.write())];
    let predicted = Outcome::would(Map::new(), would);
    let changes = one(user, name);
    let failed = format!("Cron {name} for user {user} failed to commit with error");
    let outcome = Outcome::changed(changes, was);
    act_or_fail(predicted, steps, outcome, format!("{failed} \n"))
}
