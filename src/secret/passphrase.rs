//! Passphrases of keys: taken from a variable, or asked on the terminal, once per run.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use zeroize::Zeroizing;

use crate::system::env::Env;

/// The variable with the passphrase of an age identity, an SSH key or an age file.
pub const PASSPHRASE_VARIABLE: &str = "UNFURL_AGE_PASSPHRASE";

/// A function that asks a question on the terminal, without showing the answer. None without a terminal.
pub type AskFn = fn(&str) -> Option<String>;

/// The function with which this process asks.
static ASK: OnceLock<AskFn> = OnceLock::new();
/// The answers of this run, by the thing that they open.
static ANSWERS: Mutex<BTreeMap<String, Zeroizing<String>>> = Mutex::new(BTreeMap::new());

/// Sets the way in which passphrases are asked. Only the first call has an effect.
pub fn set_passphrase_prompt(ask: AskFn) {
    ASK.set(ask).ok();
}

/// Returns the passphrase of a thing. None if no variable has it and nobody can be asked.
pub(super) fn passphrase_of(subject: &str) -> Option<Zeroizing<String>> {
    let env = Env::of_this_process();
    if let Some(text) = env.non_empty(PASSPHRASE_VARIABLE) {
        return Some(Zeroizing::new(text.to_owned()));
    }
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = answers.get(subject) {
        return Some(known.clone());
    }
    let answer = ASK.get()?(&format!("Passphrase of {subject}: "))?;
    let answer = Zeroizing::new(answer);
    answers.insert(subject.to_owned(), answer.clone());
    Some(answer)
}
