//! The command `op`: applies one Salt state without a state file.

use crate::cli::args::state::{OpArgs, TreeOptions};
use crate::cli::commands::state::run;
use crate::cli::output::Context;
use crate::cli::request::states::{request, require_target};
use crate::cli::request::yaml_maps::map_of;
use crate::fleet::states::StateSelection;
use crate::ops::{Failure, FailureKind};
use crate::states::{MODULES, find, similar_function};
use crate::value::{Map, Value};

/// Applies the state on the chosen hosts and returns the exit code.
pub(in crate::cli) fn op(args: &OpArgs, cx: &Context) -> Result<u8, Failure> {
    let selection = typed_state(&args.function, &args.arguments)?;
    ensure_known(&args.function)?;
    let options = TreeOptions {
        sls: Vec::new(),
        tree: args.tree.clone(),
    };
    let mut request = request(&options, &args.run, &args.hosts, cx)?;
    request.source.selection = selection;
    if !request.test {
        require_target("op", &args.tree, &args.hosts)?;
    }
    run("op", &request, &args.run, cx)
}

/// Checks that a state function exists.
fn ensure_known(function: &str) -> Result<(), Failure> {
    let (state, fun) = function.split_once('.').unwrap_or((function, ""));
    if find(state, fun).1.is_some() {
        return Ok(());
    }
    let message = format!("the state function `{function}` does not exist");
    let hint = similar_function(MODULES, state, fun);
    Err(Failure::new(FailureKind::Usage, message, hint))
}

/// Builds the state that the words of the command line describe.
///
/// Words without `=` are the `name` argument.
fn typed_state(function: &str, words: &[String]) -> Result<StateSelection, Failure> {
    if !function.contains('.') {
        let message = format!("`{function}` has no module; write `MODULE.FUNCTION`");
        return Err(Failure::usage(message));
    }
    let mut arguments = Map::new();
    for word in words {
        let (key, value) = match word.split_once('=').filter(|(key, _)| is_key(key)) {
            Some((key, text)) => (key, value_of(key, text)?),
            None => ("name", Value::from(word.as_str())),
        };
        if arguments.insert(key.into(), value).is_some() {
            return Err(Failure::usage(format!("`{key}` is given twice")));
        }
    }
    Ok(StateSelection::Single {
        function: function.to_owned(),
        arguments,
    })
}

fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

/// Parses a value as YAML. Text that is not valid YAML is taken as it is.
fn value_of(key: &str, text: &str) -> Result<Value, Failure> {
    let map = map_of(key, &format!("{key}: {text}")).or_else(|_| {
        let map = [(key.into(), Value::from(text))];
        Ok::<Map, Failure>(map.into_iter().collect())
    })?;
    Ok(map.get(key).cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_name_and_arguments_in_yaml() {
        let words = [
            "/etc/motd",
            "mode='0644'",
            "makedirs=true",
            "contents=a: b: c",
        ];
        let StateSelection::Single { arguments, .. } =
            typed_state("file.managed", &words.map(str::to_owned)).unwrap()
        else {
            panic!("one state was typed");
        };
        let shown: Vec<String> = arguments
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        insta::assert_snapshot!(shown.join(" "), @"name=/etc/motd mode=0644 makedirs=True contents=a: b: c");
    }

    #[test]
    fn a_name_may_contain_an_equals_sign() {
        let words = ["echo a=b".to_owned()];
        let StateSelection::Single { arguments, .. } = typed_state("cmd.run", &words).unwrap()
        else {
            panic!("one state was typed");
        };
        assert_eq!(arguments["name"].as_str(), Some("echo a=b"));
    }

    #[test]
    fn what_is_given_twice_is_refused() {
        let words = ["a".to_owned(), "b".to_owned()];
        assert!(typed_state("cmd.run", &words).is_err());
        assert!(typed_state("cmd", &[]).is_err());
    }
}
