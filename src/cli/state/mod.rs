//! `state`, `op` and `fact`: what machines are to be like, and what they are like.

mod fact;
mod options;
mod prepare;
mod run;
mod screen;
mod show;

pub(super) use fact::fact;
pub(super) use options::{FactArgs, OpArgs, StateArgs};
pub(super) use run::{op, state};
