//! `state`, `op` and `fact`: what machines are to be like, and what they are like.

mod options;
mod prepare;
mod run;
mod screen;
mod show;

pub(super) use options::{OpArgs, StateArgs};
pub(super) use run::{op, state};
