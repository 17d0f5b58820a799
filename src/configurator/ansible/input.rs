//! The inputs of the Ansible configurator, checked.

use std::path::{Path, PathBuf};

use crate::expr::Error;
use crate::task::TaskView;
use crate::value::{Map, Value};
use crate::yaml::{Schema, parse_text};

/// The program that runs playbooks, unless the input `command` names another one.
const PROGRAM: &str = "ansible-playbook";
/// The options of `ansible-playbook` that ask for a password, which nobody could type here.
const ASKING_OPTIONS: [&str; 6] = [
    "-k",
    "--ask-pass",
    "-K",
    "--ask-become-pass",
    "-J",
    "--ask-vault-pass",
];

/// A playbook or an inventory, as an input gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Document {
    /// The absolute path of a file or folder.
    File(PathBuf),
    /// A text that is no path: of several lines, or a name that Ansible itself resolves.
    Text(String),
    /// A list or a map.
    Data(Value),
}

/// Returns an error about an input.
pub(super) fn input_error(problem: impl Into<String>) -> Error {
    Error::Function {
        function: "Ansible".to_owned(),
        problem: problem.into(),
    }
}

/// Returns the document of an input. None if the input is missing or empty.
pub(super) fn document(task: &TaskView<'_>, name: &str) -> Result<Option<Document>, Error> {
    let value = task.input(name)?.filter(Value::is_truthy);
    let Some(value) = value else {
        return Ok(None);
    };
    let text = match value.reveal() {
        Value::Str(text) => text.to_string(),
        Value::External(external) if external.value.as_str().is_some() => {
            external.value.reveal().to_string()
        }
        Value::List(_) | Value::Map(_) => return Ok(Some(Document::Data(value))),
        other => {
            let kind = other.kind();
            return Err(input_error(format!(
                "`{name}` must be a path, a list or a map, not {kind}"
            )));
        }
    };
    if value.has_sensitive() && !text.contains('\n') {
        return Err(input_error(format!(
            "`{name}` is a secret, and the path of a file must not be one"
        )));
    }
    if text.contains('\n') {
        return Ok(Some(text_document(&value, text)));
    }
    let path = absolute_path(&text, task.settings.base_dir);
    Ok(Some(if task.local_context().exists(&path) {
        Document::File(path)
    } else {
        Document::Text(text)
    }))
}

/// Returns the document of a text with several lines: the data that it has as YAML, or else the text.
fn text_document(value: &Value, text: String) -> Document {
    let is_document = |parsed: &Value| parsed.as_list().is_some() || parsed.as_map().is_some();
    match contents_of(&text).filter(is_document) {
        Some(parsed) => Document::Data(parsed.marked(value.own_marks())),
        None => Document::Text(text),
    }
}

/// Returns the contents of the text of a playbook or an inventory. Scalars that Ansible reads otherwise keep their
/// texts. None if the text is no YAML.
pub(super) fn contents_of(text: &str) -> Option<Value> {
    let root = parse_text(Schema::Core, text).ok()?;
    Some(root.to_value_with_texts())
}

/// Returns a path that starts in the folder of the ensemble.
pub(super) fn absolute_path(text: &str, base: &Path) -> PathBuf {
    let path = base.join(text);
    // `./x` and `x` are the same file.
    path.components().collect()
}

/// Returns the words of an input that is a list or one word. Secrets are refused, because words are visible to all
/// users of this machine.
pub(super) fn words(task: &TaskView<'_>, name: &str) -> Result<Vec<String>, Error> {
    let Some(value) = task.input(name)?.filter(|value| !value.is_null()) else {
        return Ok(Vec::new());
    };
    if value.has_sensitive() {
        return Err(input_error(format!(
            "`{name}` has a secret, which would be visible to all users of this machine; pass it with `arguments`"
        )));
    }
    let value = value.revealed();
    let items = match &value {
        Value::List(items) => items.as_ref().clone(),
        one => vec![one.clone()],
    };
    let texts = items.iter().map(|item| match item {
        Value::List(_) | Value::Map(_) => Err(input_error(format!(
            "`{name}` must be a list of texts, and has {}",
            item.kind()
        ))),
        item => Ok(item.to_string()),
    });
    texts.collect()
}

/// Returns the arguments for `ansible-playbook` itself.
pub(super) fn playbook_args(task: &TaskView<'_>) -> Result<Vec<String>, Error> {
    let words = words(task, "playbookArgs")?;
    if let Some(asking) = words.iter().find(|word| ASKING_OPTIONS.contains(&&***word)) {
        return Err(input_error(format!(
            "`playbookArgs` has `{asking}`, but nobody can type a password here; set `ansible_password` or \
             `ansible_become_password` with `arguments`, or the password of the vault for the project"
        )));
    }
    Ok(words)
}

/// Returns the words of the program that runs playbooks.
pub(super) fn program(task: &TaskView<'_>) -> Result<Vec<String>, Error> {
    let words = words(task, "command")?;
    Ok(match &words[..] {
        [] => vec![PROGRAM.to_owned()],
        _ => words,
    })
}

/// Returns the variables of the input `arguments`.
pub(super) fn arguments(task: &TaskView<'_>) -> Result<Map, Error> {
    let value = task.input("arguments")?.unwrap_or_default();
    if value.is_null() {
        return Ok(Map::new());
    }
    let Some(arguments) = value.marked_entries() else {
        let kind = value.kind();
        return Err(input_error(format!(
            "`arguments` must be a map, not {kind}"
        )));
    };
    if let Some(name) = arguments.keys().find(|name| !is_variable_name(name)) {
        return Err(input_error(format!(
            "`arguments` has `{name}`, which is no name of a variable: letters, digits and `_`, not a digit first"
        )));
    }
    Ok(arguments)
}

fn is_variable_name(name: &str) -> bool {
    let is_first = |first: char| first.is_ascii_alphabetic() || first == '_';
    name.starts_with(is_first)
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
