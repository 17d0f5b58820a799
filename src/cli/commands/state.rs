//! `state apply`, `state test` and `op`.

use crate::cli::args::host::HostOutput;
use crate::cli::args::state::{ApplyArgs, OpArgs, RunOptions, StateAction, StateArgs, TreeOptions};
use crate::cli::arguments::Global;
use crate::cli::commands::show_states::{View, show as show_compiled};
use crate::cli::output::Output;
use crate::cli::request::states::{Where, request, request_of_files};
use crate::cli::screen::states::{Shown, StatesScreen, for_machines, show};
use crate::ops::states::{StatesRequest, What, map_of, perform};
use crate::ops::{Failure, FailureKind};
use crate::ui::StateDetail;
use crate::value::{Map, Value};

/// Does what is asked of states; gives the exit code.
pub(in crate::cli) fn state(args: &StateArgs, global: &Global, output: &Output) -> u8 {
    let around = (global, output);
    match &args.action {
        StateAction::Apply(args) => apply(args, args.run.dryrun, around),
        StateAction::Test(args) => apply(args, true, around),
        StateAction::ShowHigh(args) => show_compiled(args, View::High, around),
        StateAction::ShowLow(args) => show_compiled(args, View::Low, around),
        StateAction::ShowOrder(args) => show_compiled(args, View::Order, around),
        StateAction::ShowTop(args) => show_compiled(args, View::Top, around),
        StateAction::Graph(args) => show_compiled(args, View::Graph, around),
    }
}

fn apply(args: &ApplyArgs, test: bool, around: (&Global, &Output)) -> u8 {
    let hosts = Where {
        choice: &args.hosts,
        connection: &args.connection,
    };
    let asked = request_of_files(&args.what, &args.run, hosts, around)
        .map(|asked| StatesRequest { test, ..asked });
    run(asked, &args.run, around.1)
}

/// Brings hosts to one state; gives the exit code.
pub(in crate::cli) fn op(args: &OpArgs, global: &Global, output: &Output) -> u8 {
    let hosts = Where {
        choice: &args.hosts,
        connection: &args.connection,
    };
    let asked = one(&args.function, &args.arguments).and_then(|what| {
        let options = TreeOptions {
            sls: Vec::new(),
            tree: args.tree.clone(),
        };
        let mut asked = request(&options, &args.run, hosts, (global, output))?;
        asked.tree.what = what;
        Ok(asked)
    });
    run(asked, &args.run, output)
}

/// The state that was typed.
fn one(function: &str, words: &[String]) -> Result<What, Failure> {
    let wrong = |message: String| Failure::new(FailureKind::Usage, message, None);
    if !function.contains('.') {
        let message = format!("`{function}` has no module: write `MODULE.FUNCTION`");
        return Err(wrong(message));
    }
    let mut arguments = Map::new();
    for word in words {
        let (key, value) = match word.split_once('=').filter(|(key, _)| is_key(key)) {
            Some((key, text)) => (key, value_of(key, text)?),
            None => ("name", Value::from(word.as_str())),
        };
        if arguments.insert(key.into(), value).is_some() {
            return Err(wrong(format!("`{key}` is given twice")));
        }
    }
    Ok(What::One {
        function: function.to_owned(),
        arguments,
    })
}

fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

/// A value as YAML; text that is none is itself.
fn value_of(key: &str, text: &str) -> Result<Value, Failure> {
    let map = map_of(key, &format!("{key}: {text}")).or_else(|_| {
        let map = [(key.into(), Value::from(text))];
        Ok::<Map, Failure>(map.into_iter().collect())
    })?;
    Ok(map.get(key).cloned().unwrap_or_default())
}

fn run(asked: Result<StatesRequest, Failure>, options: &RunOptions, output: &Output) -> u8 {
    let is_json = options.shown.output == HostOutput::Json;
    let done = asked.and_then(|asked| {
        let mut screen = StatesScreen::new(output, asked.interrupts.clone());
        let report = perform(&asked, &mut screen);
        drop(screen);
        let report = report?;
        if is_json {
            output.json(&for_machines(&report, asked.over_hosts));
        } else {
            let shown = shown(&asked, options);
            show(&report, shown, asked.over_hosts, output);
        }
        Ok(report.exit_code)
    });
    done.unwrap_or_else(|failure| output.failure(&failure, is_json))
}

/// How results are shown: as the command line says, else as the configuration does.
fn shown(asked: &StatesRequest, options: &RunOptions) -> Shown {
    let configured = &asked.tree.options;
    let word = configured.get("state_output").and_then(Value::as_str);
    let detail = match (options.shown.state_output, word) {
        (Some(detail), _) => detail.into(),
        (None, Some("terse")) => StateDetail::Terse,
        (None, Some("mixed")) => StateDetail::Mixed,
        (None, Some("changes")) => StateDetail::Changes,
        (None, _) => StateDetail::Full,
    };
    let verbose = configured.get("state_verbose").map(Value::reveal);
    Shown {
        detail,
        verbose: verbose.is_none_or(Value::is_truthy),
    }
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
        let What::One { arguments, .. } = one("file.managed", &words.map(str::to_owned)).unwrap()
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
        let What::One { arguments, .. } = one("cmd.run", &words).unwrap() else {
            panic!("one state was typed");
        };
        assert_eq!(arguments["name"].as_str(), Some("echo a=b"));
    }

    #[test]
    fn what_is_given_twice_is_refused() {
        let words = ["a".to_owned(), "b".to_owned()];
        assert!(one("cmd.run", &words).is_err());
        assert!(one("cmd", &[]).is_err());
    }
}
