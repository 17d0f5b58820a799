//! Calls of git for a repository, with the settings that may have an effect there.

use super::Error;
use super::command::GitCommand;
use super::isolation::Isolation;
use super::local_settings::{SettingEffect, effect_of};
use super::repository::Repository;
use crate::text::without_logins;

impl Repository {
    /// Creates a call of git that the repository's settings cannot make run other programs, unless the user trusts
    /// the repository. Callers put values from outside behind `--` or another argument, so that git does not take
    /// them for options.
    pub(super) fn git<W: Into<String>>(
        &self,
        words: impl IntoIterator<Item = W>,
    ) -> Result<GitCommand, Error> {
        let variables = &self.isolation()?.variables;
        Ok(GitCommand::new(self.root(), words).variables(variables))
    }

    /// Returns the settings and the variables for calls of git. They are read once.
    pub(super) fn isolation(&self) -> Result<&Isolation, Error> {
        if let Some(known) = self.isolation.get() {
            return Ok(known);
        }
        let read = Isolation::of(&self.inner, self.root(), self.is_trusted)?;
        Ok(self.isolation.get_or_init(|| read))
    }

    /// Returns the names of the repository's settings and hooks that have no effect, because the user does not
    /// trust the repository. The names are safe to show.
    pub fn ignored_settings(&self) -> Vec<String> {
        if self.is_trusted || !self.may_ignore_settings() {
            return Vec::new();
        }
        let Ok(isolation) = self.isolation() else {
            return Vec::new();
        };
        let shown = |key: &str| without_logins(key).escape_debug().to_string();
        let mut names = Vec::new();
        for setting in isolation.settings.ignored() {
            let name = shown(&setting.key);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether the repository may have settings to ignore. Cheap: starts no program.
    fn may_ignore_settings(&self) -> bool {
        use git2::ConfigLevel::{Local, Worktree};
        let Ok(config) = self.inner.config() else {
            return true;
        };
        let Ok(mut entries) = config.entries(None) else {
            return true;
        };
        while let Some(entry) = entries.next() {
            let Ok(entry) = entry else { return true };
            if !matches!(entry.level(), Local | Worktree) {
                continue;
            }
            let Ok(key) = entry.name() else { return true };
            let value = if entry.has_value() {
                entry.value().unwrap_or_default()
            } else {
                "true"
            };
            let is_indirect = key.starts_with("include") || key == "extensions.worktreeconfig";
            let effect = effect_of(key, value);
            if is_indirect || effect != SettingEffect::Harmless {
                return true;
            }
        }
        false
    }
}
