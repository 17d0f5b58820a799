//! What git's settings say about the server of a repository and the way to it.

use std::path::PathBuf;
use std::time::Duration;

use super::Error;
use super::endpoint::{LfsEndpoint, is_name};
use crate::git::Repository;
use crate::system::env::Env;
use crate::system::fs;
use crate::system::process::{self, Helper};

/// How long git-lfs waits where no setting says otherwise.
const DEFAULT_TIMEOUT_SECONDS: u64 = 30;

/// How long `git` may take to read its settings or to ask for a login.
pub(super) const GIT_TIME_LIMIT: Duration = Duration::from_secs(20);

/// What git's settings say.
#[derive(Debug, Clone)]
pub(super) struct LfsSettings {
    /// The top of the working tree.
    pub(super) root: PathBuf,
    /// Where the server is.
    pub(super) endpoint: LfsEndpoint,
    /// The branch that is locked for, as the server names it.
    pub(super) reference: Option<String>,
    /// How long it may take to be connected.
    pub(super) connect_timeout: Duration,
    /// How long the server may say nothing.
    pub(super) activity_timeout: Duration,
    /// The words before those of an SSH call, and whether a shell has to read them.
    pub(super) ssh: SshCommand,
}

/// The program that calls other machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SshCommand {
    /// Its path, or a line of shell.
    pub(super) command: String,
    /// Whether it is a line of shell.
    pub(super) is_shell: bool,
    /// What kind of program it is, if a setting says so.
    pub(super) variant: Option<String>,
}

/// The settings of a repository: git's own, and those in its file `.lfsconfig`.
struct LfsConfig {
    git: git2::Config,
    shared: Option<git2::Config>,
}

impl LfsConfig {
    fn open(repository: &Repository) -> Option<Self> {
        let git = repository.inner.config().ok()?.snapshot().ok()?;
        let file = repository.root().join(".lfsconfig");
        let shared = fs::is_file(&file).then(|| git2::Config::open(&file).ok());
        Some(Self {
            git,
            shared: shared.flatten().and_then(|mut it| it.snapshot().ok()),
        })
    }

    fn git_value(&self, name: &str) -> Option<String> {
        let text = self.git.get_string(name).ok()?;
        (!text.is_empty()).then_some(text)
    }

    /// A setting that a repository may bring with it.
    fn value(&self, name: &str) -> Option<String> {
        self.git_value(name).or_else(|| {
            let text = self.shared.as_ref()?.get_string(name).ok()?;
            (!text.is_empty()).then_some(text)
        })
    }

    fn seconds(&self, name: &str) -> Duration {
        let seconds = self.git_value(name).and_then(|text| text.parse().ok());
        // Zero would mean for ever.
        Duration::from_secs(
            seconds
                .filter(|it| (1..=3600).contains(it))
                .unwrap_or(DEFAULT_TIMEOUT_SECONDS),
        )
    }
}

impl LfsSettings {
    /// Finds out where the locks of a repository are: at `url`, which may be a remote's name, else
    /// where git-lfs would look.
    pub(super) fn discover(
        repository: &Repository,
        url: Option<&str>,
        env: &Env,
    ) -> Result<Self, Error> {
        let config = LfsConfig::open(repository)
            .ok_or_else(|| Error::NoServer("git's settings cannot be read".to_owned()))?;
        let branch = repository.branch();
        let reference = branch.as_ref().map(|branch| {
            let merged = config.git_value(&format!("branch.{branch}.merge"));
            merged.unwrap_or_else(|| format!("refs/heads/{branch}"))
        });
        Ok(Self {
            root: repository.root().to_owned(),
            endpoint: endpoint(repository, &config, url, branch.as_deref())?,
            reference,
            connect_timeout: config.seconds("lfs.dialtimeout"),
            activity_timeout: config.seconds("lfs.activitytimeout"),
            ssh: SshCommand::detect(&config, env),
        })
    }

    /// How long one request may take.
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
    /// What git would call.
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

/// The settings of git that are about one URL, such as `extraheader`: names in lower case, without
/// `http.`.
pub(super) fn url_settings(root: &std::path::Path, url: &str) -> Vec<(String, String)> {
    let helper = Helper {
        cwd: Some(root.to_owned()),
        time_limit: GIT_TIME_LIMIT,
        ..Helper::new(["git", "config", "--null", "--get-urlmatch", "http", url])
    };
    // Without git there is nothing to read.
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
