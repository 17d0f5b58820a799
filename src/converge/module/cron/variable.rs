//! Variables are put into crontabs and removed from them.

use super::crontab::{commit, crontab, user};
use super::table::Table;
use crate::converge::module::command::unchanged;
use crate::converge::{Call, Facts, Halt, Mode, Verdict, refuse};

/// Sets a variable of a crontab.
pub(super) fn env_present(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name;
    let value = call.text("value")?.unwrap_or_default();
    if name.contains(['=', ' ', '\n']) || value.contains('\n') {
        return refuse(format!("`{name}` is no variable of a crontab"));
    }
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let place = table.variables.iter().position(|(it, _)| it == name);
    let (would, was) = match place {
        Some(place) => {
            let old = &table.variables[place].1;
            if *old == value || (value.is_empty() && old == "\"\"") {
                return unchanged(format!("Cron env {name} already present"));
            }
            table.variables.remove(place);
            ("updated", format!("Cron env {name} updated"))
        }
        None => (
            "added",
            format!("Cron env {name} added to {user}'s crontab"),
        ),
    };
    table.variables.push((name.to_owned(), value));
    let would = format!("Cron env {name} is set to be {would}");
    commit(&user, name, &table, would, was)
}

/// Removes a variable from a crontab.
pub(super) fn env_absent(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let name = call.name.trim();
    let mut table = Table::read(&crontab(call, facts, &user)?);
    let Some(place) = table.variables.iter().rposition(|(it, _)| it == name) else {
        let word = match call.mode {
            Mode::Test => "is",
            Mode::Apply => "already",
        };
        return unchanged(format!("Cron env {name} {word} absent"));
    };
    table.variables.remove(place);
    let would = format!("Cron env {name} is set to be removed");
    let was = format!("Cron env {name} removed from {user}'s crontab");
    commit(&user, name, &table, would, was)
}
