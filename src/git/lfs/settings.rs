//! Reads git's settings for the git-lfs server of a repository: address, timeouts and the SSH program.

use std::path::PathBuf;
use std::time::Duration;

use super::Error;
use super::endpoint::{LfsEndpoint, is_name};
use crate::git::Repository;
use crate::git::isolation::Isolation;
use crate::system::env::Env;
use crate::system::fs;
use crate::system::process::{self, Helper};

/// The default of both timeouts in git-lfs, in seconds.
const DEFAULT_TIMEOUT_SECONDS: u64 = 30;

/// The time limit for git to read its settings or to query credential helpers.
pub(super) const GIT_TIME_LIMIT: Duration = Duration::from_secs(20);

/// The settings of a repository that concern its git-lfs server.
#[derive(Debug, Clone)]
pub(super) struct LfsSettings {
    /// The root of the working tree.
    pub(super) root: PathBuf,
    /// Variables for calls of git, so that settings of an untrusted repository run no programs.
    pub(super) git_variables: Vec<(String, String)>,
    pub(super) endpoint: LfsEndpoint,
    /// The reference that locks apply to, such as `refs/heads/main`.
    pub(super) reference: Option<String>,
    /// The time limit for establishing a connection (`lfs.dialtimeout`).
    pub(super) connect_timeout: Duration,
    /// The maximum time without any data from the server (`lfs.activitytimeout`).
    pub(super) activity_timeout: Duration,
    pub(super) ssh: SshCommand,
}

/// The SSH program that git is configured to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SshCommand {
    /// The path of the program, or a shell command line.
    pub(super) command: String,
    /// Whether `command` is a shell command line.
    pub(super) is_shell: bool,
    /// The configured variant, such as `ssh` or `plink`.
    pub(super) variant: Option<String>,
}

/// The git settings of a repository and those in its file `.lfsconfig`.
struct LfsConfig {
    isolation: Isolation,
    shared: Option<git2::Config>,
}

impl LfsConfig {
    fn open(repository: &Repository) -> Option<Self> {
        let isolation = repository.isolation().ok()?.clone();
        let file = repository.root().join(".lfsconfig");
        let shared = fs::is_file(&file).then(|| git2::Config::open(&file).ok());
        Some(Self {
            isolation,
            shared: shared.flatten().and_then(|mut it| it.snapshot().ok()),
        })
    }

    fn git_value(&self, name: &str) -> Option<String> {
        let text = self.isolation.value(&normal_form(name))?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns a setting that may also come from the repository's `.lfsconfig`.
    fn value(&self, name: &str) -> Option<String> {
        self.git_value(name).or_else(|| {
            let text = self.shared.as_ref()?.get_string(name).ok()?;
            (!text.is_empty()).then_some(text)
        })
    }

    fn seconds(&self, name: &str) -> Duration {
        let seconds = self.git_value(name).and_then(|text| text.parse().ok());
        // Zero would disable the timeout.
        Duration::from_secs(
            seconds
                .filter(|it| (1..=3600).contains(it))
                .unwrap_or(DEFAULT_TIMEOUT_SECONDS),
        )
    }
}

/// Returns the name of a setting as git lists it: section and variable in lower case.
fn normal_form(name: &str) -> String {
    let parts = (name.split_once('.'), name.rsplit_once('.'));
    let (Some((section, _)), Some((rest, variable))) = parts else {
        return name.to_ascii_lowercase();
    };
    let middle = &rest[section.len()..];
    format!(
        "{}{middle}.{}",
        section.to_ascii_lowercase(),
        variable.to_ascii_lowercase()
    )
}

impl LfsSettings {
    /// Determines the lock server of a repository: `url`, which may be the name of a remote, or the server
    /// that git-lfs would use.
    pub(super) fn discover(
        repository: &Repository,
        url: Option<&str>,
        env: &Env,
    ) -> Result<Self, Error> {
        let config = LfsConfig::open(repository)
            .ok_or_else(|| Error::NoServer("git's settings cannot be read".to_owned()))?;
        if let Some(key) = config.isolation.redirect() {
            let reason = "replaces URLs, and the project is not trusted";
            return Err(Error::NoServer(format!(
                "the setting `{}` of the repository {reason}",
                key.escape_debug()
            )));
        }
        let branch = repository.branch();
        let reference = branch.as_ref().map(|branch| {
            let merged = config.git_value(&format!("branch.{branch}.merge"));
            merged.unwrap_or_else(|| format!("refs/heads/{branch}"))
        });
        Ok(Self {
            root: repository.root().to_owned(),
            git_variables: config.isolation.variables.clone(),
            endpoint: endpoint(repository, &config, url, branch.as_deref())?,
            reference,
            connect_timeout: config.seconds("lfs.dialtimeout"),
            activity_timeout: config.seconds("lfs.activitytimeout"),
            ssh: SshCommand::detect(&config, env),
        })
    }

    /// Returns the time limit of one request.
    pub(super) fn request_timeout(&self) -> Duration {
        self.connect_timeout.min(self.activity_timeout) + self.activity_timeout
    }
}

fn endpoint(
    repository: &Repository,
    config: &LfsConfig,
    url: Option<&str>,
    branch: Option<&str>,
) -> Result<LfsEndpoint, Error> {
    if let Some(url) = url {
        if is_name(url) && repository.inner.find_remote(url).is_ok() {
            return remote_endpoint(repository, config, url);
        }
        return LfsEndpoint::of_setting(url);
    }
    for name in ["lfs.pushurl", "lfs.url"] {
        if let Some(url) = config.value(name) {
            return LfsEndpoint::of_setting(&url);
        }
    }
    let of_branch = branch.and_then(|branch| config.git_value(&format!("branch.{branch}.remote")));
    let names = repository.remote_names();
    let remote = of_branch
        .filter(|name| names.contains(name))
        .or_else(|| repository.only_remote());
    match remote {
        Some(remote) => remote_endpoint(repository, config, &remote),
        None => Err(Error::NoServer(
            "the repository has no remote, so there is no git-lfs server".to_owned(),
        )),
    }
}

fn remote_endpoint(
    repository: &Repository,
    config: &LfsConfig,
    remote: &str,
) -> Result<LfsEndpoint, Error> {
    for name in ["lfspushurl", "lfsurl"] {
        if let Some(url) = config.value(&format!("remote.{remote}.{name}")) {
            return LfsEndpoint::of_setting(&url);
        }
    }
    let found = repository.inner.find_remote(remote).ok();
    let url = found.as_ref().and_then(|remote| {
        let push = remote.pushurl().ok().flatten();
        push.or_else(|| remote.url().ok())
    });
    match url.filter(|url| !url.is_empty()) {
        Some(url) => LfsEndpoint::of_repository(url),
        None => Err(Error::NoServer(format!("the remote `{remote}` has no URL"))),
    }
}

impl SshCommand {
    /// Determines the SSH program that git would run.
    fn detect(config: &LfsConfig, env: &Env) -> Self {
        let line = env.non_empty("GIT_SSH_COMMAND").map(str::to_owned);
        let line = line.or_else(|| config.git_value("core.sshCommand"));
        let variant = env.non_empty("GIT_SSH_VARIANT").map(str::to_owned);
        let (text, is_shell) = match (line, env.non_empty("GIT_SSH")) {
            (Some(line), _) => (line, true),
            (None, Some(program)) => (program.to_owned(), false),
            (None, None) => ("ssh".to_owned(), false),
        };
        Self {
            command: text,
            is_shell,
            variant: variant.or_else(|| config.git_value("ssh.variant")),
        }
    }
}

/// Returns the `http.<url>.*` settings of git for a URL, such as `extraheader`. Names are in lower case,
/// without `http.`.
pub(super) fn url_settings(settings: &LfsSettings, url: &str) -> Vec<(String, String)> {
    let helper = Helper {
        cwd: Some(settings.root.clone()),
        extra_env: settings.git_variables.clone(),
        time_limit: GIT_TIME_LIMIT,
        ..Helper::new(["git", "config", "--null", "--get-urlmatch", "http", url])
    };
    // Without the git program, no settings can be read.
    let Ok(output) = process::run(&helper) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entry = |entry: &str| {
        let (name, value) = entry.split_once('\n')?;
        let name = name.strip_prefix("http.")?;
        Some((name.to_ascii_lowercase(), value.to_owned()))
    };
    text.split('\0').filter_map(entry).collect()
}
