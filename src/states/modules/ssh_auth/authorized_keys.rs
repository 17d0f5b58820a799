//! The `authorized_keys` file of a user: its path, content and changes.
//!
//! The states read the file here, edit its text with `keys`, and write it back.

use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::Fact;
use crate::states::modules::accounts::{User, check_name, find_user};
use crate::states::modules::decision::{act_or_fail, require_facts};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, StateCall, StateDecision, StateOutcome};

/// The `authorized_keys` file of a user.
pub(super) struct AuthorizedKeysFile {
    pub(super) user: User,
    pub(super) path: String,
    /// The content of the file; None if the file does not exist.
    pub(super) text: Option<String>,
}

impl AuthorizedKeysFile {
    /// Locates and reads the file of the state's user; None if no such user exists.
    pub(super) fn from_call(call: &StateCall<'_>, facts: &FactCache) -> Result<Option<Self>, Halt> {
        let name = call.required("user")?;
        check_name(&name)?;
        let Some(user) = find_user(facts, &name)? else {
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

    /// Returns the content of the file; empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn attributes(&self, mode: u32) -> ModeAndOwner {
        ModeAndOwner {
            mode: Some(mode),
            user: Some(self.user.uid.to_string()),
            group: Some(self.user.gid.to_string()),
        }
    }

    /// Returns the changes that write the file, and create its folder if it does not exist.
    fn write_steps(&self, text: String, facts: &FactCache) -> Result<Vec<Change>, Halt> {
        let folder = file_change::parent(&self.path);
        require_facts(
            facts,
            [Fact::Target(folder.into()), Fact::Target(self.path.clone())],
        )?;
        let mut steps = Vec::new();
        if facts.target(folder)?.is_none() {
            steps.push(file_change::folders(folder, self.attributes(0o700)));
        }
        let like = if facts.target(&self.path)?.is_some() {
            ModeAndOwner::default()
        } else {
            self.attributes(0o600)
        };
        steps.push(file_change::write(&self.path, text, like));
        Ok(steps)
    }
}

/// Returns the outcome of a state whose user does not exist.
pub(super) fn missing_user_outcome() -> StateOutcome {
    StateOutcome::failed(
        "Failed to add the ssh key. Is the home directory available, and/or does the key file exist?",
    )
}

/// Decides to write the file with a new content.
pub(super) fn commit_keys(
    key_file: &AuthorizedKeysFile,
    text: String,
    facts: &FactCache,
    predicted: StateOutcome,
    outcome: StateOutcome,
) -> Result<StateDecision, Halt> {
    let steps = key_file.write_steps(text, facts)?;
    act_or_fail(predicted, steps, outcome, "Could not write to key file: ")
}
