//! Schedules: real runs of `unfurl serve` and `unfurl schedule`, under a clock that the tests set.
//!
//! The loops with kills are short; `UNFURL_LOOPS=full` makes them long.

mod actions;
mod bad_input;
mod clock;
mod kills;
mod servers;
mod texts;
mod world;
