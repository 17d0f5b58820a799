//! Loops with the preloaded library of `tests/shim`, which sees the changes that libgit2 and the git program make.
//!
//! The loops are short by default. `UNFURL_LOOPS` changes that, as in `crash`: `full` tries every call, and
//! `shim:deploy:17:kill` one fault of one loop, to reproduce a failure.

mod after;
mod clones;
mod crashes;
mod faults;
mod library;
mod machine;
mod power;
mod race;
mod seen;
mod trace;
mod world;
