//! Fault injection for tests. The variable `UNFURL_TEST_FAULT` selects the fault:
//!
//! | value | effect |
//! |---|---|
//! | `count:FILE` | each call appends a line to FILE: its number, kind and path |
//! | `kill:N` | the process dies before the Nth call, as by `kill -9` |
//! | `kill-within:N` | the same in the middle of the Nth call if it is a write: half is written |
//! | `kill-after:N` | the same after the Nth call |
//! | `cut:N` | a loss of power before the Nth call: all unsynced changes are undone |
//! | `cut-data:N` | the same, but unsynced names are on disk without their bytes |
//! | `fail:ERRNO:N` | the Nth call fails; a write writes half of its bytes |
//! | `fail-from:ERRNO:N` | the Nth call and all later ones fail |
//! | `fail-from:ERRNO:N in FOLDER` | the same, only for calls with paths in that folder |
//! | `hook:KIND=END:COMMAND` | a shell runs COMMAND before each call of this kind with a path of this end |
//! | `short:N` | the Nth call, if it is a write, first writes only half |
//!
//! N can also describe the call: `rename=ensemble.yaml` is the first rename to a path with that end,
//! `write=.journal#3` is the third write to such a file. A temporary file counts as the file that it will
//! replace.
//!
//! `ERRNO` is `EIO`, `ENOSPC`, `EROFS`, `EMFILE`, `EACCES`, `EINTR` or `EINVAL`. Changes made by other programs and by
//! libgit2 do not pass through this layer.

mod injector;
mod plan;
mod power_loss;
mod shifted_clock;

pub use injector::{call, hide_from, write_all};
pub use shifted_clock::shifted;
