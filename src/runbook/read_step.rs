//! Reads a step of a task.

use super::fields::Fields;
use super::keys::{
    DEEDS, ENV_KEYS, EXECUTE_KEYS, EXTEND_KEYS, GET_KEYS, PROMPT_KEYS, PUT_KEYS, STEP_KEYS,
};
use super::{Call, Deed, Execute, How, RoleDef, ScopeText, Settings, Step, Switches, Text};
use super::{Transfer, local_shell};
use crate::value::Value;
use crate::yaml::{Kind, Node};

/// A step: a text is a command.
pub(super) fn step(fields: &mut Fields, node: &Node) -> Option<Step> {
    if let Some(text) = node.as_str() {
        return Some(Step {
            deed: Deed::Run(Text::new(text)),
            when: None,
            register: None,
            warn_only: false,
            how: How::default(),
            span: node.span(),
        });
    }
    if !fields.is_map(node, &STEP_KEYS) {
        return None;
    }
    let deed = deed(fields, node)?;
    Some(Step {
        deed,
        when: fields.scalar(node, "when"),
        register: fields.string(node, "register").map(Into::into),
        warn_only: fields.is_set(node, "warn_only"),
        how: how(fields, node),
        span: node.span(),
    })
}

/// Whether a step has a key that no step has.
fn has_unknown(node: &Node) -> bool {
    let keys = node.as_map().into_iter().flatten();
    keys.into_iter().any(|(key, _)| !STEP_KEYS.knows(key))
}

/// Whether a map says itself what is done.
pub(super) fn has_deed(node: &Node) -> bool {
    DEEDS.iter().any(|deed| node.get(deed).is_some())
}

/// The one step of a task that says itself what is done. Conditions are those of the task.
pub(super) fn only_step(fields: &mut Fields, node: &Node) -> Option<Step> {
    Some(Step {
        deed: deed(fields, node)?,
        when: None,
        register: None,
        warn_only: false,
        how: how(fields, node),
        span: node.span(),
    })
}

/// What is done: the one key that says it.
fn deed(fields: &mut Fields, node: &Node) -> Option<Deed> {
    let said: Vec<&str> = DEEDS
        .iter()
        .copied()
        .filter(|deed| node.get(deed).is_some())
        .collect();
    let key = match said[..] {
        [key] => key,
        // A key that nobody knows was told already.
        [] if has_unknown(node) => return None,
        [] => {
            let help = format!("give one of `{}`", DEEDS.join("`, `"));
            fields.problem("a step does nothing", node.span(), Some(help));
            return None;
        }
        _ => {
            let message = format!("a step does only one of `{}`", said.join("` and `"));
            let help = "write a step for each".to_owned();
            fields.problem(&message, node.span(), Some(help));
            return None;
        }
    };
    let value = node.get(key)?;
    if value.is_null() {
        fields.wrong(value, &format!("`{key}`"), "not empty");
        return None;
    }
    match key {
        "run" => fields.text(node, key).map(Deed::Run),
        "sudo" => Some(Deed::Sudo {
            text: fields.text(node, key)?,
            user: fields.text(node, "user"),
        }),
        "local" => fields.text(node, key).map(Deed::Local),
        "put" => transfer(fields, value).map(Deed::Put),
        "template" => transfer(fields, value).map(Deed::Template),
        "get" => get(fields, value),
        "prompt" => prompt(fields, value),
        "set" => Some(Deed::Set(Box::new(settings(fields, value)))),
        "execute" => execute(fields, value).map(|execute| Deed::Execute(Box::new(execute))),
        "abort" => fields.text(node, key).map(Deed::Abort),
        _ => fields.text(node, key).map(Deed::Echo),
    }
}

fn how(fields: &mut Fields, node: &Node) -> How {
    let mut env = Vec::new();
    for (name, value) in fields.map(node, "env") {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || !name.chars().all(is_word)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            let message = format!("`{name}` is not the name of a variable");
            let span = node.get("env").map_or(node.span(), Node::span);
            fields.problem(&message, span, None);
        }
        env.push((name.to_string(), Text::new(value.to_string())));
    }
    let mut ok_codes = Vec::new();
    if let Some(list) = Fields::get(node, "ok_codes") {
        let items = list.as_seq().unwrap_or(std::slice::from_ref(list));
        for item in items {
            match item.as_int().and_then(|code| i32::try_from(code).ok()) {
                Some(code) => ok_codes.push(code),
                None => fields.wrong(item, "an item of `ok_codes`", "an exit code"),
            }
        }
    }
    How {
        ok_codes,
        cd: fields.text(node, "cd"),
        env,
        shell: fields.text(node, "shell"),
        stdin: fields.text(node, "stdin"),
        pty: fields.is_set(node, "pty"),
        restart: None,
        time_limit: fields.duration(node, "time_limit"),
        secret: fields.is_set(node, "secret"),
        quiet: fields.is_set(node, "quiet"),
    }
}

fn transfer(fields: &mut Fields, node: &Node) -> Option<Transfer> {
    if !fields.is_map(node, &PUT_KEYS) {
        return None;
    }
    let mode = fields.mode(node, "mode");
    Some(Transfer {
        source: fields.text(node, "src")?,
        target: fields.text(node, "dest")?,
        mode,
    })
}

fn get(fields: &mut Fields, node: &Node) -> Option<Deed> {
    if let Some(source) = node.as_str() {
        return Some(Deed::Get {
            source: Text::new(source),
            target: None,
        });
    }
    if !fields.is_map(node, &GET_KEYS) {
        return None;
    }
    let target = fields.text(node, "dest");
    Some(Deed::Get {
        source: fields.text(node, "src")?,
        target,
    })
}

fn prompt(fields: &mut Fields, node: &Node) -> Option<Deed> {
    if let Some(text) = node.as_str() {
        return Some(Deed::Prompt {
            text: Text::new(text),
            default: None,
            validate: None,
        });
    }
    if !fields.is_map(node, &PROMPT_KEYS) {
        return None;
    }
    let pattern = fields.string(node, "validate");
    let validate = pattern.and_then(|pattern| {
        let whole = regex::Regex::new(&format!("^(?:{pattern})$"));
        if let Err(error) = &whole {
            let said = error.to_string();
            let said = said.lines().last().unwrap_or("").trim();
            let message = format!("`validate` is not a regular expression: {said}");
            let span = node.get("validate").map(Node::span);
            fields.problem(&message, span.unwrap_or(node.span()), None);
        }
        whole.ok()
    });
    let default = fields.scalar(node, "default");
    Some(Deed::Prompt {
        text: fields.text(node, "text")?,
        default,
        validate,
    })
}

/// Another task: a text is what would be typed to call it.
fn execute(fields: &mut Fields, node: &Node) -> Option<Execute> {
    if let Some(text) = node.as_str() {
        if Text::new(text).is_template() {
            return Some(Execute {
                task: Some(Text::new(text)),
                ..Execute::default()
            });
        }
        return match Call::parse(text) {
            Ok(call) => Some(of_call(&call)),
            Err(error) => {
                fields.problem(&error.to_string(), node.span(), None);
                None
            }
        };
    }
    if !fields.is_map(node, &EXECUTE_KEYS) {
        return None;
    }
    let mut execute = Execute {
        task: fields.text(node, "task"),
        kwargs: fields.map(node, "kwargs"),
        scope: fields.scope(node),
        ..Execute::default()
    };
    match Fields::get(node, "args").map(|args| (args, args.kind())) {
        None => {}
        Some((args, Kind::Seq(_))) => {
            execute.args = args
                .to_value()
                .as_list()
                .into_iter()
                .flatten()
                .cloned()
                .collect();
        }
        Some((_, Kind::Map(_))) => execute.kwargs.extend(fields.map(node, "args")),
        Some((args, _)) => fields.wrong(args, "`args`", "a list or a map"),
    }
    execute.task.is_some().then_some(execute)
}

fn of_call(call: &Call) -> Execute {
    let texts = |names: &[String]| names.iter().map(|name| Text::new(name.as_str())).collect();
    let value = |text: &String| Value::from(text.as_str());
    Execute {
        task: Some(Text::new(call.task.as_str())),
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

/// What an environment is set to.
pub(super) fn settings(fields: &mut Fields, node: &Node) -> Settings {
    if !fields.is_map(node, &ENV_KEYS) {
        return Settings::default();
    }
    let extend = match Fields::get(node, "extend") {
        Some(extend) if fields.is_map(extend, &EXTEND_KEYS) => fields.scope(extend),
        _ => ScopeText::default(),
    };
    Settings {
        hosts: fields.names(node, "hosts"),
        roles: fields.names(node, "roles"),
        exclude_hosts: fields.names(node, "exclude_hosts"),
        extend,
        vars: fields.map(node, "vars"),
        roledefs: roledefs(fields, node),
        user: fields.text(node, "user"),
        shell: fields.text(node, "shell"),
        command_timeout: fields.duration(node, "command_timeout"),
        pool_size: fields.count(node, "pool_size"),
        switches: Switches {
            parallel: fields.flag(node, "parallel"),
            warn_only: fields.flag(node, "warn_only"),
            skip_bad_hosts: fields.flag(node, "skip_bad_hosts"),
            skip_unknown_tasks: fields.flag(node, "skip_unknown_tasks"),
            abort_on_prompts: fields.flag(node, "abort_on_prompts"),
            keep_twins: fields.flag(node, "dedupe_hosts").map(|dedupe| !dedupe),
        },
    }
}

/// The hosts of each role: a list, or a map with `hosts` (F10), or a command (F9).
fn roledefs(fields: &mut Fields, node: &Node) -> indexmap::IndexMap<String, RoleDef> {
    let mut found = indexmap::IndexMap::new();
    let Some(section) = Fields::get(node, "roledefs") else {
        return found;
    };
    let Some(map) = section.as_map() else {
        fields.wrong(section, "`roledefs`", "a map");
        return found;
    };
    for (role, entry) in map {
        let value = &entry.value;
        let def = match value.kind() {
            Kind::Null => RoleDef::Hosts(Vec::new()),
            Kind::Map(_) if value.get("command").is_some() => {
                let Some(text) = fields.string(value, "command") else {
                    continue;
                };
                RoleDef::Command(Box::new(local_shell(text)))
            }
            Kind::Map(_) => {
                if value.get("hosts").is_none() {
                    let message = format!("the role `{role}` has neither `hosts` nor a `command`");
                    fields.problem(&message, value.span(), None);
                }
                RoleDef::Hosts(plain(fields.names(value, "hosts")))
            }
            _ => RoleDef::Hosts(plain(fields.names(section, role))),
        };
        found.insert(role.to_string(), def);
    }
    found
}

fn plain(names: Option<Vec<Text>>) -> Vec<String> {
    let names = names.unwrap_or_default();
    names.iter().map(|name| name.as_str().to_owned()).collect()
}
