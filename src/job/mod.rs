//! Runs a plan: order, limits, transitions of status and node state. The coordinator is the only
//! writer of the topology; it asks a runner for effects and performs none itself.

mod added;
mod admission;
mod artifact;
mod because;
mod begun;
mod cause;
mod compare;
mod condition;
mod create;
mod cut_off;
mod digest;
mod elsewhere;
mod engine;
mod error;
mod event;
mod finish;
mod gate;
mod model;
mod observe;
mod options;
mod problem;
mod render;
mod run;
mod schedule;
mod start;
mod task;
mod undecided;
mod update;
mod upgrade;
mod view;
mod wait;
mod withheld;
mod world;

pub use begun::mark_left;
pub use cause::{Comparison, Difference, DifferenceKind, Side};
pub use compare::Change;
pub use digest::{Digest, SecretDigest};
pub use engine::{Choose, CutOff, Engine, History, LastOperation, Parts, Recorded};
pub use error::Error;
pub use event::{Event, Finished, Journal, JournalError, Level, NoJournal, Sink};
pub use options::JobOptions;
pub use problem::explain;
pub use run::{Hands, run};
pub use task::{Changes, Dependency, Stage, Task, TaskIndex};
pub use world::{FolderKey, Folders, Keys, Places, Runner};
