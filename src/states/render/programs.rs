//! The port to programs on this machine that state files need: `GnuPG`, and Python for state files that are programs.

use crate::value::{Map, Value};

/// Runs the programs that renderers need.
pub trait RenderPrograms: Send + Sync {
    /// Decrypts a PGP message.
    ///
    /// # Errors
    ///
    /// The reason why the message cannot be decrypted. It does not repeat the message.
    fn decrypt(&self, message: &str) -> Result<String, String>;

    /// Runs a state file in Python, and returns the states of its function `run` as JSON.
    ///
    /// # Errors
    ///
    /// The program is not permitted, or fails.
    fn run_python(&self, program: &PythonStates<'_>) -> Result<String, String>;
}

/// A state file in Python with the data that it reads.
#[derive(Debug, Clone, Copy)]
pub struct PythonStates<'a> {
    /// The path in the state tree, for messages.
    pub path: &'a str,
    pub text: &'a str,
    /// The variables of the program.
    pub variables: &'a Map,
}

/// The start of a PGP message.
const MESSAGE_START: &str = "-----BEGIN PGP MESSAGE-----";
/// The end of a PGP message.
const MESSAGE_END: &str = "-----END PGP MESSAGE-----";

/// Replaces the PGP messages in a text by what they encrypt, as a secret. `None` if the text has no message.
pub(super) fn decrypt_text(
    text: &str,
    programs: &dyn RenderPrograms,
) -> Result<Option<Value>, String> {
    let mut clear = String::new();
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(MESSAGE_START) {
        let Some(length) = rest[start..].find(MESSAGE_END) else {
            break;
        };
        let end = start + length + MESSAGE_END.len();
        clear.push_str(&rest[..start]);
        clear.push_str(&programs.decrypt(&rest[start..end].replace("\\n", "\n"))?);
        rest = &rest[end..];
        found = true;
    }
    if !found {
        return Ok(None);
    }
    clear.push_str(rest);
    Ok(Some(Value::str(clear.trim_end_matches('\n')).sensitive()))
}
