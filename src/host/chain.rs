//! Chains of executors, with their options.
//!
//! A chain wraps every action on a host, as Salt's executor modules do. This file has the data
//! only; `executor` reads chains from options and runs them.

use std::path::PathBuf;
use std::time::Duration;

use super::Secret;
use crate::text::Glob;
use crate::value::Secrets;

/// An ordered, non-empty list of executors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorChain {
    executors: Vec<ChainExecutor>,
    /// The outcome if no executor performs the action.
    pub on_unhandled: UnhandledPolicy,
    /// Patterns of the functions that the programs of the chain perform although this program has none of that name
    /// (`allow_missing_func`, X9).
    pub missing_functions: Vec<String>,
}

/// The outcome of an action that no executor of a chain performed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnhandledPolicy {
    /// A warning without a result, not a failure (X2).
    #[default]
    Warn,
    /// A failure, because something relies on the action.
    Fail,
}

/// An executor of a chain, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainExecutor {
    /// Performs the action itself, without changes (X13).
    Direct,
    /// Delays the action by a time that differs per host (X14).
    Splay {
        /// The time over which hosts are spread, in seconds; at least 1.
        seconds: u32,
        spread: Spread,
    },
    /// Runs a command as another user with `sudo` (X15).
    Sudo(BecomeUser),
    /// Runs a command as another user with `su`.
    Su(BecomeUser),
    /// Performs the action in a container that runs on the host.
    Container {
        /// The name or id of the container.
        name: String,
        /// The container program, such as `docker` or `podman`.
        engine: String,
    },
    /// Runs commands in a transaction of a system whose root folder is read-only (X17).
    TransactionalUpdate(Box<Delegation>),
    /// Runs a command in another root folder. Only root may do this.
    Chroot(PathBuf),
    /// Limits the total time of all executors after it.
    Timeout(Duration),
    /// Repeats the executors after it while they fail.
    Retry {
        /// The total number of attempts; at least 1.
        attempts: u32,
        /// The pause between two attempts of `retry`.
        interval: Duration,
    },
    /// Reports what would be done, without doing it.
    DryRun,
    /// Asks a program of the user's.
    Custom(Box<CustomExecutor>),
}

/// The functions that `transactional_update` runs in a transaction, by the names that Salt has for them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delegation {
    pub modules: Vec<String>,
    pub functions: Vec<String>,
}

impl Delegation {
    /// The modules whose functions run in a transaction unless the configuration names others.
    pub const MODULES: [&str; 18] = [
        "ansible", "cabal", "chef", "cmd", "composer", "cp", "cpan", "cyg", "file", "freeze",
        "nix", "npm", "pip", "pkg", "puppet", "pyenv", "rbenv", "scp",
    ];

    /// Returns true if a function, such as `cmd.run`, runs in a transaction.
    pub fn has(&self, function: &str) -> bool {
        let module = function.split('.').next().unwrap_or(function);
        // States run in a transaction in any case.
        module == "state"
            || self.modules.iter().any(|name| name == module)
            || self.functions.iter().any(|name| name == function)
    }
}

/// The way in which hosts are spread over a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spread {
    /// By a hash of the host name, so that a host always waits equally long.
    #[default]
    Hash,
    /// Evenly, by the rank of the host in [`super::ChainContext`].
    Rank,
}

/// The user to run a command as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BecomeUser {
    pub user: String,
    /// The password for the prompt of `sudo` or `su`. Without one, a prompt ends the command with
    /// [`super::Exit::NeedsAnswer`].
    pub password: Option<Secret>,
}

/// An executor that is a program of the user's. The module `executor` documents its protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomExecutor {
    /// The name under which the chain lists it.
    pub name: String,
    /// The path of the program file.
    pub program: PathBuf,
    /// The working directory of the program.
    pub folder: PathBuf,
    pub environment: Vec<(String, String)>,
    /// The options of the request, as JSON.
    pub options: Secret,
    /// The options of the configuration, as JSON.
    pub configuration: Secret,
}

impl Default for ExecutorChain {
    fn default() -> Self {
        Self {
            executors: vec![ChainExecutor::Direct],
            on_unhandled: UnhandledPolicy::default(),
            missing_functions: Vec::new(),
        }
    }
}

impl ExecutorChain {
    /// Creates a chain; without executors, it has [`ChainExecutor::Direct`] only.
    pub fn new(executors: Vec<ChainExecutor>) -> Self {
        if executors.is_empty() {
            return Self::default();
        }
        Self {
            executors,
            ..Self::default()
        }
    }

    pub fn executors(&self) -> &[ChainExecutor] {
        &self.executors
    }

    /// Whether the chain starts with `direct` and so acts as if there were no chain.
    pub fn is_direct(&self) -> bool {
        self.executors.first() == Some(&ChainExecutor::Direct)
    }

    /// Returns true if a program of the chain performs a function that this program does not have (X9).
    pub fn takes_missing_function(&self, function: &str) -> bool {
        let is_custom = |executor: &ChainExecutor| matches!(executor, ChainExecutor::Custom(_));
        let mut patterns = self.missing_functions.iter();
        self.executors.iter().any(is_custom) && patterns.any(|it| Glob::new(it).matches(function))
    }

    /// Returns the passwords of the executors, which the host could print.
    pub fn secrets(&self) -> Secrets {
        let password = |executor: &ChainExecutor| match executor {
            ChainExecutor::Sudo(to) | ChainExecutor::Su(to) => {
                let secret = to.password.as_ref()?;
                (secret.reveal() != to.user).then(|| secret.reveal().to_owned())
            }
            _ => None,
        };
        self.executors.iter().filter_map(password).collect()
    }

    /// Whether no executor of the chain can ever perform an action.
    pub fn never_executes(&self) -> bool {
        !self.executors.iter().any(ChainExecutor::can_end_chain)
    }
}

impl ChainExecutor {
    /// Returns the name under which options list the executor.
    pub fn name(&self) -> &str {
        match self {
            Self::Direct => "direct",
            Self::Splay { .. } => "splay",
            Self::Sudo(_) => "sudo",
            Self::Su(_) => "su",
            Self::Container { .. } => "container",
            Self::TransactionalUpdate(_) => "transactional_update",
            Self::Chroot(_) => "chroot",
            Self::Timeout(_) => "timeout",
            Self::Retry { .. } => "retry",
            Self::DryRun => "dryrun",
            Self::Custom(own) => &own.name,
        }
    }

    /// Whether the executor can perform an action, and so end a chain.
    pub fn can_end_chain(&self) -> bool {
        !matches!(
            self,
            Self::Splay { .. } | Self::Timeout(_) | Self::Retry { .. }
        )
    }
}
