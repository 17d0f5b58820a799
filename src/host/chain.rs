//! A chain of executors, with all that each of them needs.

use std::path::PathBuf;
use std::time::Duration;

use super::Secret;

/// Executors in order; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorChain {
    executors: Vec<ChainExecutor>,
    /// What it means if none of them performs the action.
    pub on_unhandled: UnhandledPolicy,
}

/// What it means that no executor of a chain has performed an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnhandledPolicy {
    /// It is no failure: there is a warning and no result (X2).
    #[default]
    Warn,
    /// The action has failed: something relies on it.
    Fail,
}

/// One executor with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainExecutor {
    /// Performs the action as it is (X13).
    Direct,
    /// Waits (X14).
    Splay {
        /// The time over which hosts are spread, in seconds; more than 0.
        seconds: u32,
        /// How they are spread.
        spread: Spread,
    },
    /// Performs a command as another user by `sudo` (X15).
    Sudo(BecomeUser),
    /// Performs a command as another user by `su`.
    Su(BecomeUser),
    /// Performs the action in a container that runs on the host.
    Container {
        /// Its name or id.
        name: String,
        /// The program that reaches it.
        engine: String,
    },
    /// Performs a command in another root folder, which only root can.
    Chroot(PathBuf),
    /// Bounds the time of all that follows together.
    Timeout(Duration),
    /// Repeats what follows while it fails.
    Retry {
        /// How often it is tried in all; at least once.
        attempts: u32,
        /// How long it waits in between.
        interval: Duration,
    },
    /// Says what would be performed.
    DryRun,
    /// A program of the user's.
    Custom(Box<CustomExecutor>),
}

/// How hosts are spread over a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spread {
    /// By the hash of their names: a host always waits equally long.
    #[default]
    Hash,
    /// Evenly, by the rank that [`super::Start`] says.
    Rank,
}

/// As whom a command is performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BecomeUser {
    /// The user.
    pub user: String,
    /// The password that is asked for; if there is none, being asked ends the command with
    /// [`super::Exit::Asked`].
    pub password: Option<Secret>,
}

/// A program of the user's; the module's page has its protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomExecutor {
    /// The name by which it was asked for.
    pub name: String,
    /// Its file.
    pub program: PathBuf,
    /// The folder it runs in.
    pub folder: PathBuf,
    /// Its environment.
    pub environment: Vec<(String, String)>,
    /// The options of the request, as JSON.
    pub options: Secret,
    /// Those of the configuration, as JSON.
    pub configuration: Secret,
}

impl Default for ExecutorChain {
    fn default() -> Self {
        Self {
            executors: vec![ChainExecutor::Direct],
            on_unhandled: UnhandledPolicy::default(),
        }
    }
}

impl ExecutorChain {
    /// A chain of these executors; that of [`Executor::Direct`] if there are none.
    pub fn new(executors: Vec<ChainExecutor>) -> Self {
        if executors.is_empty() {
            return Self::default();
        }
        Self {
            executors,
            on_unhandled: UnhandledPolicy::default(),
        }
    }

    /// The executors, in order.
    pub fn executors(&self) -> &[ChainExecutor] {
        &self.executors
    }

    /// Whether it does what happens without any chain.
    pub fn is_direct(&self) -> bool {
        self.executors.first() == Some(&ChainExecutor::Direct)
    }

    /// Whether it is known from the start that no executor performs anything.
    pub fn never_executes(&self) -> bool {
        !self.executors.iter().any(ChainExecutor::can_end_chain)
    }
}

impl ChainExecutor {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Direct => "direct",
            Self::Splay { .. } => "splay",
            Self::Sudo(_) => "sudo",
            Self::Su(_) => "su",
            Self::Container { .. } => "container",
            Self::Chroot(_) => "chroot",
            Self::Timeout(_) => "timeout",
            Self::Retry { .. } => "retry",
            Self::DryRun => "dryrun",
            Self::Custom(own) => &own.name,
        }
    }

    /// Whether it may end a chain.
    pub fn can_end_chain(&self) -> bool {
        !matches!(
            self,
            Self::Splay { .. } | Self::Timeout(_) | Self::Retry { .. }
        )
    }
}
