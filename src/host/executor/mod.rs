//! Executors: an ordered chain around every action on a host (X1 to X20).
//!
//! Each executor of a [`super::ExecutorChain`] either ends the chain with a result or passes the
//! action to the next one (X2). A chain is a pure state machine: [`ChainRun`] says what to wait for
//! and what to perform, and its driver in `exec` passes back the results. The built-in executors
//! are
//!
//! | name | what it does | ends the chain |
//! |---|---|---|
//! | `splay` | waits, each host for another time (X14) | no |
//! | `timeout`, `retry` | limit or repeat the executors after them | no |
//! | `direct`, `direct_call` | performs the action | yes |
//! | `sudo`, `become` | performs a command as another user | yes |
//! | `su` | does the same with `su` | yes |
//! | `container`, `docker` | performs the action in a container of the host | yes |
//! | `transactional_update` | performs a command in a transaction of the system | yes |
//! | `chroot` | performs a command in another root folder | yes |
//! | `dryrun` | reports what would be performed, and by which executors | yes |
//!
//! # Custom executors
//!
//! Any other name is a program: a path that contains `/`, relative to the folder of the ensemble,
//! or else the file `executors/NAME` in that folder. The program runs on the local machine and
//! reads one JSON object from stdin:
//!
//! ```json
//! {"protocol": 1, "executor": "NAME", "host": "web1", "place": "web1", "function": "cmd.run",
//!  "action": {"run": {"program": {"argv": ["uptime"]}, "cwd": "", "env": []}},
//!  "next": ["direct"], "options": {}, "configuration": {}}
//! ```
//!
//! The action of a function that this program does not have is `{"call": {"function", "arguments", "keywords"}}`. The
//! chain gets it only if the configuration allows it with `allow_missing_func` (X9).
//!
//! `options` are those of the request, which the requester may choose freely. `configuration` has
//! the options of the configuration. An option that decides what is allowed must be read from
//! `configuration` alone (X6). The object may contain secrets of the command. The program writes
//! one reply to stdout:
//!
//! - nothing, `null` or `{}`: the next executor continues;
//! - `{"result": VALUE}`: the chain ends with this result. `false`, `0`, `""` and `{}` are results,
//!   too. A value of the form `{"code": 0, "stdout": "", "stderr": ""}` is the result of a command.
//!   Any other value becomes the output as text; a map whose `result` or `success` is false counts
//!   as failed (X11);
//! - `{"error": "TEXT"}`: the chain ends with a failure, as it does if the program itself fails.

mod chain_run;
mod command_wrapper;
mod custom;
mod error;
mod function_name;
mod options;
mod splay;

pub use chain_run::{ChainContext, ChainNote, ChainProgress, ChainRun};
pub use error::ExecutorError;
pub use options::{ChainSpec, ExecutorConfiguration, ExecutorEnvironment};
