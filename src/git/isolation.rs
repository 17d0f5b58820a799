//! Keeps settings of a repository that the user does not trust from running programs.
//!
//! Git cannot leave out a file of settings. [`Isolation`] therefore overrides each dangerous setting of the
//! repository with the user's value, or with one that has no effect. It does so through variables, which programs
//! that git starts inherit.

use std::path::{Path, PathBuf};

use super::Error;
use super::local_settings::SettingEffect;
use super::settings::{Settings, is_true};
use crate::system::env::Env;
use crate::text::force_quote_word;

/// The protocols that git may use.
const PROTOCOLS: [&str; 4] = ["file", "http", "https", "ssh"];
/// Protocols whose URLs run programs or name open files.
const NEVER: [&str; 2] = ["ext", "fd"];
/// The variable with the number of settings that variables hold.
const SETTING_COUNT: &str = "GIT_CONFIG_COUNT";

/// The settings of a repository, and the variables with which git ignores the dangerous ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Isolation {
    pub(super) settings: Settings,
    /// Whether the settings of the repository apply.
    is_trusted: bool,
    /// Variables for each call of git.
    pub(super) variables: Vec<(String, String)>,
}

impl Isolation {
    /// Reads the settings of a repository.
    pub(super) fn of(
        repository: &git2::Repository,
        root: &Path,
        is_trusted: bool,
    ) -> Result<Self, Error> {
        let settings = Settings::read(repository)?;
        let env = Env::of_this_process();
        let mut variables = vec![("GIT_ALLOW_PROTOCOL".to_owned(), protocols(&settings, &env))];
        if !is_trusted {
            let overrides = overrides(&settings, &submodules(root));
            let count = env.get(SETTING_COUNT).and_then(|count| count.parse().ok());
            variables.extend(config_variables(&overrides, count.unwrap_or(0)));
            // A fetch of missing objects would start the server's program that the repository names.
            variables.push(("GIT_NO_LAZY_FETCH".to_owned(), "1".to_owned()));
        }
        variables.extend(ssh_command(&settings, is_trusted, &env));
        Ok(Self {
            settings,
            is_trusted,
            variables,
        })
    }

    /// Returns the variables with further settings for a single call.
    pub(super) fn with_settings(&self, settings: &[(String, String)]) -> Vec<(String, String)> {
        let mut variables = self.variables.clone();
        let count = variables
            .iter()
            .rposition(|(name, _)| name == SETTING_COUNT);
        let count = count.map(|place| variables.remove(place).1);
        let own = || Env::of_this_process().get(SETTING_COUNT).map(str::to_owned);
        let count = count.or_else(own).and_then(|count| count.parse().ok());
        variables.extend(config_variables(settings, count.unwrap_or(0)));
        variables
    }

    /// Returns a setting as calls of git see it.
    pub(super) fn value(&self, key: &str) -> Option<&str> {
        match self.settings.local(key) {
            Some(local) if !self.is_trusted && local.effect() != SettingEffect::Harmless => {
                self.settings.user_value(key)
            }
            _ => self.settings.value(key),
        }
    }

    /// Returns the program of a remote's server for fetches (`uploadpack`) or pushes (`receivepack`), as an option
    /// of git; `None` if git may look it up itself.
    ///
    /// Git uses the first value of these settings, so another value cannot override that of the repository.
    pub(super) fn server_program(&self, remote: &str, variable: &str) -> Option<String> {
        if self.is_trusted {
            return None;
        }
        let (option, usual) = match variable {
            "uploadpack" => ("--upload-pack", "git-upload-pack"),
            _ => ("--receive-pack", "git-receive-pack"),
        };
        let key = format!("remote.{remote}.{variable}");
        let program = self.settings.user_value(&key).unwrap_or(usual);
        Some(format!("{option}={program}"))
    }

    /// Returns a setting that no other can override: calls of git for the user must not use the network then.
    pub(super) fn fixed_setting(&self) -> Option<&str> {
        let is_server = |key: &str| {
            key.starts_with("remote.")
                && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
        };
        let mut ignored = self.settings.ignored().map(|setting| &*setting.key);
        let found = ignored.find(|key| is_server(key));
        found
            .filter(|_| !self.is_trusted)
            .or_else(|| self.redirect())
    }

    /// Returns a setting of the repository that redirects URLs, if the repository is not trusted.
    pub(super) fn redirect(&self) -> Option<&str> {
        let mut ignored = self.settings.ignored();
        let found = ignored.find(|setting| setting.effect() == SettingEffect::Redirect);
        found
            .filter(|_| !self.is_trusted)
            .map(|setting| &*setting.key)
    }

    /// Whether only the repository's own settings define how the filter converts files.
    pub(super) fn is_untrusted_filter(&self, name: &str) -> bool {
        !self.is_trusted
            && ["clean", "smudge", "process"].iter().any(|variable| {
                let key = format!("filter.{name}.{variable}");
                let local = self.settings.iter().rev();
                let mut local = local.filter(|setting| setting.is_local && setting.key == key);
                local.next().is_some() && self.settings.user_value(&key).is_none()
            })
    }

    /// Whether there is a filter for which [`Self::is_untrusted_filter`] is true.
    pub(super) fn has_untrusted_filters(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| {
            let inner = setting.key.strip_prefix("filter.");
            let name = inner.and_then(|inner| inner.rsplit_once('.'));
            name.is_some_and(|(name, _)| self.is_untrusted_filter(name))
        })
    }

    /// Returns the setting that names the program for signatures, if it comes from the repository and the
    /// repository is not trusted.
    pub(super) fn untrusted_signer(&self) -> Option<&'static str> {
        if self.is_trusted {
            return None;
        }
        let keys: &[&str] = match self.settings.value("gpg.format") {
            Some("ssh") if self.settings.value("user.signingkey").is_none() => {
                &["gpg.ssh.program", "gpg.ssh.defaultkeycommand"]
            }
            Some("ssh") => &["gpg.ssh.program"],
            Some("x509") => &["gpg.x509.program"],
            _ => &["gpg.program", "gpg.openpgp.program"],
        };
        let mut keys = keys.iter().copied();
        keys.find(|key| self.settings.local(key).is_some())
    }

    /// Whether the user lets hooks run for commits of records, and trusts the repository.
    pub(super) fn runs_hooks(&self) -> bool {
        self.is_trusted && is_true(self.settings.user_value("unfurl.hooks"))
    }
}

/// Returns the settings that override those of the repository, in the order in which git must read them.
fn overrides(settings: &Settings, submodules: &[String]) -> Vec<(String, String)> {
    let mut overrides: Vec<(String, String)> = Vec::new();
    let mut resets_credentials = false;
    for setting in settings.ignored() {
        match setting.effect() {
            SettingEffect::Replaced(neutral) => {
                let value = settings.user_value(&setting.key).unwrap_or(neutral);
                let replacement = (setting.key.clone(), value.to_owned());
                if !overrides.contains(&replacement) {
                    overrides.push(replacement);
                }
            }
            SettingEffect::CredentialHelper => resets_credentials = true,
            SettingEffect::Harmless | SettingEffect::Redirect | SettingEffect::IgnoredByGit => {}
        }
    }
    if resets_credentials {
        // An empty helper empties the list; then the user's helpers follow.
        overrides.push(("credential.helper".to_owned(), String::new()));
        let of_user = settings.iter().filter(|setting| {
            !setting.is_local
                && setting.key.starts_with("credential.")
                && setting.key.ends_with(".helper")
        });
        overrides.extend(of_user.map(|setting| (setting.key.clone(), setting.value.clone())));
    }
    // Hooks of the user's own folder are the user's; a relative path leads into the working tree.
    let hooks = settings.user_value("core.hookspath");
    let hooks = hooks.filter(|path| path.starts_with(['/', '~']));
    overrides.retain(|(key, _)| key != "core.hookspath");
    overrides.push((
        "core.hookspath".to_owned(),
        hooks.unwrap_or("/dev/null").to_owned(),
    ));
    // Git looks for changes in a submodule with a call that has the settings of the submodule.
    if !matches!(settings.user_value("diff.ignoresubmodules"), Some("all")) {
        overrides.push(("diff.ignoresubmodules".to_owned(), "dirty".to_owned()));
    }
    for name in submodules {
        overrides.push((format!("submodule.{name}.ignore"), "dirty".to_owned()));
    }
    overrides
}

/// Returns the names of the submodules that the working tree lists.
fn submodules(root: &Path) -> Vec<String> {
    let file = root.join(".gitmodules");
    let mut names = Vec::new();
    if !crate::system::fs::is_file(&file) {
        return names;
    }
    let Ok(config) = git2::Config::open(&file) else {
        return names;
    };
    let Ok(mut entries) = config.entries(Some("^submodule\\..*")) else {
        return names;
    };
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.name().ok().and_then(|key| {
            let (name, _) = key.strip_prefix("submodule.")?.rsplit_once('.')?;
            Some(name.to_owned())
        });
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            names.push(name);
        }
    }
    names
}

/// Returns the variables that give settings to git, after `count` others.
fn config_variables(overrides: &[(String, String)], count: usize) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for (index, (key, value)) in overrides.iter().enumerate() {
        let index = count + index;
        variables.push((format!("GIT_CONFIG_KEY_{index}"), key.clone()));
        variables.push((format!("GIT_CONFIG_VALUE_{index}"), value.clone()));
    }
    let total = count + overrides.len();
    variables.push((SETTING_COUNT.to_owned(), total.to_string()));
    variables
}

/// Returns the protocols that git may use: those of the user's environment, or the usual ones, without those that
/// the user's settings forbid.
fn protocols(settings: &Settings, env: &Env) -> String {
    let chosen = env.get("GIT_ALLOW_PROTOCOL");
    let chosen: Vec<&str> = match chosen {
        Some(list) => list.split(':').collect(),
        None => PROTOCOLS.to_vec(),
    };
    let forbidden = |name: &str| {
        let key = format!("protocol.{name}.allow");
        let own = settings.user_value(&key);
        own.or_else(|| settings.user_value("protocol.allow")) == Some("never")
    };
    let allowed = |name: &&str| !NEVER.contains(name) && !forbidden(name);
    let allowed: Vec<&str> = chosen.into_iter().filter(allowed).collect();
    allowed.join(":")
}

/// Returns the variable that makes SSH ask no questions, unless the user has chosen an SSH program.
fn ssh_command(settings: &Settings, is_trusted: bool, env: &Env) -> Option<(String, String)> {
    if env.non_empty("GIT_SSH_COMMAND").is_some() {
        return None;
    }
    let local = settings.local("core.sshcommand").is_some();
    let configured = if is_trusted {
        settings.value("core.sshcommand")
    } else {
        settings.user_value("core.sshcommand")
    };
    let command = match (configured, env.non_empty("GIT_SSH")) {
        // The setting of the repository would override the user's variable.
        (None, Some(program)) if local => force_quote_word(program),
        (Some(_), _) | (None, Some(_)) => return None,
        (None, None) => "ssh -oBatchMode=yes".to_owned(),
    };
    Some(("GIT_SSH_COMMAND".to_owned(), command))
}

/// Returns the folder that a URL of git names, if the repository is on this computer.
pub(super) fn local_folder(url: &str, root: &Path) -> Option<PathBuf> {
    if let Some(path) = url.strip_prefix("file://") {
        let path = path.find('/').map_or(path, |start| &path[start..]);
        return Some(PathBuf::from(crate::value::decode_percent(path)));
    }
    let colon = url.find(':');
    let is_path = colon.is_none_or(|colon| url[..colon].contains('/'));
    is_path.then(|| crate::system::fs::absolute(Path::new(url), root))
}
