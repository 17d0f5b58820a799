//! The file of a user's keys, and how it is written.

use crate::converge::module::accounts::{User, check_name, user};
use crate::converge::module::command::{act_or_fail, need};
use crate::converge::module::step;
use crate::converge::{Call, Facts, Halt, Outcome, Verdict};
use crate::host::change::{Change, Like};
use crate::host::fact::Fact;

/// Where a user's keys are.
pub(super) struct Place {
    pub(super) user: User,
    pub(super) path: String,
    /// What is in the file; none if there is none.
    pub(super) text: Option<String>,
}

impl Place {
    /// Finds it; none if there is no such user.
    pub(super) fn of(call: &Call<'_>, facts: &Facts) -> Result<Option<Self>, Halt> {
        let name = call.required("user")?;
        check_name(&name)?;
        let Some(user) = user(facts, &name)? else {
            return Ok(None);
        };
        let config = call.text("config")?;
        let config = config.as_deref().unwrap_or(".ssh/authorized_keys");
        let home = user.home.trim_end_matches('/');
        let path = config
            .replace("%h", home)
            .replace("%u", &user.name)
            .replace("%%", "%");
        let path = if path.starts_with('/') {
            path
        } else {
            format!("{home}/{path}")
        };
        let text = facts.content(&path)?;
        let text = text.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Some(Self { user, path, text }))
    }

    /// The text of the file; empty if there is none.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn like(&self, mode: u32) -> Like {
        Like {
            mode: Some(mode),
            user: Some(self.user.uid.to_string()),
            group: Some(self.user.gid.to_string()),
        }
    }

    /// What writes the file, and makes its folder where there is none.
    fn write(&self, text: String, facts: &Facts) -> Result<Vec<Change>, Halt> {
        let folder = self.path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let folder = if folder.is_empty() { "/" } else { folder };
        need(
            facts,
            [Fact::Target(folder.into()), Fact::Target(self.path.clone())],
        )?;
        let mut steps = Vec::new();
        if facts.target(folder)?.is_none() {
            steps.push(step::folders(folder, self.like(0o700)));
        }
        let like = if facts.target(&self.path)?.is_some() {
            Like::default()
        } else {
            self.like(0o600)
        };
        steps.push(step::write(&self.path, text, like));
        Ok(steps)
    }
}

/// The outcome where there is no such user.
pub(super) fn no_user() -> Outcome {
    Outcome::failed(
        "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?",
    )
}

/// Writes the file.
pub(super) fn commit(
    place: &Place,
    text: String,
    facts: &Facts,
    predicted: Outcome,
    outcome: Outcome,
) -> Result<Verdict, Halt> {
    let steps = place.write(text, facts)?;
    act_or_fail(predicted, steps, outcome, "Could not write to key file: ")
}
