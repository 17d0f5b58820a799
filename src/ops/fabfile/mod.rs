//! Implements `unfurl task import`: translates a fabfile of Fabric to a `tasks.yaml`.
//!
//! [`translate`] has the user's `python3` parse the file, with a script that this program carries. No part of the file
//! runs. [`write()`] saves the result, and never replaces a file.

mod run;

pub use run::{TranslatedFabfile, translate, write};
