//! Describes for people what a task does.

use crate::value::{REDACTED, Value};

/// The work of a task, as plans show it. Values are evaluated as far as possible, and without secrets.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskWork {
    /// A command runs.
    Command(Value),
    /// Values are evaluated, and these attributes are set. No process is started.
    Attributes(Vec<String>),
    /// Another operation runs.
    Operation {
        operation: String,
        target: Option<String>,
    },
    /// A task of `tasks.yaml` runs.
    Task(Value),
    /// State files are applied.
    States(Value),
    /// A module of Terraform is applied.
    Module(Value),
    /// A configurator of this class runs.
    Configurator(&'static str),
}

impl TaskWork {
    /// Describes a command. `written` is the command as the model writes it: if its value is secret as a whole,
    /// the words around its expressions are shown.
    pub fn command(value: &Value, written: Option<&Value>) -> Self {
        match (value, written) {
            (Value::Sensitive(_), Some(Value::Str(text))) => {
                Self::Command(Value::from(hide_expressions(text)))
            }
            _ => Self::Command(value.redacted()),
        }
    }
}

/// Replaces the expressions in a template by the mark of secrets. Of a template with statements nothing is shown,
/// as the text within them may be secret.
fn hide_expressions(template: &str) -> String {
    if template.contains("{%") || !template.contains("{{") {
        return REDACTED.to_owned();
    }
    let mut parts = template.split("{{");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(REDACTED);
        shown.push_str(part.split_once("}}").map_or("", |(_, after)| after));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_secret_command_only_the_words_around_expressions_are_shown() {
        let secret = Value::from("x -p s3cret; y").sensitive_if(true);
        let shown = |written: &str| TaskWork::command(&secret, Some(&written.into()));
        let command = |text: &str| TaskWork::Command(text.into());
        assert_eq!(shown("x -p {{ p }}; y"), command("x -p <<REDACTED>>; y"));
        assert_eq!(shown("a {{ p"), command("a <<REDACTED>>"));
        assert_eq!(shown("a {% if p %}b{{ p }}"), command(REDACTED));
        assert_eq!(shown("x -p s3cret; y"), command(REDACTED));
        assert_eq!(TaskWork::command(&secret, None), command(REDACTED));
        let words = Value::list([Value::from("x"), secret]);
        let masked = Value::list([Value::from("x"), Value::from(REDACTED)]);
        assert_eq!(TaskWork::command(&words, None), TaskWork::Command(masked));
    }
}
