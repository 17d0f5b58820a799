//! The state module `ini`: options and sections of INI files.
//!
//! `document` reads and writes the file as Salt does; `states` compares it with the desired options.

mod document;
mod states;

pub(super) use states::MODULE;
