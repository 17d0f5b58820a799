//! Reads the steps of a task.
//!
//! Also reads `env` settings, which both `set` steps and files contain.

use super::field_reader::FieldReader;
use super::keys::{ACTION_KEYS, ENV_KEYS, EXECUTE_KEYS, EXTEND_KEYS, PROMPT_KEYS, STEP_KEYS};
use super::local_shell;
use super::read_transfer::{read_get, read_transfer};
use super::{
    CommandOptions, EnvSettings, Execute, PasswordTexts, RoleDef, ScopeText, StepAction, Switches,
    TaskCall, TaskStep, TemplateText,
};
use crate::text::Pattern;
use crate::value::Value;
use crate::yaml::{Node, NodeKind};

/// Reads a step. A plain text is a command for the host.
pub(super) fn read_step(fields: &mut FieldReader, node: &Node) -> Option<TaskStep> {
    if let Some(text) = node.as_str() {
        return Some(TaskStep {
            action: StepAction::Run(TemplateText::new(text)),
            condition: None,
            register: None,
            warn_only: false,
            options: CommandOptions::default(),
            span: node.span(),
        });
    }
    if !fields.check_map(node, &STEP_KEYS) {
        return None;
    }
    let action = read_action(fields, node)?;
    Some(TaskStep {
        action,
        condition: fields.scalar(node, "when"),
        register: fields.string(node, "register").map(Into::into),
        warn_only: fields.is_set(node, "warn_only"),
        options: read_command_options(fields, node),
        span: node.span(),
    })
}

/// Whether a step has an unknown key.
fn has_unknown_key(node: &Node) -> bool {
    let keys = node.as_map().into_iter().flatten();
    keys.into_iter().any(|(key, _)| !STEP_KEYS.has_key(key))
}

/// Whether a map contains a key for an action.
pub(super) fn has_action(node: &Node) -> bool {
    ACTION_KEYS.iter().any(|action| node.get(action).is_some())
}

/// Reads the single step of a task that states its action directly.
///
/// Conditions on such a task belong to the task.
pub(super) fn read_inline_step(fields: &mut FieldReader, node: &Node) -> Option<TaskStep> {
    Some(TaskStep {
        action: read_action(fields, node)?,
        condition: None,
        register: None,
        warn_only: false,
        options: read_command_options(fields, node),
        span: node.span(),
    })
}

/// Reads the action of a step. Exactly one key may state it.
fn read_action(fields: &mut FieldReader, node: &Node) -> Option<StepAction> {
    let actions: Vec<&str> = ACTION_KEYS
        .iter()
        .copied()
        .filter(|action| node.get(action).is_some())
        .collect();
    let key = match actions[..] {
        [key] => key,
        // An unknown key was reported already.
        [] if has_unknown_key(node) => return None,
        [] => {
            let help = format!("add one of `{}`", ACTION_KEYS.join("`, `"));
            fields.report("the step has no action", node.span(), Some(help));
            return None;
        }
        _ => {
            let message = format!(
                "a step can have only one action, but this one has `{}`",
                actions.join("` and `")
            );
            let help = "write a separate step for each action".to_owned();
            fields.report(&message, node.span(), Some(help));
            return None;
        }
    };
    let value = node.get(key)?;
    if value.is_null() {
        fields.report(&format!("`{key}` must not be empty"), value.span(), None);
        return None;
    }
    match key {
        "run" => fields.text(node, key).map(StepAction::Run),
        "sudo" => Some(StepAction::Sudo {
            text: fields.text(node, key)?,
            user: fields.text(node, "user"),
        }),
        "local" => fields.text(node, key).map(StepAction::Local),
        "put" => read_transfer(fields, value).map(StepAction::Put),
        "template" => read_transfer(fields, value).map(StepAction::Template),
        "get" => read_get(fields, value),
        "prompt" => read_prompt(fields, value),
        "set" => Some(StepAction::Set(Box::new(read_settings(fields, value)))),
        "execute" => {
            read_execute(fields, value).map(|execute| StepAction::Execute(Box::new(execute)))
        }
        "abort" => fields.text(node, key).map(StepAction::Abort),
        _ => fields.text(node, key).map(StepAction::Echo),
    }
}

/// Reports options that need a shell, in a step with `raw`.
fn report_unusable_with_raw(fields: &mut FieldReader, node: &Node) {
    if !node.get("raw").and_then(Node::as_bool).unwrap_or_default() {
        return;
    }
    for key in ["cd", "env", "shell", "sudo", "local"] {
        if let Some(value) = node.get(key) {
            let message = format!("`{key}` cannot be used with `raw`");
            let help = "a raw command reaches the host as it is, and no shell of this program is started there";
            fields.report(&message, value.span(), Some(help.to_owned()));
        }
    }
}

fn read_command_options(fields: &mut FieldReader, node: &Node) -> CommandOptions {
    let mut env = Vec::new();
    for (name, value) in fields.map(node, "env") {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || !name.chars().all(is_word)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            let message = format!("`{name}` is not a valid name of an environment variable");
            let span = node.get("env").map_or(node.span(), Node::span);
            fields.report(&message, span, None);
        }
        env.push((name.to_string(), TemplateText::new(value.to_string())));
    }
    let mut ok_codes = Vec::new();
    if let Some(list) = FieldReader::get(node, "ok_codes") {
        let items = list.as_seq().unwrap_or(std::slice::from_ref(list));
        for item in items {
            match item.as_int().and_then(|code| i32::try_from(code).ok()) {
                Some(code) => ok_codes.push(code),
                None => fields.report_mismatch(item, "an item of `ok_codes`", "an exit code"),
            }
        }
    }
    report_unusable_with_raw(fields, node);
    CommandOptions {
        ok_codes,
        cd: fields.text(node, "cd"),
        env,
        shell: fields.text(node, "shell"),
        stdin: fields.text(node, "stdin"),
        program_input: false,
        pty: fields.is_set(node, "pty"),
        raw: fields.is_set(node, "raw"),
        restart: None,
        time_limit: fields.duration(node, "time_limit"),
        capture: fields.limit_size(node, "capture"),
        secret: fields.is_set(node, "secret"),
        quiet: fields.is_set(node, "quiet"),
    }
}

fn read_prompt(fields: &mut FieldReader, node: &Node) -> Option<StepAction> {
    if let Some(text) = node.as_str() {
        return Some(StepAction::Prompt {
            text: TemplateText::new(text),
            default: None,
            validate: None,
        });
    }
    if !fields.check_map(node, &PROMPT_KEYS) {
        return None;
    }
    let pattern = fields.string(node, "validate");
    let validate = pattern.and_then(|pattern| {
        let whole = Pattern::new(&format!("^(?:{pattern})$"));
        if let Err(error) = &whole {
            let said = error.reason();
            let message = format!("`validate` is not a valid regular expression: {said}");
            let span = node.get("validate").map(Node::span);
            fields.report(&message, span.unwrap_or(node.span()), None);
        }
        whole.ok()
    });
    let default = fields.scalar(node, "default");
    Some(StepAction::Prompt {
        text: fields.text(node, "text")?,
        default,
        validate,
    })
}

/// Reads a call of another task. A plain text has the form of the command line.
fn read_execute(fields: &mut FieldReader, node: &Node) -> Option<Execute> {
    if let Some(text) = node.as_str() {
        if TemplateText::new(text).is_template() {
            return Some(Execute {
                task: Some(TemplateText::new(text)),
                ..Execute::default()
            });
        }
        return match TaskCall::parse(text) {
            Ok(call) => Some(execute_from_call(&call)),
            Err(error) => {
                fields.report(&error.to_string(), node.span(), None);
                None
            }
        };
    }
    if !fields.check_map(node, &EXECUTE_KEYS) {
        return None;
    }
    let mut execute = Execute {
        task: fields.text(node, "task"),
        kwargs: fields.map(node, "kwargs"),
        scope: fields.scope(node),
        ..Execute::default()
    };
    match FieldReader::get(node, "args").map(|args| (args, args.kind())) {
        None => {}
        Some((args, NodeKind::Seq(_))) => {
            execute.args = args
                .to_value()
                .as_list()
                .into_iter()
                .flatten()
                .cloned()
                .collect();
        }
        Some((_, NodeKind::Map(_))) => execute.kwargs.extend(fields.map(node, "args")),
        Some((args, _)) => fields.report_mismatch(args, "`args`", "a list or a map"),
    }
    execute.task.is_some().then_some(execute)
}

fn execute_from_call(call: &TaskCall) -> Execute {
    let texts = |names: &[String]| {
        names
            .iter()
            .map(|name| TemplateText::new(name.as_str()))
            .collect()
    };
    let value = |text: &String| Value::from(text.as_str());
    Execute {
        task: Some(TemplateText::new(call.task.as_str())),
        args: call.args.iter().map(value).collect(),
        kwargs: call
            .kwargs
            .iter()
            .map(|(key, text)| (key.as_str().into(), value(text)))
            .collect(),
        scope: ScopeText {
            hosts: texts(&call.scope.hosts),
            roles: texts(&call.scope.roles),
            exclude_hosts: texts(&call.scope.exclude_hosts),
        },
    }
}

/// Reads the settings of an environment.
pub(super) fn read_settings(fields: &mut FieldReader, node: &Node) -> EnvSettings {
    if !fields.check_map(node, &ENV_KEYS) {
        return EnvSettings::default();
    }
    let extend = match FieldReader::get(node, "extend") {
        Some(extend) if fields.check_map(extend, &EXTEND_KEYS) => fields.scope(extend),
        _ => ScopeText::default(),
    };
    EnvSettings {
        hosts: fields.names(node, "hosts"),
        roles: fields.names(node, "roles"),
        exclude_hosts: fields.names(node, "exclude_hosts"),
        extend,
        vars: fields.map(node, "vars"),
        roledefs: read_roledefs(fields, node),
        user: fields.text(node, "user"),
        shell: fields.text(node, "shell"),
        command_timeout: fields.duration(node, "command_timeout"),
        pool_size: fields.count(node, "pool_size"),
        login_passwords: read_passwords(fields, node, ["password", "passwords"]),
        sudo_passwords: read_passwords(fields, node, ["sudo_password", "sudo_passwords"]),
        switches: Switches {
            parallel: fields.flag(node, "parallel"),
            warn_only: fields.flag(node, "warn_only"),
            skip_bad_hosts: fields.flag(node, "skip_bad_hosts"),
            skip_unknown_tasks: fields.flag(node, "skip_unknown_tasks"),
            abort_on_prompts: fields.flag(node, "abort_on_prompts"),
            keep_duplicate_hosts: fields.flag(node, "dedupe_hosts").map(|dedupe| !dedupe),
        },
    }
}

/// Reads the passwords of one kind: for all hosts, and by host.
fn read_passwords(
    fields: &mut FieldReader,
    node: &Node,
    [all, by_host]: [&str; 2],
) -> PasswordTexts {
    let mut found = PasswordTexts {
        all: fields.secret(node, all),
        by_host: Vec::new(),
    };
    let Some(section) = FieldReader::get(node, by_host) else {
        return found;
    };
    let Some(map) = section.as_map() else {
        fields.report_mismatch(section, &format!("`{by_host}`"), "a map");
        return found;
    };
    for (host, _) in map {
        let text = fields.secret(section, host);
        found
            .by_host
            .extend(text.map(|text| (host.to_string(), text)));
    }
    found
}

/// Reads the hosts of each role: a list, a map with `hosts` (F10), or a map with a `command` (F9).
fn read_roledefs(fields: &mut FieldReader, node: &Node) -> indexmap::IndexMap<String, RoleDef> {
    let mut found = indexmap::IndexMap::new();
    let Some(section) = FieldReader::get(node, "roledefs") else {
        return found;
    };
    let Some(map) = section.as_map() else {
        fields.report_mismatch(section, "`roledefs`", "a map");
        return found;
    };
    for (role, entry) in map {
        let value = &entry.value;
        let def = match value.kind() {
            NodeKind::Null => RoleDef::Hosts(Vec::new()),
            NodeKind::Map(_) if value.get("command").is_some() => {
                let Some(text) = fields.string(value, "command") else {
                    continue;
                };
                RoleDef::Command(Box::new(local_shell(text)))
            }
            NodeKind::Map(_) => {
                if value.get("hosts").is_none() {
                    let message = format!("the role `{role}` has neither `hosts` nor a `command`");
                    fields.report(&message, value.span(), None);
                }
                RoleDef::Hosts(plain(fields.names(value, "hosts")))
            }
            _ => RoleDef::Hosts(plain(fields.names(section, role))),
        };
        found.insert(role.to_string(), def);
    }
    found
}

fn plain(names: Option<Vec<TemplateText>>) -> Vec<String> {
    let names = names.unwrap_or_default();
    names.iter().map(|name| name.as_str().to_owned()).collect()
}
