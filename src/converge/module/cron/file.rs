//! A whole crontab comes from a file of the state tree.

use super::crontab::{crontab, install, user};
use crate::converge::diff;
use crate::converge::module::command::{act_or_fail, failure, one, unchanged};
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};

/// Brings a user's crontab to be that of a file.
pub(super) fn file(call: &Call<'_>, facts: &Facts) -> Result<Verdict, Halt> {
    let user = user(call)?;
    let is = crontab(call, facts, &user)?;
    if !call.flag("replace", true) && !is.trim().is_empty() {
        let comment = format!("User {user} already has a crontab. No changes made");
        return unchanged(comment);
    }
    let wanted = match wanted(call, facts)? {
        Ok(text) => text,
        Err(comment) => return failure(comment),
    };
    if is == wanted {
        let comment = format!("Crontab for user {user} is in the correct state");
        return unchanged(comment);
    }
    let changes = one("diff", difference(&is, &wanted));
    let predicted = Outcome::would(
        changes.clone(),
        format!("Crontab for user {user} is set to be updated"),
    );
    let steps = vec![install(&user, &wanted)];
    let outcome = Outcome::changed(changes, format!("Crontab for user {user} was updated"));
    let complaint = format!("Unable to update user {user} crontab. Error: ");
    act_or_fail(predicted, steps, outcome, complaint)
}

/// The text of the file, rendered if it is a template; or why there is none.
fn wanted(call: &Call<'_>, facts: &Facts) -> Result<Result<String, String>, Halt> {
    let Some(path) = call.name.strip_prefix("salt://") else {
        return Ok(Err(format!(
            "Unable to manage file: `{}` is no file of the state tree: write salt://…",
            call.name
        )));
    };
    let Some(bytes) = call.world.roots.read(path)? else {
        return Ok(Err(format!("Source file {} not found", call.name)));
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = match call.text("template")?.as_deref() {
        None => text,
        Some("jinja") => call.rendered(&text, path, facts)?,
        Some(other) => {
            return Ok(Err(format!(
                "Specified template format {other} is not supported"
            )));
        }
    };
    // A crontab whose last line has no end is refused.
    Ok(Ok(if text.is_empty() || text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }))
}

fn difference(before: &str, after: &str) -> String {
    diff::unified(&diff::lines(before), &diff::lines(after)).concat()
}
