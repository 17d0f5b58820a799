//! Executors: an ordered chain around every action on a host (spec/hosts.md X1 to X20).
//!
//! Each executor of a [`super::Chain`] either ends it with a result or lets the next one go on
//! (X2). A chain is a pure state machine: it says what to wait for and what to perform, and whoever
//! drives it tells what came of that. Built in are
//!
//! | name | what it does | ends the chain |
//! |---|---|---|
//! | `splay` | waits, each host for another time (X14) | no |
//! | `timeout`, `retry` | bound or repeat what follows | no |
//! | `direct`, `direct_call` | performs the action | yes |
//! | `sudo`, `become` | performs a command as another user | yes |
//! | `su` | the same by `su` | yes |
//! | `container` | performs the action in a container of the host | yes |
//! | `chroot` | performs a command in another root folder | yes |
//! | `dryrun` | says what would be performed, and by whom | yes |
//!
//! # Executors of one's own
//!
//! Any other name is a program: a path with a `/` in it, which begins at the folder of the
//! ensemble, or else the file `executors/NAME` in that folder. It runs on this machine and reads
//! one JSON object:
//!
//! ```json
//! {"protocol": 1, "executor": "NAME", "host": "web1", "place": "web1",
//!  "action": {"run": {"program": {"argv": ["uptime"]}, "cwd": "", "env": []}},
//!  "next": ["direct"], "options": {}, "configuration": {}}
//! ```
//!
//! `options` are those of the request, which whoever asks may choose freely, and `configuration`
//! those of the configuration: an option that decides what is allowed must be read from there
//! alone (X6). The object may hold secrets of the command. The program writes one answer:
//!
//! - nothing, `null` or `{}`: the next executor goes on;
//! - `{"result": VALUE}`: the chain ends with it, whatever it is: `false`, `0`, `""` and `{}` are
//!   results, too. One of the form `{"code": 0, "stdout": "", "stderr": ""}` is what a command
//!   gave. Any other is its output as text; it has failed if it is a map whose `result` or
//!   `success` is false (X11);
//! - `{"error": "TEXT"}`: the chain ends with a failure. So it does if the program fails.

mod chain_run;
mod command_wrapper;
mod custom;
mod error;
mod options;
mod splay;

pub use chain_run::{ChainContext, ChainNote, ChainProgress, ChainRun};
pub use error::ExecutorError;
pub use options::{ChainSpec, ExecutorEnvironment};
