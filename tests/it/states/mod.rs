//! The state modules on a real machine, compared with Salt's results.

mod files;
mod local_executor;
mod reference;
