//! Reads the steps of a task.

use super::control::{DEFAULT_DELAY, DEFAULT_ITEM, DEFAULT_RETRIES};
use super::field_reader::FieldReader;
use super::keys::{ACTION_KEYS, EXECUTE_KEYS, PROMPT_KEYS, STEP_KEYS};
use super::read_options::{read_command_options, read_settings, read_settings_section};
use super::read_transfer::{read_get, read_transfer};
use super::{Block, ForEach, Steps, Until};
use super::{Execute, ScopeText, StepAction, TaskCall, TaskStep, TemplateText};
use crate::text::Pattern;
use crate::value::Value;
use crate::yaml::{Node, NodeKind};

/// Reads a step. A plain text is a command for the host.
pub(super) fn read_step(fields: &mut FieldReader, node: &Node) -> Option<TaskStep> {
    if let Some(text) = node.as_str() {
        let action = StepAction::Run(TemplateText::new(text));
        return Some(TaskStep::new(action, node.span()));
    }
    if !fields.check_map(node, &STEP_KEYS) {
        return None;
    }
    let action = read_action(fields, node)?;
    let step = TaskStep {
        condition: fields.scalar(node, "when"),
        for_each: read_for_each(fields, node),
        until: read_until(fields, node, &action),
        register: fields.string(node, "register").map(Into::into),
        warn_only: fields.is_set(node, "warn_only"),
        options: read_command_options(fields, node),
        span: node.span(),
        action,
    };
    let is_block = matches!(step.action, StepAction::Block(_));
    if is_block {
        refuse_keys(fields, node, &["register", "warn_only", "stdin"], "a block");
    } else {
        refuse_keys(
            fields,
            node,
            &["rescue", "always"],
            "a step without `block`",
        );
    }
    if node.get("as").is_some() && step.for_each.is_none() {
        refuse_keys(fields, node, &["as"], "a step without `for_each`");
    }
    match read_settings_section(fields, node) {
        Some(settings) if !is_block => Some(within_settings(step, settings)),
        _ => Some(step),
    }
}

/// Puts a step with settings of its own into a block that has these settings.
fn within_settings(step: TaskStep, settings: super::EnvSettings) -> TaskStep {
    let span = step.span;
    let block = Block {
        steps: [step].into(),
        rescue: Steps::default(),
        always: Steps::default(),
        settings: Some(settings),
    };
    TaskStep::new(StepAction::Block(Box::new(block)), span)
}

fn refuse_keys(fields: &mut FieldReader, node: &Node, keys: &[&str], of: &str) {
    for key in keys {
        if let Some(value) = node.get(key) {
            fields.report(&format!("{of} cannot have `{key}`"), value.span(), None);
        }
    }
}

fn read_for_each(fields: &mut FieldReader, node: &Node) -> Option<ForEach> {
    let items = FieldReader::get(node, "for_each")?;
    let is_list = match items.kind() {
        NodeKind::Seq(_) | NodeKind::Map(_) => true,
        NodeKind::Str(text) => TemplateText::new(&**text).is_template(),
        _ => false,
    };
    if !is_list {
        let expected = "a list, a map, or a template that gives one";
        fields.report_mismatch(items, "`for_each`", expected);
    }
    Some(ForEach {
        items: items.to_value(),
        name: fields.string(node, "as").unwrap_or(DEFAULT_ITEM).into(),
    })
}

/// Reads the repetition of a step. Only a step with a result can have one.
fn read_until(fields: &mut FieldReader, node: &Node, action: &StepAction) -> Option<Until> {
    let given = ["until", "retries", "delay"]
        .into_iter()
        .find_map(|key| FieldReader::get(node, key).map(|value| (key, value.span())));
    let (key, span) = given?;
    let has_result = match action {
        StepAction::Run(_)
        | StepAction::Sudo { .. }
        | StepAction::Local(_)
        | StepAction::Put(_)
        | StepAction::Get(_)
        | StepAction::Fetch { .. }
        | StepAction::Template(_)
        | StepAction::Call(_)
        | StepAction::Execute(_) => true,
        StepAction::Prompt { .. }
        | StepAction::Set(_)
        | StepAction::Abort(_)
        | StepAction::Echo(_)
        | StepAction::Block(_) => false,
    };
    if !has_result {
        let message = format!("`{key}` needs a step with a result");
        let help = "`run`, `sudo`, `local`, `put`, `get`, `template` and `execute` have one";
        fields.report(&message, span, Some(help.to_owned()));
    }
    let retries = fields.number(node, "retries", "a number of repetitions");
    Some(Until {
        condition: fields.scalar(node, "until"),
        retries: retries.unwrap_or(DEFAULT_RETRIES),
        delay: fields.duration(node, "delay").unwrap_or(DEFAULT_DELAY),
    })
}

fn read_block(fields: &mut FieldReader, node: &Node) -> StepAction {
    let mut section = |key: &str| match FieldReader::get(node, key) {
        Some(section) => read_step_list(fields, section, key),
        None => Steps::default(),
    };
    let block = Block {
        steps: section("block"),
        rescue: section("rescue"),
        always: section("always"),
        settings: read_settings_section(fields, node),
    };
    StepAction::Block(Box::new(block))
}

/// Reads a list of steps. A plain text is a single command.
pub(super) fn read_step_list(fields: &mut FieldReader, section: &Node, key: &str) -> Steps {
    match section.kind() {
        NodeKind::Seq(items) => items
            .iter()
            .filter_map(|item| read_step(fields, item))
            .collect(),
        NodeKind::Str(_) => read_step(fields, section).into_iter().collect(),
        _ => {
            fields.report_mismatch(section, &format!("`{key}`"), "a list");
            Steps::default()
        }
    }
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
    let action = read_action(fields, node)?;
    Some(TaskStep {
        options: read_command_options(fields, node),
        ..TaskStep::new(action, node.span())
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
        "block" => Some(read_block(fields, node)),
        _ => fields.text(node, key).map(StepAction::Echo),
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
