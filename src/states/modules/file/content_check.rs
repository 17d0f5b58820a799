//! The argument `check_cmd`: a command that decides whether new content is written.

use std::cmp::Ordering;

use super::desired_file::{DesiredFile, FileBody, verification_change};
use super::plan::FilePlan;
use super::signature::SignatureCheck;
use crate::host::RunOutput;
use crate::host::change::{Change, CommandRun};
use crate::states::modules::decision::act_on_outputs;
use crate::states::{Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::force_quote_word;

/// The argument `check_cmd`: a command that the new content must pass before the file is written.
pub(super) struct ContentCheck {
    command: String,
    /// The signature, which is verified before the command sees the content.
    signature: Option<SignatureCheck>,
}

impl ContentCheck {
    /// Reads the argument; None without it. The check of the signature moves here from the desired file.
    pub(super) fn from_call(
        call: &StateCall<'_>,
        desired: &mut DesiredFile,
    ) -> Result<Option<Self>, Halt> {
        let command = call.non_empty_text("check_cmd")?;
        Ok(command.map(|command| Self {
            command,
            signature: desired.signature.take(),
        }))
    }

    /// Adds the steps that check the new content; the file is written only if they succeed.
    pub(super) fn before_write(
        &self,
        call: &StateCall<'_>,
        mut work: FilePlan,
        desired: &DesiredFile,
    ) -> Result<StateDecision, Halt> {
        let bytes = match &desired.body {
            FileBody::Explicit(bytes) | FileBody::FromSource(bytes) => bytes.clone(),
            FileBody::Any => Vec::new(),
            FileBody::CopyOf(_) | FileBody::Download(..) => {
                return refuse(
                    "`check_cmd` cannot check a download or a file of the machine: use `contents` or a salt:// source",
                );
            }
        };
        if work.steps.is_empty() {
            return Ok(work.into_decision(call.mode));
        }
        let mut checks = Vec::new();
        if let Some(signature) = &self.signature {
            let commands = signature.commands("\"$t\"");
            checks.push(verification_change(&commands, &bytes, &desired.path));
        }
        checks.push(self.command_change(call, bytes, &desired.path)?);
        // The position of the command's output.
        let at = checks.len() - 1;
        work.steps.splice(0..0, checks);
        if call.mode == Mode::Test {
            return Ok(work.into_decision(call.mode));
        }
        let FilePlan { test, apply, steps } = work;
        act_on_outputs(test, steps, move |ended, _| {
            Ok(check_outcome(ended.outputs, at, &apply))
        })
    }

    /// Returns the change that runs the command on the content in a temporary file.
    fn command_change(
        &self,
        call: &StateCall<'_>,
        bytes: Vec<u8>,
        path: &str,
    ) -> Result<Change, Halt> {
        let command = &self.command;
        let folder = call.text_or("tmp_dir", "/tmp")?;
        let ending = call.text("tmp_ext")?.unwrap_or_default();
        let text = format!(
            "umask 077; d=$(mktemp -d {}/unfurl.XXXXXX) || exit 1; f=\"$d\"/file{}; cat >\"$f\"; \
             {command} \"$f\"; r=$?; rm -rf -- \"$d\"; exit $r",
            force_quote_word(&folder),
            force_quote_word(&ending),
        );
        Ok(Change::Run(CommandRun {
            stdin: Some(bytes),
            shown: Some(format!("{command} {path}")),
            ..CommandRun::new(text).touching([])
        }))
    }
}

/// Returns the outcome of the steps. `at` is the position of the output of `check_cmd`.
fn check_outcome(results: &[RunOutput], at: usize, apply: &StateOutcome) -> StateOutcome {
    let Some(failed) = results.iter().position(|result| !result.exit.is_ok()) else {
        return apply.clone();
    };
    let texts = [&results[failed].stdout, &results[failed].stderr];
    let texts = texts.map(|text| text.text().trim_end().to_owned());
    let mut lines: Vec<&str> = texts.iter().map(|text| &**text).collect();
    match failed.cmp(&at) {
        // The signature is not accepted, and its check says why.
        Ordering::Less => {}
        Ordering::Equal => lines.insert(0, "check_cmd execution failed"),
        Ordering::Greater => lines.insert(0, "Unable to manage file"),
    }
    lines.retain(|line| !line.is_empty());
    StateOutcome {
        skip_watch: true,
        ..StateOutcome::failed(lines.join("\n"))
    }
}
