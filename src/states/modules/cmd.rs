//! The state module `cmd`: runs commands and scripts.
//!
//! `run` and `script` build the command; [`ResultPolicy`] turns its output into the outcome, including
//! Salt's "stateful" commands, which report their own changes.

use crate::states::modules::decision::{act_on_outputs, done, failure};
use std::sync::Arc;

use crate::host::change::{Change, CommandRun};
use crate::host::{CapturedOutput, Exit, IncompleteOutput, RunOutput};
use crate::states::command_args::{parse_setting, trimmed_output};
use crate::states::{
    ChangeOutcome, ChangeSet, FactCache, Halt, IncompleteChanges, Mode, StateCall, StateDecision,
    StateFn, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::{Map, REDACTED, Value};

pub(in crate::states) static MODULE: StateModule = StateModule {
    name: "cmd",
    functions: &[
        function("run", run, RUN_OPTIONS).about("Runs a command."),
        function("wait", |_, _| Ok(no_op()), RUN_OPTIONS)
            .about("Runs a command only if a watched state has changed."),
        function("watch", |_, _| Ok(no_op()), RUN_OPTIONS)
            .about("Runs a command only if a watched state has changed."),
        function("script", script, SCRIPT_OPTIONS).about("Runs a script of the state tree."),
        function("wait_script", |_, _| Ok(no_op()), SCRIPT_OPTIONS)
            .about("Runs a script only if a watched state has changed."),
        function("call", call, "*").about("Calls a function of Python in Salt; refused here."),
        function("wait_call", |_, _| Ok(no_op()), "*")
            .about("Calls a function of Python in Salt; refused here."),
    ],
    watch: Some(mod_watch),
    aggregate: None,
};

const RUN_OPTIONS: &str = "cwd root runas password shell env prepend_path umask stateful output_loglevel \
    hide_output timeout ignore_timeout use_vt bg success_retcodes success_stdout success_stderr \
    stdin python_shell rstrip *";

const SCRIPT_OPTIONS: &str = "source template cwd root runas password shell env umask stateful timeout \
    use_vt output_loglevel hide_output defaults context args bg success_retcodes success_stdout \
    success_stderr ignore_timeout *";

const fn function(name: &'static str, run: StateFn, options: &'static str) -> StateFunction {
    StateFunction::new(name, run)
        .options(options)
        .irreversible("the effects of the command are unknown")
}

fn no_op() -> StateDecision {
    StateDecision::Done(StateOutcome::unchanged(""))
}

/// Whether the command reports its own changes in its output (argument `stateful`).
fn is_stateful(call: &StateCall<'_>) -> bool {
    match call.arg("stateful") {
        Some(Value::Bool(truth)) => *truth,
        Some(Value::List(items)) => !items.is_empty(),
        _ => false,
    }
}

/// Returns the `test_name` of `stateful`: a command that a dry run executes instead and that changes
/// nothing.
fn test_name(call: &StateCall<'_>) -> Option<String> {
    let Some(Value::List(items)) = call.arg("stateful") else {
        return None;
    };
    Some(items.first()?.get("test_name")?.to_string())
}

/// Returns the predicted outcome of a dry run.
fn dry_run_outcome(call: &StateCall<'_>, quote: char) -> StateOutcome {
    let comment = format!(
        "Command {quote}{}{quote} would have been executed",
        call.name
    );
    if is_stateful(call) {
        return StateOutcome::planned("");
    }
    let changes = match quote {
        '"' => Map::from_iter([("cmd".into(), call.name.into())]),
        _ => Map::new(),
    };
    StateOutcome::would_change(changes, comment)
}

/// Returns the failed outcome if the desired working directory does not exist.
fn missing_cwd(call: &StateCall<'_>, facts: &FactCache) -> Result<Option<StateOutcome>, Halt> {
    let Some(cwd) = call.non_empty_text("cwd")? else {
        return Ok(None);
    };
    let is_there = facts
        .target(&cwd)?
        .is_some_and(crate::host::fact::FileStat::is_folder);
    let comment = format!("Desired working directory \"{cwd}\" is not available");
    Ok((!is_there).then(|| StateOutcome::failed(comment)))
}

fn run(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let tested = test_name(call).filter(|_| call.mode == Mode::Test);
    if let (Mode::Apply, Some(lost)) = (call.mode, missing_cwd(call, facts)?) {
        return Ok(StateDecision::Done(lost));
    }
    let mut command = build_command(call, call.name.to_owned())?;
    if let Some(root) = call.text("root")? {
        let shell = command.setting.shell.as_deref().unwrap_or("/bin/sh");
        command.text = format!(
            "chroot {} {} -c {}",
            quote_word(&root),
            quote_word(shell),
            quote_word(&command.text)
        );
    }
    if let Some(name) = tested {
        // By Salt's contract the `test_name` command changes nothing, so it runs as a probe.
        return run_test_command(call, &command, &name, facts);
    }
    let policy = ResultPolicy::from_call(call, "\"");
    let steps = vec![Change::Run(command)];
    act_on_outputs(dry_run_outcome(call, '"'), steps, move |ended, _| {
        Ok(policy.outcome(ended.outputs.first()))
    })
}

fn run_test_command(
    call: &StateCall<'_>,
    command: &CommandRun,
    name: &str,
    facts: &FactCache,
) -> Result<StateDecision, Halt> {
    let probe = crate::states::command_args::volatile_probe(name, command.setting.clone());
    let probed = facts.probe(probe)?;
    let output = RunOutput {
        stdout: CapturedOutput::from_bytes(probed.stdout.clone()),
        stderr: CapturedOutput::from_bytes(probed.stderr.clone()),
        ..RunOutput::not_run(Exit::Code(probed.code))
    };
    let mut outcome = ResultPolicy::from_call(call, "\"").outcome(Some(&output));
    if probed.code == 0 && !outcome.changes.is_empty() {
        outcome.result = None;
    }
    Ok(StateDecision::Done(outcome))
}

/// Builds a command with the execution settings from the state's arguments.
fn build_command(call: &StateCall<'_>, text: String) -> Result<CommandRun, Halt> {
    let mut command = CommandRun::new(text);
    command.setting = parse_setting(|key| call.args.get(key))?;
    let is_background = call.flag("bg", false);
    command.keeps_background = is_background;
    if is_background {
        command.text = format!("{{ {}\n}} </dev/null >/dev/null 2>&1 &", command.text);
    }
    if let Some(paths) = call.arg("prepend_path") {
        let paths = match paths {
            Value::List(_) => call.texts("prepend_path")?.join(":"),
            other => other.to_string(),
        };
        command.text = format!(
            "PATH={}:\"$PATH\"; export PATH\n{}",
            quote_word(&paths),
            command.text
        );
    }
    command.stdin = call.text("stdin")?.map(String::into_bytes);
    command.good_codes = good_codes(call);
    let hides = ["env", "stdin", "name"]
        .iter()
        .any(|key| call.is_sensitive(key));
    command.shown = hides.then(|| REDACTED.to_owned());
    Ok(command)
}

fn good_codes(call: &StateCall<'_>) -> Vec<i32> {
    let code = |value: &Value| i32::try_from(value.as_int()?).ok();
    match call.arg("success_retcodes") {
        Some(Value::List(codes)) => codes.iter().filter_map(code).collect(),
        Some(one) => code(one).into_iter().collect(),
        None => Vec::new(),
    }
}

/// The arguments of a state that decide how a finished command becomes an outcome.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag is an independent argument"
)]
struct ResultPolicy {
    comment: String,
    stateful: bool,
    hidden: bool,
    is_background: bool,
    ignores_timeout: bool,
    good_codes: Vec<i32>,
    good_stdout: Vec<String>,
    good_stderr: Vec<String>,
    time_limit: Option<std::time::Duration>,
    /// The command as the state names it.
    command: String,
}

impl ResultPolicy {
    fn from_call(call: &StateCall<'_>, quote: &str) -> Self {
        let limit = parse_setting(|key| call.args.get(key))
            .ok()
            .and_then(|it| it.time_limit);
        Self {
            comment: format!("Command {quote}{}{quote} run", call.name),
            stateful: is_stateful(call),
            hidden: call.flag("hide_output", false),
            is_background: call.flag("bg", false),
            ignores_timeout: call.flag("ignore_timeout", false),
            good_codes: good_codes(call),
            good_stdout: call.texts("success_stdout").unwrap_or_default(),
            good_stderr: call.texts("success_stderr").unwrap_or_default(),
            time_limit: limit,
            command: call.name.to_owned(),
        }
    }

    /// Fails if an output that decides about the outcome was not kept whole.
    fn check_outputs(&self, run: &RunOutput) -> Result<(), IncompleteOutput> {
        if self.stateful || !self.good_stdout.is_empty() {
            run.stdout.whole()?;
        }
        if !self.good_stderr.is_empty() {
            run.stderr.whole()?;
        }
        Ok(())
    }

    /// Returns the outputs among the changes of which only a part is known.
    fn incomplete_changes(&self, run: &RunOutput) -> Option<Box<IncompleteChanges>> {
        let outputs = [("stdout", &run.stdout), ("stderr", &run.stderr)];
        let reasons = outputs.into_iter().filter(|_| !self.hidden);
        let reasons = reasons.filter_map(|(name, output)| Some((name, output.whole().err()?)));
        let reasons: Vec<_> = reasons.collect();
        (!reasons.is_empty()).then(|| Box::new(IncompleteChanges(reasons)))
    }

    fn outcome(&self, run: Option<&RunOutput>) -> StateOutcome {
        let Some(run) = run else {
            return StateOutcome::failed("the command was not run");
        };
        if let Err(incomplete) = self.check_outputs(run) {
            return StateOutcome::failed(incomplete.to_string());
        }
        let text = |output: &CapturedOutput| trimmed_output(output.text().as_bytes());
        let (mut stdout, mut stderr) = (text(&run.stdout), text(&run.stderr));
        let mut code = match &run.exit {
            Exit::Code(_) | Exit::Signal(_) => run.exit.code().unwrap_or(1),
            Exit::TimedOut => {
                let seconds = self.time_limit.map_or(0.0, |it| it.as_secs_f64());
                stdout = format!("{} : Timed out after {seconds} seconds", self.command);
                i32::from(!self.ignores_timeout)
            }
            other => return StateOutcome::failed(other.to_string()),
        };
        let good = self.good_codes.contains(&code)
            || self.good_stdout.contains(&stdout)
            || self.good_stderr.contains(&stderr);
        if good {
            code = 0;
        }
        if self.hidden {
            stdout.clear();
            stderr.clear();
        }
        let changes = if self.is_background {
            Map::from_iter([("pid".into(), 0.into())])
        } else {
            Map::from_iter([
                ("pid".into(), 0.into()),
                ("retcode".into(), i64::from(code).into()),
                ("stdout".into(), stdout.into()),
                ("stderr".into(), stderr.into()),
            ])
        };
        let outcome = StateOutcome {
            result: Some(code == 0),
            incomplete: self.incomplete_changes(run),
            ..StateOutcome::changed(changes, self.comment.clone())
        };
        if self.stateful {
            apply_stateful_output(outcome)
        } else {
            outcome
        }
    }
}

/// Reads the outcome from the output of a stateful command.
///
/// The output is a JSON object, or has a last line of `name=value` pairs, with the keys `changed` and
/// `comment`.
fn apply_stateful_output(mut outcome: StateOutcome) -> StateOutcome {
    let printed = std::mem::take(&mut outcome.changes);
    outcome.comment.clear();
    let text = |key: &str| printed.get(key).map(Value::to_string).unwrap_or_default();
    let stdout = text("stdout");
    if stdout.is_empty() {
        outcome.comment = text("stderr");
        return outcome;
    }
    let failed = |mut outcome: StateOutcome, comment: &str, changes: Map| {
        comment.clone_into(&mut outcome.comment);
        outcome.result = Some(false);
        outcome.changes = changes;
        outcome
    };
    let (data, rest) = match serde_json::from_str::<serde_json::Value>(&stdout) {
        Ok(serde_json::Value::Object(object)) => (Some(change_values(&object)), String::new()),
        Ok(_) => {
            let comment = "script JSON output must be a JSON object (e.g., {})!";
            return failed(outcome, comment, Map::new());
        }
        Err(_) => {
            let (before, last) = stdout
                .rsplit_once('\n')
                .unwrap_or_else(|| (without_last(&stdout), &stdout));
            (parse_pairs(last), before.to_owned())
        }
    };
    let Some(mut data) = data else {
        let comment =
            "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.";
        return failed(outcome, comment, printed);
    };
    let changed = data
        .get("changed")
        .map_or("no".to_owned(), Value::to_string)
        .to_lowercase();
    if let Some(comment) = data.shift_remove("comment") {
        outcome.comment = comment.to_string();
    }
    match changed.as_str() {
        "true" | "yes" | "1" => {
            for (key, value) in printed {
                data.entry(key).or_insert(value);
            }
            data.insert("stdout".into(), rest.into());
            outcome.changes = data;
        }
        "false" | "no" | "0" => {}
        other => {
            let comment = format!("Failed parsing boolean value: {other}");
            return failed(outcome, &comment, Map::new());
        }
    }
    outcome
}

/// Returns a line without its last character. Salt keeps this much of a stateful command's only line.
fn without_last(line: &str) -> &str {
    let mut characters = line.chars();
    characters.next_back();
    characters.as_str()
}

/// Converts a JSON object to values for a state's changes. Nested values become JSON text.
fn change_values(object: &serde_json::Map<String, serde_json::Value>) -> Map {
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Value::str(text.as_str()),
        serde_json::Value::Bool(truth) => (*truth).into(),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(number) => number.into(),
            None => number.to_string().into(),
        },
        other => other.to_string().into(),
    };
    let pairs = object.iter();
    pairs
        .map(|(key, value)| (Arc::from(key.as_str()), word(value)))
        .collect()
}

/// Parses `name=value` pairs whose values may be quoted; None if a word is no such pair.
fn parse_pairs(line: &str) -> Option<Map> {
    let mut found = Map::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut words = Vec::new();
    for it in line.trim().chars().chain([' ']) {
        match quote {
            Some(mark) if it == mark => quote = None,
            None if it == '"' || it == '\'' => quote = Some(it),
            None if it.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(it),
        }
    }
    for word in words {
        let (key, value) = word.split_once('=')?;
        if value.contains('=') {
            return None;
        }
        found.insert(key.into(), value.into());
    }
    Some(found)
}

fn script(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    if let (Mode::Apply, Some(lost)) = (call.mode, missing_cwd(call, facts)?) {
        return Ok(StateDecision::Done(lost));
    }
    for key in ["context", "defaults"] {
        if call
            .arg(key)
            .is_some_and(|it| it.is_truthy() && it.as_map().is_none())
        {
            return failure(format!(
                "Invalidly-formatted '{key}' parameter. Must be formed as a dict."
            ));
        }
    }
    let source = match call.text("source")? {
        Some(source) => source,
        None => call
            .name
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    let args = match call.text("args")? {
        Some(args) => args,
        None => call
            .name
            .split_once(' ')
            .map_or("", |(_, args)| args)
            .to_owned(),
    };
    let lost = |reason: String| failure(reason);
    let run = if let Some(path) = source.strip_prefix("salt://") {
        if call.mode == Mode::Test {
            return Ok(dry_run_script_outcome(call, dry_run_outcome(call, '\'')));
        }
        let bytes = match call.context.roots.read(path) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let env = call.context.roots.env();
                let comment = format!("Unable to cache script {source} from saltenv '{env}'");
                let changes = missing_script_changes();
                return done(StateOutcome::failed_with(changes, comment));
            }
            Err(error) => return lost(error.to_string()),
        };
        let bytes = render_script(call, &bytes, path, facts)?;
        let mut run = build_command(call, format!("{SCRIPT_WRAPPER} {args} </dev/null"))?;
        run.stdin = Some(bytes);
        run
    } else {
        build_command(call, format!("{} {args}", quote_word(&source)))?
    };
    let policy = ResultPolicy::from_call(call, "'");
    let steps = vec![Change::Run(run)];
    act_on_outputs(dry_run_outcome(call, '\''), steps, move |ended, _| {
        Ok(policy.outcome(ended.outputs.last()))
    })
}

/// Writes standard input to a temporary file that no other user can read or guess, and runs that file.
///
/// The trap removes the file however the script ends.
const SCRIPT_WRAPPER: &str = "script=$(mktemp) || exit 1\ntrap 'rm -f \"$script\"' EXIT\n\
                      cat > \"$script\" && chmod 500 \"$script\" || exit 1\n\"$script\"";

/// Returns the dry-run decision for a script without reading its source.
fn dry_run_script_outcome(call: &StateCall<'_>, predicted: StateOutcome) -> StateDecision {
    let comment = predicted.comment.clone();
    StateDecision::Change(ChangeSet {
        predicted,
        steps: vec![Change::Run(CommandRun::new(format!(
            ": {}",
            quote_word(call.name)
        )))],
        finish: ChangeOutcome::Fixed(StateOutcome::unchanged(comment)),
    })
}

fn render_script(
    call: &StateCall<'_>,
    bytes: &[u8],
    path: &str,
    facts: &FactCache,
) -> Result<Vec<u8>, Halt> {
    match call.text("template")?.as_deref() {
        None | Some("") => return Ok(bytes.to_vec()),
        Some("jinja") => {}
        Some(other) => {
            return refuse(format!(
                "template engine `{other}` is not supported: use `template: jinja`"
            ));
        }
    }
    let text = call.render_template(&String::from_utf8_lossy(bytes), path, facts)?;
    Ok(text.into_bytes())
}

fn call(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    refuse(format!(
        "cmd.{} calls a Python function, which is not supported: use cmd.run or cmd.script",
        call.fun
    ))
}

fn mod_watch(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    match call.fun {
        "wait" | "run" | "watch" => run(call, facts),
        "wait_script" | "script" => script(call, facts),
        _ => self::call(call, facts),
    }
}

/// Returns the changes of a script that does not exist, as in Salt.
fn missing_script_changes() -> Map {
    Map::from_iter([
        ("pid".into(), 0.into()),
        ("retcode".into(), 1.into()),
        ("stdout".into(), "".into()),
        ("stderr".into(), "".into()),
        ("cache_error".into(), true.into()),
    ])
}
