//! The state module `test`: states that change nothing and return a chosen outcome, and `check_pillar`.
//!
//! Used to test requisites, notifications and dry runs.

use crate::states::modules::decision::{failure, unchanged};
use std::fmt::Write as _;

use crate::states::execution_modules::traverse;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::value::{Map, Value};

pub(in crate::states) static MODULE: StateModule = StateModule {
    name: "test",
    functions: &[
        StateFunction::new("nop", |call, _| Ok(success(call)))
            .about("Does nothing and succeeds.")
            .options("*"),
        StateFunction::new("succeed_without_changes", |call, _| Ok(success(call)))
            .about("Succeeds without a change.")
            .options("*"),
        StateFunction::new("fail_without_changes", fail_without_changes)
            .about("Fails without a change.")
            .options("*"),
        StateFunction::new("succeed_with_changes", |call, _| {
            Ok(with_changes(call, true))
        })
        .about("Succeeds and reports a change.")
        .options("*"),
        StateFunction::new("fail_with_changes", |call, _| Ok(with_changes(call, false)))
            .about("Fails and reports a change.")
            .options("*"),
        StateFunction::new("configurable_test_state", configurable)
            .about("Reports the result and the changes that the arguments name.")
            .options("changes result comment warnings allow_test_mode_failure"),
        StateFunction::new("show_notification", show_notification)
            .about("Prints a text.")
            .options("text *"),
        StateFunction::new("check_pillar", check_pillar)
            .about("Fails unless the pillar has keys of given types.")
            .options("present boolean integer string listing dictionary verbose"),
        StateFunction::new("mod_watch", mod_watch)
            .about("Reports a change if a watched state has changed.")
            .options("*"),
    ],
    watch: Some(mod_watch),
    aggregate: None,
};

fn fake_changes() -> Map {
    let change = Value::map(
        [
            ("old", "Unchanged"),
            ("new", "Something pretended to change"),
        ]
        .map(|(key, text)| (key, Value::str(text))),
    );
    Map::from_iter([("testing".into(), change)])
}

fn comment(call: &StateCall<'_>, otherwise: &str) -> String {
    call.arg("comment")
        .map_or_else(|| otherwise.to_owned(), Value::to_string)
}

fn success(call: &StateCall<'_>) -> StateDecision {
    StateDecision::Done(StateOutcome::unchanged(comment(call, "Success!")))
}

fn fail_without_changes(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    failure(match call.mode {
        Mode::Apply => comment(call, "Failure!"),
        Mode::Test => "If we weren't testing, this would be a failure!".to_owned(),
    })
}

fn with_changes(call: &StateCall<'_>, good: bool) -> StateDecision {
    let (otherwise, would) = if good {
        ("Success!", "successful with changes")
    } else {
        ("Failure!", "failed with changes")
    };
    StateDecision::Done(match call.mode {
        Mode::Apply => StateOutcome {
            result: Some(good),
            ..StateOutcome::changed(fake_changes(), comment(call, otherwise))
        },
        Mode::Test => StateOutcome::would_change(
            fake_changes(),
            format!("If we weren't testing, this would be {would}"),
        ),
    })
}

/// Returns a boolean argument that may also be `Random`; true if it is missing.
fn choice(call: &StateCall<'_>, key: &str) -> Result<bool, Halt> {
    match call.args.get(key).map(Value::reveal) {
        None => Ok(true),
        Some(Value::Bool(truth)) => Ok(*truth),
        Some(other) if other.to_string().eq_ignore_ascii_case("random") => {
            // `Random` depends on the state's name instead of chance, so that a run is repeatable.
            Ok(call.name.bytes().fold(0u8, u8::wrapping_add) % 2 == 0)
        }
        Some(_) => refuse(format!(
            "You have specified the state option '{key}' with invalid arguments. It must be \
             either True, False, or 'Random'"
        )),
    }
}

fn configurable(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    let changes = choice(call, "changes")?;
    let result = choice(call, "result")?;
    let warnings = match call.arg("warnings") {
        None => Vec::new(),
        Some(Value::Str(_) | Value::List(_)) => call.texts("warnings")?,
        Some(_) => {
            return refuse(
                "You have specified the state option 'warnings' with invalid arguments. It must \
                 be a string or a list of strings",
            );
        }
    };
    let mut outcome = StateOutcome {
        result: Some(result),
        changes: if changes { fake_changes() } else { Map::new() },
        comment: comment(call, ""),
        warnings,
        ..StateOutcome::default()
    };
    if call.mode == Mode::Test {
        let unchanged = call.args.get("changes").map(Value::reveal) == Some(&Value::Bool(false));
        outcome.result = unchanged.then_some(true);
        if !result && call.flag("allow_test_mode_failure", false) {
            outcome.result = Some(false);
        }
        if outcome.comment.is_empty() {
            "This is a test".clone_into(&mut outcome.comment);
        }
    }
    Ok(StateDecision::Done(outcome))
}

fn show_notification(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    match call.arg("text").filter(|it| it.is_truthy()) {
        Some(text) => unchanged(text.to_string()),
        None => refuse("Missing required argument text."),
    }
}

/// A check of a pillar value: the argument, the type's name in messages, and the test.
type PillarCheck = (&'static str, &'static str, fn(&Value) -> bool);

const PILLAR_CHECKS: [PillarCheck; 6] = [
    ("present", "", |_| true),
    ("boolean", "<class 'bool'>", |it| {
        matches!(it, Value::Bool(_))
    }),
    ("integer", "<class 'int'>", |it| {
        matches!(it, Value::Int(_) | Value::Big(_) | Value::Bool(_))
    }),
    ("string", "(<class 'str'>,)", |it| {
        matches!(it, Value::Str(_))
    }),
    ("listing", "<class 'list'>", |it| {
        matches!(it, Value::List(_))
    }),
    ("dictionary", "<class 'dict'>", |it| {
        matches!(it, Value::Map(_))
    }),
];

fn check_pillar(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    if !PILLAR_CHECKS.iter().any(|(key, ..)| call.flag(key, false)) {
        return refuse("Missing required argument text.");
    }
    let (mut failed, mut fine) = (String::new(), String::new());
    for (argument, kind, fits) in PILLAR_CHECKS {
        for key in call.texts(argument)? {
            let _ = match traverse(&call.context.pillar, &key, ":") {
                None | Some(Value::Null) => writeln!(failed, "Pillar key \"{key}\" is missing."),
                Some(value) if fits(value.reveal()) => writeln!(fine, "- {key} ({kind})"),
                Some(_) => writeln!(failed, "Pillar key \"{key}\" is not {kind}."),
            };
        }
    }
    let is_fine = failed.is_empty();
    let mut comment = failed;
    if call.flag("verbose", false) && !fine.is_empty() {
        comment.push_str("Those keys passed the check:\n");
        comment.push_str(&fine);
    }
    Ok(StateDecision::Done(StateOutcome {
        result: Some(is_fine),
        ..StateOutcome::unchanged(comment)
    }))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the function table needs this signature"
)]
fn mod_watch(call: &StateCall<'_>, _: &FactCache) -> Result<StateDecision, Halt> {
    let changes = if let Some(Value::Map(map)) = call.arg("changes") {
        Map::clone(map)
    } else {
        let changed = call.args.get("__reqs__").cloned();
        let changed = changed.unwrap_or_else(|| Value::list([]));
        Map::from_iter([("Requisites with changes".into(), changed)])
    };
    let result = match call.args.get("result").map(Value::reveal) {
        None => Some(true),
        Some(other) => other.as_bool(),
    };
    Ok(StateDecision::Done(StateOutcome {
        result,
        ..StateOutcome::changed(changes, comment(call, "Watch statement fired."))
    }))
}
