//! Reads the options of commands, and the settings of environments.
//!
//! `env` sections, `set` steps, and the `settings` of tasks, blocks and steps have settings.

use std::path::{Path, PathBuf};

use super::field_reader::FieldReader;
use super::keys::{ENV_KEYS, EXTEND_KEYS, PATH_KEYS, SETTINGS_KEYS};
use super::{
    CommandOptions, ConnectionSettings, EnvSettings, OutputKinds, PasswordTexts, PathChange,
    RoleDef, ScopeText, Switches, TemplateText, local_shell,
};
use crate::yaml::{Node, NodeKind};

/// Reports options that need a shell, in a step with `raw`.
fn report_unusable_with_raw(fields: &mut FieldReader, node: &Node) {
    if !node.get("raw").and_then(Node::as_bool).unwrap_or_default() {
        return;
    }
    for key in ["cd", "env", "shell", "prefix", "path", "sudo", "local"] {
        if let Some(value) = node.get(key) {
            let message = format!("`{key}` cannot be used with `raw`");
            let help = "a raw command reaches the host as it is, and no shell of this program is started there";
            fields.report(&message, value.span(), Some(help.to_owned()));
        }
    }
}

/// Reads the options of the commands of a step, a block or a task.
pub(super) fn read_command_options(fields: &mut FieldReader, node: &Node) -> CommandOptions {
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
    let quiet = if fields.is_set(node, "quiet") {
        OutputKinds::OUTPUT
    } else {
        OutputKinds::default()
    };
    report_unusable_with_raw(fields, node);
    CommandOptions {
        ok_codes: read_ok_codes(fields, node),
        cd: fields.text(node, "cd"),
        lcd: fields.text(node, "lcd"),
        env,
        prefix: fields.texts(node, "prefix"),
        path: read_path(fields, node),
        shell: fields.text(node, "shell"),
        stdin: fields.text(node, "stdin"),
        program_input: false,
        pty: fields.is_set(node, "pty"),
        raw: fields.is_set(node, "raw"),
        restart: None,
        time_limit: fields.duration(node, "time_limit"),
        capture: fields.limit_size(node, "capture"),
        secret: fields.is_set(node, "secret"),
        hide: read_kinds(fields, node, "hide").with(quiet),
        show: read_kinds(fields, node, "show"),
    }
}

fn read_ok_codes(fields: &mut FieldReader, node: &Node) -> Vec<i32> {
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
    ok_codes
}

fn read_path(fields: &mut FieldReader, node: &Node) -> PathChange {
    match FieldReader::get(node, "path") {
        None => PathChange::default(),
        Some(value) if value.as_str().is_some() => PathChange {
            append: fields.texts(node, "path"),
            ..PathChange::default()
        },
        Some(value) => {
            if !fields.check_map(value, &PATH_KEYS) {
                return PathChange::default();
            }
            PathChange {
                append: fields.names(value, "append").unwrap_or_default(),
                prepend: fields.names(value, "prepend").unwrap_or_default(),
                replace: fields.names(value, "replace"),
            }
        }
    }
}

fn read_kinds(fields: &mut FieldReader, node: &Node, key: &str) -> OutputKinds {
    let names = fields.names(node, key).unwrap_or_default();
    let mut all = OutputKinds::default();
    for name in &names {
        let known = OutputKinds::NAMES;
        match known.iter().find(|(known, _)| *known == name.as_str()) {
            Some((_, kinds)) => all = all.with(*kinds),
            None => {
                let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                let message = format!("`{}` is not a kind of output", name.as_str());
                let help = format!("the kinds are `{}`", known.join("`, `"));
                let span = node.get(key).map_or(node.span(), Node::span);
                fields.report(&message, span, Some(help));
            }
        }
    }
    all
}

/// Reads the settings of an environment.
pub(super) fn read_settings(fields: &mut FieldReader, node: &Node) -> EnvSettings {
    if !fields.check_map(node, &ENV_KEYS) {
        return EnvSettings::default();
    }
    read_setting_fields(fields, node)
}

/// Reads the settings that apply only to a task, a block or a step.
pub(super) fn read_settings_section(fields: &mut FieldReader, node: &Node) -> Option<EnvSettings> {
    let section = FieldReader::get(node, "settings")?;
    if !fields.check_map(section, &SETTINGS_KEYS) {
        return None;
    }
    Some(read_setting_fields(fields, section))
}

/// Reads the fields of settings. The keys were checked.
fn read_setting_fields(fields: &mut FieldReader, node: &Node) -> EnvSettings {
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
        vars_files: fields.names(node, "vars_files").unwrap_or_default(),
        folder: fields.folder.clone(),
        roledefs: read_roledefs(fields, node),
        user: fields.text(node, "user"),
        shell: fields.text(node, "shell"),
        command_timeout: fields.duration(node, "command_timeout"),
        connection: read_connection(fields, node),
        prompts: fields.map(node, "prompts"),
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

fn read_connection(fields: &mut FieldReader, node: &Node) -> ConnectionSettings {
    let port = fields.number(node, "port", "a port");
    let port = port.and_then(|port| {
        let valid = u16::try_from(port).ok().filter(|port| *port > 0);
        if valid.is_none() {
            let span = node.get("port").map_or(node.span(), Node::span);
            fields.report(&format!("{port} is not a port"), span, None);
        }
        valid
    });
    let files = fields.names(node, "key_files").unwrap_or_default();
    let attempts = fields.number(node, "connection_attempts", "a number of attempts");
    ConnectionSettings {
        port,
        key_files: files
            .iter()
            .map(|file| key_file(&fields.folder, file.as_str()))
            .collect(),
        timeout: fields.duration(node, "timeout"),
        attempts: attempts.map(|number| u32::try_from(number.max(1)).unwrap_or(u32::MAX)),
        keepalive: fields.duration(node, "keepalive"),
        forward_agent: fields.flag(node, "forward_agent"),
    }
}

/// Returns the path of a key file. Relative paths start at the folder of the tasks file; `~` stays.
fn key_file(folder: &Path, path: &str) -> PathBuf {
    if path.starts_with("~/") {
        path.into()
    } else {
        folder.join(path)
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
