//! Faults that tests inject: the values of the variable `UNFURL_TEST_FAULT`.
//!
//! | value | what happens |
//! |---|---|
//! | `count:FILE` | each call adds a line to FILE: its number, its kind, its path |
//! | `kill:N` | the process dies at once, as by `kill -9`, before the Nth call |
//! | `kill-within:N` | the same in the middle of the Nth call, if it is a write: half of it is there |
//! | `kill-after:N` | the same after the Nth call |
//! | `cut:N` | before the Nth call the power goes: all that was not synced is undone |
//! | `cut-data:N` | the same, but names are on disk that were not synced, without their bytes |
//! | `fail:ERRNO:N` | the Nth call fails; a write leaves half of its bytes |
//! | `fail-from:ERRNO:N` | the Nth call and all after it fail |
//! | `fail-from:ERRNO:N in FOLDER` | the same, but only calls for paths in that folder |
//! | `short:N` | the Nth call, if it is a write, writes half at first |
//!
//! Instead of a number, N may say what the call does: `rename=ensemble.yaml` is the first rename to
//! a path with that end, `write=.journal#3` the third write to such a file. A file that is written
//! beside the one that it is to become counts as that.
//!
//! `ERRNO` is one of `EIO`, `ENOSPC`, `EROFS`, `EMFILE`, `EACCES` and `EINTR`. What other programs
//! write, and libgit2, does not pass here.

mod injector;
mod plan;
mod power_loss;

pub use injector::{call, hide_from, write_all};
