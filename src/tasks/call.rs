//! Parses task calls of the command line, such as `task:arg,key=value,hosts=a;b` (rule F62).

use indexmap::IndexMap;

use super::HostScope;

/// A call of a task: its name, its arguments, and where it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskCall {
    /// The name of the task as typed.
    pub task: String,
    /// The positional arguments of the call, in order.
    pub args: Vec<String>,
    /// The named arguments, in order, without those that name hosts.
    pub kwargs: IndexMap<String, String>,
    /// The hosts, roles and excluded hosts of this call.
    pub scope: HostScope,
}

/// The reason why a text is not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The name of the task is missing.
    #[error("no task in \"{0}\"")]
    NoTask(String),
    /// A list of hosts or roles has an empty item.
    #[error("`{key}` has an empty item in \"{text}\"")]
    EmptyItem {
        key: String,
        /// The whole text of the call.
        text: String,
    },
}

impl TaskCall {
    /// Creates a call without arguments, on the hosts that the task names.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            ..Self::default()
        }
    }

    /// Parses a call.
    ///
    /// A backslash before a comma or equals sign takes away its meaning. An argument is split at
    /// its first equals sign.
    pub fn parse(text: &str) -> Result<Self, CallError> {
        let (task, rest) = match text.split_once(':') {
            Some((task, rest)) => (task, Some(rest)),
            None => (text, None),
        };
        if task.is_empty() {
            return Err(CallError::NoTask(text.to_owned()));
        }
        let mut call = Self::new(task);
        let Some(rest) = rest else {
            return Ok(call);
        };
        for argument in split_unescaped(rest, ',', usize::MAX) {
            let mut parts = split_unescaped(&argument, '=', 2).into_iter();
            let first = unescape(&parts.next().unwrap_or_default());
            match parts.next() {
                None => call.args.push(first),
                Some(value) => call.keyword(first, &unescape(&value), text)?,
            }
        }
        Ok(call)
    }

    fn keyword(&mut self, key: String, value: &str, text: &str) -> Result<(), CallError> {
        let list = match key.as_str() {
            "host" | "hosts" => &mut self.scope.hosts,
            "role" | "roles" => &mut self.scope.roles,
            "exclude_hosts" => &mut self.scope.exclude_hosts,
            _ => {
                self.kwargs.insert(key, value.to_owned());
                return Ok(());
            }
        };
        let is_one = matches!(key.as_str(), "host" | "role");
        let items: Vec<&str> = if is_one {
            vec![value]
        } else {
            value.split(';').collect()
        };
        // If an argument is given twice (or as `host` and `hosts`), the last one counts.
        list.clear();
        for item in items {
            let item = item.trim();
            if item.is_empty() {
                let text = text.to_owned();
                return Err(CallError::EmptyItem { key, text });
            }
            list.push(item.to_owned());
        }
        Ok(())
    }
}

/// Splits at separators without a backslash before them, into at most `max_parts` parts.
///
/// The backslashes stay.
fn split_unescaped(text: &str, separator: char, max_parts: usize) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for character in text.chars() {
        if character == separator && !escaped && parts.len() < max_parts {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
        escaped = character == '\\' && !escaped;
    }
    parts
}

/// Removes the backslash from escaped commas and equals signs. Other backslashes stay.
fn unescape(text: &str) -> String {
    text.replace("\\,", ",").replace("\\=", "=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_and_those_that_say_where_are_taken_out() {
        let call = TaskCall::parse("ns.t:a,k=a=b,hosts=h1; h2 ,x\\,y,role=r").unwrap();
        assert_eq!(call.task, "ns.t");
        assert_eq!(call.args, ["a", "x,y"]);
        assert_eq!(call.kwargs["k"], "a=b");
        assert_eq!(call.scope.hosts, ["h1", "h2"]);
        assert_eq!(call.scope.roles, ["r"]);
    }

    #[test]
    fn an_empty_list_is_refused() {
        insta::assert_snapshot!(TaskCall::parse("t:hosts=").unwrap_err(), @r#"`hosts` has an empty item in "t:hosts=""#);
        insta::assert_snapshot!(TaskCall::parse(":a").unwrap_err(), @r#"no task in ":a""#);
        assert_eq!(TaskCall::parse("t:").unwrap().args, [""]);
    }
}
