//! The state `file.patch`: applies a patch to a file or to the files of a folder.
//!
//! The program `patch` first writes its result elsewhere, which tells whether the patch fits.

use super::plan::{expand_home, is_folder, parent, target_fact};
use super::source::{read_source, render_source, select_source, template_context};
use crate::host::change::{Change, ModeAndOwner};
use crate::host::fact::Domain;
use crate::states::modules::decision::{
    act_on_outputs, done, failure, require_facts, run_change, run_probe, unchanged,
};
use crate::states::modules::file_change;
use crate::states::{FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, refuse};
use crate::text::{base64, force_quote_word, quote_words, shlex_split};
use crate::value::Map;

/// The options of `patch` that the state sets itself.
const REFUSED: [&str; 6] = ["-N", "--forward", "-r", "--reject-file", "-o", "--output"];

/// A patch with the place to apply it.
struct DesiredPatch {
    path: String,
    is_folder: bool,
    options: Vec<String>,
    strip: Option<i64>,
    bytes: Vec<u8>,
    reject_file: Option<String>,
}

/// The result of a run of `patch`.
struct PatchRun {
    code: i64,
    stdout: String,
    stderr: String,
}

impl PatchRun {
    /// Returns the result in the form of changes.
    fn changes(&self) -> Map {
        Map::from_iter([
            ("pid".into(), 0.into()),
            ("retcode".into(), self.code.into()),
            ("stdout".into(), self.stdout.as_str().into()),
            ("stderr".into(), self.stderr.as_str().into()),
        ])
    }

    /// Returns the result as text, in the format `nested` of Salt.
    fn text(&self) -> String {
        let mut text = " ".repeat(14) + "----------";
        let code = self.code.to_string();
        let fields = [
            ("pid", "0"),
            ("retcode", &code),
            ("stderr", &self.stderr),
            ("stdout", &self.stdout),
        ];
        for (key, value) in fields {
            text.push_str(&format!("\n{:14}{key}:", ""));
            for line in value.lines() {
                text.push_str(&format!("\n{:18}{line}", ""));
            }
        }
        text
    }
}

/// Splits the options into those for `patch` and the number of leading folders to strip.
fn split_options(
    words: &[String],
    mut strip: Option<i64>,
) -> Result<(Vec<String>, Option<i64>), Halt> {
    let refused: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .filter(|word| REFUSED.iter().any(|option| word.starts_with(option)))
        .collect();
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let (option, number) = if let Some(number) = word.strip_prefix("-p") {
            ("-p", Some(number))
        } else if word.starts_with("--strip") {
            let number = word.rsplit_once('=').map(|(_, number)| number);
            ("-strip", number.or_else(|| rest.next().map(String::as_str)))
        } else {
            kept.push(word.clone());
            continue;
        };
        strip = number.and_then(|number| number.parse().ok());
        if strip.is_none() {
            return refuse(format!(
                "Invalid format for '{option}' CLI option. Consider using the 'strip' option for this state."
            ));
        }
    }
    if refused.is_empty() {
        return Ok((kept, strip));
    }
    refuse(format!(
        "The following CLI options are not allowed: {}",
        refused.join(", ")
    ))
}

impl DesiredPatch {
    fn from_call(call: &StateCall<'_>, facts: &FactCache) -> Result<Self, Halt> {
        if call.name.is_empty() {
            return refuse("A file/directory to be patched is required");
        }
        let written = call.text_or("options", "")?;
        let Some(words) = shlex_split(&written, None) else {
            return refuse(format!("`options: {written}` has a quote without an end"));
        };
        let (options, strip) = split_options(&words, call.int("strip")?)?;
        let path = expand_home(call.name, facts)?;
        if !path.starts_with('/') {
            return refuse(format!("{path} is not an absolute path"));
        }
        require_facts(facts, [target_fact(&path)])?;
        if facts.target(&path)?.is_none() {
            return refuse(format!("{path} does not exist"));
        }
        let is_patched_folder = is_folder(&path, facts)?;
        let reject_file = call.text("reject_file")?;
        if let Some(file) = &reject_file {
            if !file.starts_with('/') {
                return refuse(format!("'{file}' is not an absolute path"));
            }
            if !is_folder(parent(file), facts)? {
                return refuse(format!(
                    "Parent directory for reject_file '{file}' either does not exist, or is not a directory"
                ));
            }
        }
        Ok(Self {
            bytes: patch_bytes(call, facts)?,
            is_folder: is_patched_folder,
            path,
            options,
            strip,
            reject_file,
        })
    }

    /// Returns the command that runs `patch` with the file `$t/FILE` as the patch.
    fn command(&self, more: &[&str], file: &str, strips: bool) -> String {
        let options = quote_words(&self.options);
        let more = more.join(" ");
        let path = force_quote_word(&self.path);
        let target = match (self.is_folder, self.strip.filter(|_| strips)) {
            (false, _) => path,
            (true, Some(strip)) => format!("-p{strip} -d {path}"),
            (true, None) => format!("-d {path} --strip=0"),
        };
        format!("patch {options} {more} -i \"$t/{file}\" {target}")
    }

    /// Returns a script with the patch in the folder `$t`, which is removed at the end.
    fn script(&self, commands: &str) -> String {
        let content = base64::encode(&self.bytes);
        format!(
            "t=$(mktemp -d) || exit 125; trap 'rm -rf \"$t\"' EXIT\n\
             base64 -d >\"$t/patch\" <<'END' || exit 125\n{content}\nEND\n{commands}"
        )
    }

    /// Tries the patch without changing anything. Returns the result, and true if the patch is applied already.
    fn try_out(&self, facts: &FactCache) -> Result<TrialRun, Halt> {
        let own = ["-N", "-r", "\"$t/rejects\"", "-o", "\"$t/output\""];
        let first = self.command(&own, "patch", true);
        let reversed = ["-R", "-f", "--dry-run", "--forward", "--reject-file=-"];
        let reversed = self.command(&reversed, "rejects", false);
        let commands = format!(
            "command -v patch >/dev/null || exit 127\n\
             {first} >\"$t/o\" 2>\"$t/e\"; c=$?\n\
             r=1; if [ $c != 0 ]; then {reversed} >/dev/null 2>&1; r=$?; fi\n\
             echo \"$c $r\"; for f in o e rejects; do base64 -w 0 \"$t/$f\" 2>/dev/null; echo; done"
        );
        let domain = Domain::Path(self.path.clone());
        let probed = run_probe(facts, self.script(&commands), domain)?;
        if probed.code == 127 {
            return refuse("patch executable not found on minion");
        }
        let text = String::from_utf8_lossy(&probed.stdout);
        let mut lines = text.lines();
        let codes = lines.next().and_then(|line| line.split_once(' '));
        let codes = codes.and_then(|(code, back)| Some((code.parse().ok()?, back == "0")));
        let Some((code, is_applied)) = codes else {
            return refuse(format!(
                "the patch of {} cannot be tried: {}",
                self.path,
                String::from_utf8_lossy(&probed.stderr).trim()
            ));
        };
        let mut part = || lines.next().and_then(base64::decode).unwrap_or_default();
        let (stdout, stderr, rejects) = (part(), part(), part());
        let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        Ok(TrialRun {
            run: PatchRun {
                code,
                stdout: plain(&stdout),
                stderr: plain(&stderr),
            },
            is_applied,
            rejects,
        })
    }
}

/// The result of trying a patch.
struct TrialRun {
    run: PatchRun,
    is_applied: bool,
    /// The parts of the patch that do not fit.
    rejects: Vec<u8>,
}

/// Returns the patch, rendered if it is a template.
fn patch_bytes(call: &StateCall<'_>, facts: &FactCache) -> Result<Vec<u8>, Halt> {
    let Some(source) = select_source(call, facts)? else {
        return refuse("'source' of file.patch is missing: it names the patch");
    };
    let Some((bytes, path)) = read_source(call, &source.written, facts)? else {
        return refuse(format!(
            "Unable to manage file: Source file {} not found in saltenv '{}'",
            source.written,
            call.context.roots.env()
        ));
    };
    match call.non_empty_text("template")?.as_deref() {
        None => Ok(bytes.to_vec()),
        Some("jinja") => {
            let context = template_context(call)?;
            Ok(render_source(call, &bytes, &path, &context, facts)?.into_bytes())
        }
        Some(template) => refuse(format!(
            "Specified template format {template} is not supported"
        )),
    }
}

/// Decides `file.patch`.
pub(super) fn patch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let desired = DesiredPatch::from_call(call, facts)?;
    let trial = desired.try_out(facts)?;
    let run = &trial.run;
    if run.code == 2 && !run.stderr.is_empty() {
        return failure(run.stderr.clone());
    }
    if run.code != 0 && trial.is_applied {
        return unchanged("Patch was already applied");
    }
    if run.code != 0 {
        return misfit(call, &desired, trial);
    }
    let planned = StateOutcome::would_change(run.changes(), "The patch would be applied");
    let text = desired.command(&["--forward", "--reject-file=-"], "patch", true);
    let step = run_change(desired.script(&text), [Domain::Path(desired.path.clone())]);
    let step = match step {
        Change::Run(mut run) => {
            run.good_codes = (1..=2).collect();
            run.shown = Some(format!("patch {}", desired.path));
            Change::Run(run)
        }
        other => other,
    };
    act_on_outputs(planned, vec![step], |ended, _| {
        let Some(output) = ended.outputs.last() else {
            return Ok(StateOutcome::failed("Failed to apply patch"));
        };
        let run = PatchRun {
            code: i64::from(output.exit.code().unwrap_or(1)),
            stdout: output.stdout.text().trim_end().to_owned(),
            stderr: output.stderr.text().trim_end().to_owned(),
        };
        Ok(match run.code {
            0 => StateOutcome::changed(run.changes(), "Patch successfully applied"),
            _ => StateOutcome::failed_with(run.changes(), "Failed to apply patch"),
        })
    })
}

/// Returns the failure of a patch that does not fit. A real run keeps the parts that do not fit in `reject_file`.
fn misfit(
    call: &StateCall<'_>,
    desired: &DesiredPatch,
    trial: TrialRun,
) -> Result<StateDecision, Halt> {
    let mut comment =
        "Patch would not apply cleanly, no changes made. Results of dry-run are below.".to_owned();
    if desired.reject_file.is_none() {
        comment.push_str(
            " Run state again using the reject_file option to save rejects to a persistent file.",
        );
    }
    comment = format!("{comment}\n\n{}", trial.run.text());
    let outcome = StateOutcome::failed(comment);
    match (&desired.reject_file, call.mode) {
        (Some(file), Mode::Apply) => {
            let write = file_change::write(file, trial.rejects, ModeAndOwner::default());
            act_on_outputs(
                outcome.clone(),
                vec![write],
                move |_, _| Ok(outcome.clone()),
            )
        }
        _ => done(outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_state_sets_some_options_itself() {
        let (kept, strip) = split_options(&words("-p1 -F 0 --strip=2"), None).unwrap();
        assert_eq!((kept, strip), (words("-F 0"), Some(2)));
        assert_eq!(
            split_options(&words("--strip 3"), Some(1)).unwrap().1,
            Some(3)
        );
        assert!(split_options(&words("-px"), None).is_err());
        assert!(split_options(&words("--output=/x"), None).is_err());
        assert!(split_options(&words("--strip"), None).is_err());
    }
}
