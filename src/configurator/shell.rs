//! The Shell configurator: runs one command, on this machine or on the operation's host (rule U-k).

use std::path::Path;

use super::remote::RemoteCommandRun;
use super::script::Script;
use super::shell_run::{ShellRun, capture_limit, shell_script};
use crate::expr::{Error, LocalContext};
use crate::task::{
    Configurator, ConfiguratorRefusal, OperationRun, RenderedFile, RenderedTask, TaskView,
    TaskWork, WorkFolder, WorkInputs,
};
use crate::text::shlex_quote;
use crate::value::{Map, Value};

/// Runs the shell command of the input `command`.
#[derive(Debug)]
pub(super) struct ShellConfigurator {
    command_host: CommandHost,
    /// The script that the command runs, if an artifact has it.
    script: Option<Script>,
}

/// The machine that a command runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandHost {
    Local,
    OperationHost,
}

impl ShellConfigurator {
    /// Creates a configurator that runs commands on this machine.
    pub(super) fn local() -> Self {
        Self {
            command_host: CommandHost::Local,
            script: None,
        }
    }

    /// Returns the configurator for the command of a script.
    pub(super) fn with_script(self, script: Option<Script>) -> Self {
        Self { script, ..self }
    }

    /// Returns the command with the interpreter of its script, if it needs one.
    fn with_interpreter(&self, command: Value, task: &TaskView<'_>) -> Value {
        match &self.script {
            Some(script) => script.with_interpreter(command, task),
            None => command,
        }
    }

    /// Creates a configurator that runs commands on the operation's host.
    pub(super) fn on_operation_host() -> Self {
        Self {
            command_host: CommandHost::OperationHost,
            script: None,
        }
    }
}

impl Configurator for ShellConfigurator {
    fn class_name(&self) -> &'static str {
        match self.command_host {
            CommandHost::Local => "unfurl.configurators.shell.ShellConfigurator",
            CommandHost::OperationHost => "unfurl.configurators.CmdConfigurator",
        }
    }

    fn runs_on_operation_host(&self) -> bool {
        self.command_host == CommandHost::OperationHost
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate", "done", "cwd", "echo", "capture"]
    }

    /// Adds the playbook that Unfurl makes of the command of another machine: its digests of earlier jobs are over it.
    fn add_inputs(&self, inputs: &mut Map, _local_context: &dyn LocalContext, _base_dir: &Path) {
        if self.command_host == CommandHost::Local || inputs.contains_key("playbook") {
            return;
        }
        if let Some(playbook) = playbook_of_unfurl(inputs) {
            inputs.insert("playbook".into(), playbook);
        }
    }

    fn can_run(&self, task: &TaskView<'_>) -> Result<(), ConfiguratorRefusal> {
        let command = task
            .input("command")
            .map_err(|error| ConfiguratorRefusal(error.to_string()))?;
        let Some(command) = command.filter(Value::is_truthy) else {
            return Err(ConfiguratorRefusal("missing command to execute".to_owned()));
        };
        let command = self.with_interpreter(command, task);
        let shell = task.input("shell").ok().flatten();
        let shell = shell.is_some_and(|shell| shell.is_truthy());
        if let Some(words) = command.as_list()
            && !shell
            && self.command_host == CommandHost::Local
        {
            let program = words[0].to_string();
            if !task.has_program(&program) {
                return Err(ConfiguratorRefusal(format!(
                    "'{program}' is not executable"
                )));
            }
        }
        Ok(())
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        if self.command_host == CommandHost::OperationHost {
            // If the machine has no address yet, the task waits for it.
            task.machine()?;
        }
        capture_limit(task)?;
        let command = task.input("command")?.unwrap_or(Value::Null);
        let cwd = task.input_text("cwd")?;
        let command = resolve_dry_run(command, task)?;
        let is_text = command.as_str().is_some();
        let shell = match task.input("shell")?.filter(|shell| !shell.is_null()) {
            Some(shell) => shell,
            None => Value::Bool(is_text),
        };
        let command = with_arguments(command, task, shell.is_truthy())?;
        let keeplines = task
            .input("keeplines")?
            .is_some_and(|value| value.is_truthy());
        let command = one_line(command, keeplines);
        let command = self.with_interpreter(command, task);
        // The file is for inspection and may be committed to a repository, so secrets are redacted.
        let script = shell_script(&command.redacted());
        let file = RenderedFile {
            folder: WorkFolder::Operation,
            path: "rendered.sh".to_owned(),
            bytes: script.into_bytes(),
            sensitive: command.has_sensitive(),
        };
        let data = Map::from_iter([
            ("command".into(), command),
            ("cwd".into(), Value::from(cwd)),
            ("shell".into(), shell),
        ]);
        Ok(RenderedTask {
            files: vec![file],
            data: Value::from(data),
        })
    }

    fn work(&self, inputs: &WorkInputs<'_>, rendered: Option<&Value>) -> TaskWork {
        let rendered = rendered.and_then(|data| data.get("command"));
        let command = rendered.or_else(|| inputs.get("command"));
        TaskWork::command(
            command.unwrap_or(&Value::Null),
            inputs.written.get("command"),
        )
    }

    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun> {
        let shell = ShellRun {
            rendered: rendered.data,
            is_silent: false,
        };
        match self.command_host {
            CommandHost::Local => Box::new(shell),
            CommandHost::OperationHost => Box::new(RemoteCommandRun::new(shell)),
        }
    }
}

/// Inserts the input `dryrun` into the command, or removes its placeholder.
fn resolve_dry_run(command: Value, task: &TaskView<'_>) -> Result<Value, Error> {
    const PLACEHOLDER: &str = "%dryrun%";
    let argument = task.input("dryrun")?;
    let argument = argument.filter(|_| task.settings.dry_run);
    let argument = argument.as_ref().and_then(Value::as_str);
    let sensitive = command.has_sensitive();
    let resolved = match (command.reveal(), argument) {
        (Value::Str(text), Some(argument)) if text.contains(PLACEHOLDER) => {
            text.replace(PLACEHOLDER, argument).into()
        }
        (Value::Str(text), Some(argument)) => format!("{text} {argument}").into(),
        (Value::Str(text), None) if text.contains(PLACEHOLDER) => {
            text.replace(PLACEHOLDER, "").into()
        }
        (Value::List(words), argument) => {
            let at = words
                .iter()
                .position(|word| word.as_str() == Some(PLACEHOLDER));
            let mut words = words.as_ref().clone();
            match (at, argument) {
                (Some(at), Some(argument)) => words[at] = argument.into(),
                (Some(at), None) => drop(words.remove(at)),
                (None, Some(argument)) => words.push(argument.into()),
                (None, None) => {}
            }
            Value::from(words)
        }
        _ => return Ok(command),
    };
    Ok(resolved.sensitive_if(sensitive))
}

/// Appends `arguments` to a command that is a single word.
fn with_arguments(command: Value, task: &TaskView<'_>, shell: bool) -> Result<Value, Error> {
    let single = match command.reveal() {
        Value::Str(text) => !text.contains(' '),
        Value::List(words) => words.len() == 1,
        _ => false,
    };
    if !single {
        return Ok(command);
    }
    let arguments = task.input("arguments")?;
    let Some(arguments) = arguments.as_ref().and_then(Value::as_map) else {
        return Ok(command);
    };
    let sensitive = command.has_sensitive() || arguments.values().any(Value::has_sensitive);
    let words = arguments.iter().map(|(name, value)| {
        let dashes = if name.starts_with('-') { "" } else { "--" };
        let value = value.reveal().to_string();
        let value = if shell { shlex_quote(&value) } else { value };
        format!("{dashes}{name} {value}")
    });
    let extended = match command.reveal() {
        Value::Str(text) => {
            let words: Vec<String> = words.collect();
            if words.is_empty() {
                return Ok(command);
            }
            Value::from(format!("{text} {}", words.join(" ")))
        }
        Value::List(list) => Value::list(list.iter().cloned().chain(words.map(Value::from))),
        _ => return Ok(command),
    };
    Ok(extended.sensitive_if(sensitive))
}

fn one_line(command: Value, keep_lines: bool) -> Value {
    match command.reveal() {
        Value::Str(text) if !keep_lines && text.contains('\n') => {
            Value::from(text.replace('\n', " ")).sensitive_if(command.has_sensitive())
        }
        _ => command,
    }
}

/// Returns the playbook that Unfurl makes of a command for another machine. None without a command.
fn playbook_of_unfurl(inputs: &Map) -> Option<Value> {
    let (module, command) = match inputs.get("command")? {
        Value::List(words) => ("command", words.first()?.clone()),
        text => ("shell", text.clone()),
    };
    let mut arguments = Map::from_iter([("cmd".into(), command)]);
    if let Some(folder) = inputs.get("cwd").filter(|folder| folder.is_truthy()) {
        arguments.insert("chdir".into(), folder.clone());
    }
    if let Some(shell) = inputs.get("shell").filter(|shell| shell.as_str().is_some()) {
        arguments.insert("executable".into(), shell.clone());
    }
    let task = Value::map([(module, Value::from(arguments))]);
    Some(Value::list([task]))
}
