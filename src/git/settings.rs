//! The settings of a repository as git itself reads them, with the place that each comes from.

use super::Error;
use super::command::{GitCommand, error_text};
use super::local_settings::{SettingEffect, effect_of};
use super::own_driver::{OWN_DRIVER_KEY, own_command};
use crate::system::process;

/// The maximum size of a list of settings, in bytes.
const MAX_LIST_BYTES: usize = 8 << 20;

/// A setting with its place.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The name in git's normal form.
    pub(super) key: String,
    pub(super) value: String,
    /// Whether it comes from the repository (`local` or `worktree`), and not from the user or the system.
    pub(super) is_local: bool,
}

impl Setting {
    /// Returns the effect of the setting while the repository is not trusted.
    pub(super) fn effect(&self) -> SettingEffect {
        let is_own_driver =
            self.key == OWN_DRIVER_KEY && own_command().as_deref() == Some(&self.value);
        if !self.is_local || is_own_driver {
            return SettingEffect::Harmless;
        }
        effect_of(&self.key, &self.value)
    }
}

/// All settings in the order in which git reads them: later ones override earlier ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings(Vec<Setting>);

impl Settings {
    /// Reads the settings of a repository, with those of the user and of included files.
    pub(super) fn read(repository: &git2::Repository) -> Result<Self, Error> {
        let git_folder = repository.path();
        let folder = repository.workdir().unwrap_or(git_folder);
        let mut words = vec!["config", "--list", "-z", "--show-scope", "--includes"];
        let place = format!("--git-dir={}", git_folder.display());
        if repository.is_bare() {
            words.insert(0, &place);
        }
        let output = match GitCommand::new(folder, words).run() {
            Err(Error::NotRun {
                source: process::Error::NotFound { .. },
                ..
            }) => return Ok(Self::without_git(repository)),
            output => output?,
        };
        let refused = |message: &str| Error::refused("read its settings", folder, message);
        if !output.is_ok() {
            return Err(refused(&error_text(&output)));
        }
        if output.stdout.len() >= MAX_LIST_BYTES {
            return Err(refused("they are larger than 8 MiB"));
        }
        let mut fields = output.stdout.split(|byte| *byte == 0);
        let mut settings = Vec::new();
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            // A name without a value means true.
            let line_end = entry.iter().position(|byte| *byte == b'\n');
            let (key, value) = line_end.map_or((entry, &b"true"[..]), |line_end| {
                (&entry[..line_end], &entry[line_end + 1..])
            });
            // A setting whose name cannot be written again could not be overridden.
            let key = String::from_utf8(key.to_vec());
            settings.push(Setting {
                key: key.map_err(|_| refused("the name of a setting is not valid UTF-8"))?,
                value: String::from_utf8_lossy(value).into_owned(),
                is_local: !matches!(scope, b"system" | b"global" | b"command"),
            });
        }
        Ok(Self(settings))
    }

    /// Reads the settings with libgit2, which knows fewer places.
    fn without_git(repository: &git2::Repository) -> Self {
        use git2::ConfigLevel::{Global, ProgramData, System, XDG};
        let mut settings = Vec::new();
        let config = repository.config();
        let entries = config.as_ref().ok().and_then(|it| it.entries(None).ok());
        let Some(mut entries) = entries else {
            return Self(settings);
        };
        while let Some(Ok(entry)) = entries.next() {
            let value = if entry.has_value() {
                String::from_utf8_lossy(entry.value_bytes()).into_owned()
            } else {
                "true".to_owned()
            };
            settings.push(Setting {
                key: String::from_utf8_lossy(entry.name_bytes()).into_owned(),
                value,
                is_local: !matches!(entry.level(), Global | ProgramData | System | XDG),
            });
        }
        Self(settings)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Setting> {
        self.0.iter()
    }

    /// Returns the value that applies in the repository.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        let mut settings = self.0.iter().rev();
        let found = settings.find(|setting| setting.key == key);
        found.map(|setting| &*setting.value)
    }

    /// Returns the value that the user or the system has set.
    pub(super) fn user_value(&self, key: &str) -> Option<&str> {
        let mut settings = self.0.iter().rev();
        let found = settings.find(|setting| setting.key == key && !setting.is_local);
        found.map(|setting| &*setting.value)
    }

    /// Returns the setting that applies, if it comes from the repository.
    pub(super) fn local(&self, key: &str) -> Option<&Setting> {
        let mut settings = self.0.iter().rev();
        let found = settings.find(|setting| setting.key == key);
        found.filter(|setting| setting.is_local)
    }

    /// Returns the settings of the repository that have no effect while it is not trusted.
    pub(super) fn ignored(&self) -> impl Iterator<Item = &Setting> {
        let ignored = |setting: &&Setting| setting.effect() != SettingEffect::Harmless;
        self.0.iter().filter(ignored)
    }
}

/// Whether a boolean value is true; an invalid one is not.
pub(super) fn is_true(value: Option<&str>) -> bool {
    value.is_some_and(|value| git2::Config::parse_bool(value).unwrap_or(false))
}
