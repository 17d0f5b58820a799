//! The state module `alternatives`: the links below `/etc/alternatives`, with `update-alternatives` or
//! `alternatives`.

use super::decision::{act, failure, run_change, run_probe, single_change, stdout_text, unchanged};
use crate::host::fact::Domain;
use crate::states::{
    FactCache, Halt, StateCall, StateDecision, StateFunction, StateModule, StateOutcome, refuse,
};
use crate::text::quote_word;
use crate::value::{Map, Value};

pub(super) static MODULE: StateModule = StateModule {
    name: "alternatives",
    functions: &[
        StateFunction::new("install", install)
            .about("Adds an alternative for a command.")
            .requires("link path priority")
            .reversed_by("remove"),
        StateFunction::new("remove", remove)
            .about("Removes an alternative.")
            .requires("path")
            .irreversible("the link and the priority of the alternative are not recorded"),
        StateFunction::new("auto", auto)
            .about("Lets the system choose the alternative.")
            .irreversible("the alternative that was set by hand is not recorded"),
        StateFunction::new("set", set)
            .about("Selects an alternative.")
            .requires("path")
            .irreversible("the previous alternative is not recorded"),
    ],
    watch: None,
    aggregate: None,
};

/// The alternatives of a name, as one probe reads them.
struct Alternatives {
    /// The target of the link in `/etc/alternatives`; None if there is none.
    current: Option<String>,
    /// The output of `update-alternatives --display`.
    display: String,
}

/// Returns the shell text that finds the program of this machine.
fn program(arguments: &str) -> String {
    format!(
        "if command -v update-alternatives >/dev/null; then update-alternatives {arguments}; else alternatives {arguments}; fi"
    )
}

fn check(name: &str) -> Result<(), Halt> {
    let is_invalid = |sign: char| sign == '/' || sign.is_control() || sign.is_whitespace();
    if name.is_empty() || name.starts_with('-') || name.contains(is_invalid) {
        return refuse(format!("`{name}` is not a valid name of alternatives"));
    }
    Ok(())
}

impl Alternatives {
    fn read(name: &str, facts: &FactCache) -> Result<Self, Halt> {
        check(name)?;
        let link = quote_word(&format!("/etc/alternatives/{name}"));
        let display = program(&format!("--display {}", quote_word(name)));
        let text = format!("readlink {link} || echo; {display} 2>/dev/null || :");
        let probed = run_probe(facts, text, Domain::Path("/etc/alternatives".to_owned()))?;
        let text = stdout_text(probed);
        let (current, display) = text.split_once('\n').unwrap_or((&text, ""));
        Ok(Self {
            current: Some(current.to_owned()).filter(|path| !path.is_empty()),
            display: display.to_owned(),
        })
    }

    /// Returns true if a path is a registered alternative.
    fn has(&self, path: &str) -> bool {
        self.display.lines().any(|line| line.starts_with(path))
    }
}

/// Returns the change that runs the program and touches the alternatives and the given link.
fn change(arguments: &str, link: Option<&str>) -> crate::host::change::Change {
    let mut touches = vec![Domain::Path("/etc/alternatives".to_owned())];
    touches.extend(link.map(|link| Domain::Path(link.to_owned())));
    run_change(program(arguments), touches)
}

/// Decides `alternatives.install`: registers a path as an alternative.
fn install(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    let (link, path) = (call.required("link")?, call.required("path")?);
    let priority = call.required("priority")?;
    if Alternatives::read(&name, facts)?.has(&path) {
        return unchanged(format!(
            "Alternative {path} for {name} is already registered"
        ));
    }
    let mut arguments = String::from("--install");
    for word in [&link, &name, &path, &priority] {
        arguments = format!("{arguments} {}", quote_word(word));
    }
    let steps = vec![change(&arguments, Some(&link))];
    let predicted = StateOutcome::planned(format!(
        "Alternative will be set for {name} to {path} with priority {priority}"
    ));
    let changes = Map::from_iter([
        ("name".into(), Value::str(name.as_str())),
        ("link".into(), Value::str(link)),
        ("path".into(), Value::str(path.as_str())),
        (
            "priority".into(),
            call.arg("priority").cloned().unwrap_or_default(),
        ),
    ]);
    act(predicted, steps, move |complaint, facts| {
        let now = Alternatives::read(&name, facts)?;
        if let Some(why) = complaint.or_else(|| (!now.has(&path)).then_some("")) {
            let comment = format!("Alternative for {name} not installed: {why}");
            return Ok(StateOutcome::failed(comment));
        }
        let comment = if now.current.as_ref() == Some(&path) {
            format!("Alternative for {name} set to path {path} with priority {priority}")
        } else {
            format!(
                "Alternative {path} for {name} registered with priority {priority} and not set to default"
            )
        };
        Ok(StateOutcome::changed(changes.clone(), comment))
    })
}

/// Decides `alternatives.remove`: removes a path from the alternatives.
fn remove(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    let path = call.required("path")?;
    let alternatives = Alternatives::read(&name, facts)?;
    if !alternatives.has(&path) {
        return match alternatives.current {
            Some(current) => unchanged(format!(
                "Alternative for {name} is set to it's default path {current}"
            )),
            None => failure(format!("Alternative for {name} doesn't exist")),
        };
    }
    let arguments = format!("--remove {} {}", quote_word(&name), quote_word(&path));
    let predicted = StateOutcome::planned(format!("Alternative for {name} will be removed"));
    act(
        predicted,
        vec![change(&arguments, None)],
        move |complaint, facts| {
            if let Some(why) = complaint {
                let comment = format!("Alternative for {name} not removed: {why}");
                return Ok(StateOutcome::failed(comment));
            }
            let now = Alternatives::read(&name, facts)?;
            Ok(match now.current {
                Some(current) => StateOutcome::changed(
                    single_change("path", current.as_str()),
                    format!("Alternative for {name} removed. Falling back to path {current}"),
                ),
                None => StateOutcome::changed(
                    single_change("path", Value::Null),
                    format!("Alternative for {name} removed"),
                ),
            })
        },
    )
}

/// Decides `alternatives.auto`: lets the priorities choose the alternative.
fn auto(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    let alternatives = Alternatives::read(&name, facts)?;
    let Some(first) = alternatives.display.lines().next() else {
        return failure(format!("Alternative for {name} doesn't exist"));
    };
    if first.ends_with(" auto mode") {
        return unchanged(format!("{name} already in auto mode"));
    }
    let steps = vec![change(&format!("--auto {}", quote_word(&name)), None)];
    let predicted = StateOutcome::planned(format!("{name} will be put in auto mode"));
    super::decision::act_on_outputs(predicted, steps, move |ended, _| {
        if let Some(why) = &ended.error {
            let comment = format!("{name} not put in auto mode: {why}");
            return Ok(StateOutcome::failed(comment));
        }
        let printed = ended.outputs.last().map(|output| output.stdout.text());
        let printed = printed.as_deref().unwrap_or_default().trim_end().to_owned();
        Ok(StateOutcome::changed(single_change("result", printed), ""))
    })
}

/// Decides `alternatives.set`: makes a registered path the alternative.
fn set(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let name = call.name.to_owned();
    let path = call.required("path")?;
    let alternatives = Alternatives::read(&name, facts)?;
    if alternatives.current.as_ref() == Some(&path) {
        return unchanged(format!("Alternative for {name} already set to {path}"));
    }
    if !alternatives.has(&path) {
        return failure(format!("Alternative {path} for {name} doesn't exist"));
    }
    let arguments = format!("--set {} {}", quote_word(&name), quote_word(&path));
    let predicted =
        StateOutcome::planned(format!("Alternative for {name} will be set to path {path}"));
    act(
        predicted,
        vec![change(&arguments, None)],
        move |complaint, facts| {
            let now = Alternatives::read(&name, facts)?.current;
            if complaint.is_none() && now.as_ref() == Some(&path) {
                return Ok(StateOutcome::changed(
                    single_change("path", path.as_str()),
                    format!("Alternative for {name} set to path {path}"),
                ));
            }
            let why = complaint.unwrap_or_default();
            let comment = format!("Alternative for {name} not updated {why}");
            Ok(StateOutcome::failed(comment.trim_end()))
        },
    )
}
