//! The crontab of a user: how one is read and installed.

use super::table::Table;
use crate::converge::module::accounts::{self, check_name};
use crate::converge::module::command::{act_or_fail, answer, asked, one};
use crate::converge::{Call, Facts, Halt, Mode, Outcome, Verdict, refuse};
use crate::host::change::{Change, Run};
use crate::host::fact::Domain;
use crate::text::quoted;

/// The user whose crontab a state is about.
pub(super) fn user(call: &Call<'_>) -> Result<String, Halt> {
    let user = call.text_or("user", "root")?;
    check_name(&user)?;
    Ok(user)
}

/// Where crontabs are.
fn spool() -> Domain {
    Domain::Path("/var/spool/cron".to_owned())
}

/// The crontab of a user; nothing if there is none.
pub(super) fn crontab(call: &Call<'_>, facts: &Facts, user: &str) -> Result<String, Halt> {
    if user != "root" && accounts::user(facts, user)?.is_none() {
        // A state before this one may make the user.
        return match call.mode {
            Mode::Test => Ok(String::new()),
            Mode::Apply => refuse(format!("there is no user {user}")),
        };
    }
    let user = quoted(user);
    let text = format!(
        "command -v crontab >/dev/null || exit 127; \
         if [ \"$(id -un)\" = {user} ]; then crontab -l; else crontab -u {user} -l; fi"
    );
    let probed = asked(facts, text, spool())?;
    if probed.code == 127 {
        return refuse("crontabs cannot be managed: this machine has no `crontab`");
    }
    Ok(answer(probed).into_owned())
}

/// Installs a crontab. It goes through a pipe and is checked before it counts.
pub(super) fn install(user: &str, text: &str) -> Change {
    let user = quoted(user);
    let command =
        format!("if [ \"$(id -un)\" = {user} ]; then crontab -; else crontab -u {user} -; fi");
    let mut run = Run::new(command).touching([spool()]);
    run.shown = Some(format!("crontab -u {user} -"));
    run.stdin = Some(text.as_bytes().to_vec());
    Change::Run(run)
}

/// Installs a table; `would` and `was` are the comments.
pub(super) fn commit(
    user: &str,
    name: &str,
    table: &Table,
    would: String,
    was: String,
) -> Result<Verdict, Halt> {
    let steps = vec![install(user, &table.write())];
    let predicted = Outcome::planned(would);
    let changes = one(user, name);
    let failed = format!("Cron {name} for user {user} failed to commit with error");
    let outcome = Outcome::changed(changes, was);
    act_or_fail(predicted, steps, outcome, format!("{failed} \n"))
}
