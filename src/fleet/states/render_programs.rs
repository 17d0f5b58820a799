//! The programs of this machine that state files need: `GnuPG`, and Python in the sandbox of the project's programs.

use crate::project::{PythonSandbox, Trust, last_line};
use crate::states::{PythonStates, RenderPrograms};
use crate::system::env::Env;
use crate::system::process::{self, Helper};
use crate::value::Value;

/// The program that runs state files in Python.
const SCRIPT: &str = include_str!("states_program.py");

/// The mark before an error in the output of the program.
const ERROR_MARK: u8 = b'!';

/// The programs of this machine.
pub(super) struct LocalPrograms {
    env: Env,
    allows_python: bool,
}

impl LocalPrograms {
    pub(super) fn new(allows_python: bool) -> Self {
        Self {
            env: Env::of_this_process(),
            allows_python,
        }
    }
}

impl RenderPrograms for LocalPrograms {
    fn decrypt(&self, message: &str) -> Result<String, String> {
        let words = ["gpg", "--batch", "--quiet", "--no-tty", "--decrypt"];
        let output = process::run(&Helper {
            stdin: message.as_bytes().to_vec(),
            ..Helper::new(words)
        });
        let output = output.map_err(|error| format!("cannot decrypt a PGP message: {error}"))?;
        if !output.is_ok() {
            let reason = last_line(&output.stderr);
            return Err(format!("gpg cannot decrypt a PGP message: {reason}"));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| "a PGP message does not contain text in UTF-8".to_owned())
    }

    fn run_python(&self, program: &PythonStates<'_>) -> Result<String, String> {
        let path = program.path;
        if !self.allows_python {
            return Err(format!(
                "`{path}` is a program in Python, which is not allowed to run; {}",
                Trust::help("python")
            ));
        }
        let sandbox = PythonSandbox::new(&self.env);
        let Some(python) = sandbox.interpreters().into_iter().next() else {
            return Err(format!(
                "`{path}` cannot run: `python3` was not found on the `PATH`"
            ));
        };
        let given = Value::map([
            ("path", path.into()),
            ("text", program.text.into()),
            ("variables", program.variables.clone().into()),
        ]);
        let given = serde_json::to_vec(&given.revealed());
        let stdin = given.map_err(|error| format!("`{path}` cannot get its data: {error}"))?;
        let python = python.display().to_string();
        let output = sandbox.run(Helper {
            stdin,
            ..Helper::new([&*python, "-B", "-c", SCRIPT])
        });
        let output = output.map_err(|error| format!("`{path}` gave no states: {error}"))?;
        if let Some(error) = output.stdout.strip_prefix(&[ERROR_MARK]) {
            let error: serde_json::Value = serde_json::from_slice(error).unwrap_or_default();
            let reason = error["error"].as_str().unwrap_or_default();
            return Err(format!("the program failed: {reason}"));
        }
        if !output.is_ok() {
            let reason = last_line(&output.stderr);
            return Err(format!("the program ended without states: {reason}"));
        }
        String::from_utf8(output.stdout).map_err(|_| "the states are not UTF-8".to_owned())
    }
}
