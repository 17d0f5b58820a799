//! The state module `debconf`: answers to the questions of Debian packages.
//!
//! The programs `debconf-get-selections`, of the package `debconf-utils`, and `debconf-set-selections` read and
//! set the answers. Answers reach the machine through the standard input, never as words of a command.

use super::decision::{act, act_or_fail, done, failure, run_probe, stdout_text, unchanged};
use super::file::{read_source, render_source, template_context};
use crate::host::change::{Change, CommandRun};
use crate::host::fact::Domain;
use crate::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateFunction, StateModule, StateOutcome,
    refuse,
};
use crate::value::{Map, Value};

pub(super) static MODULE: StateModule = StateModule {
    name: "debconf",
    functions: &[
        StateFunction::new("set", set)
            .accepts_more()
            .about("Sets answers of debconf to questions of packages.")
            .requires("data")
            .irreversible("the previous answers are not recorded"),
        StateFunction::new("set_file", set_file)
            .accepts_more()
            .about("Sets the answers of debconf that a file has.")
            .requires("source")
            .options("template context defaults")
            .irreversible("the previous answers are not recorded"),
    ],
    watch: None,
    aggregate: None,
};

const SET: &str = "debconf-set-selections";

/// An answer to a question.
struct Answer {
    question: String,
    kind: String,
    value: String,
}

impl Answer {
    fn parse(question: &str, value: &Value) -> Result<Self, Halt> {
        let part = |key: &str| match value.reveal().get(key) {
            Some(value) => Ok(value.reveal().clone()),
            None => refuse(format!(
                "the question {question} in `data` needs `type` and `value`"
            )),
        };
        let (kind, value) = (part("type")?.to_string(), part("value")?);
        let value = if kind == "boolean" {
            value.is_truthy().to_string()
        } else {
            value.to_string()
        };
        let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        if !is_word(question) || !is_word(&kind) || value.contains('\n') {
            return refuse(format!(
                "the question {question} in `data` cannot be set: question and type must be words, and the value one line"
            ));
        }
        Ok(Self {
            question: question.to_owned(),
            kind,
            value,
        })
    }

    fn is_secret(&self) -> bool {
        self.kind == "password"
    }

    fn shown(&self) -> &str {
        if self.is_secret() {
            "(password hidden)"
        } else {
            &self.value
        }
    }
}

/// Returns the answers of a package, as lines `question type value`.
fn current_answers(package: &str, facts: &FactCache) -> Result<Vec<String>, Halt> {
    let script = "command -v debconf-get-selections >/dev/null || exit 127; debconf-get-selections";
    let probed = run_probe(facts, script, Domain::Packages)?;
    if probed.code == 127 {
        return refuse(
            "the program `debconf-get-selections` is missing: install the package `debconf-utils`",
        );
    }
    let text = stdout_text(probed);
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix(package)?;
        let rest = rest.strip_prefix(['\t', ' '])?;
        let mut words = rest.splitn(3, '\t').map(str::trim_start);
        Some(format!(
            "{} {} {}",
            words.next()?,
            words.next()?,
            words.next().unwrap_or_default()
        ))
    });
    Ok(lines.collect())
}

/// Returns the change that sets answers, whose lines are hidden if one of them is secret.
fn set_selections(text: String, is_secret: bool) -> Change {
    let mut run = CommandRun::new(SET).touching([Domain::Packages]);
    run.stdin = Some(text.into_bytes());
    run.shown = is_secret.then(|| SET.to_owned());
    Change::Run(run)
}

/// Decides `debconf.set`: sets the answers to questions of a package.
fn set(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let package = call.name;
    if package.is_empty() || package.contains(char::is_whitespace) {
        return refuse(format!("`{package}` is not the name of a package"));
    }
    let Some(data) = call.arg("data").and_then(Value::as_map) else {
        return refuse("`data` of debconf.set must be a map of questions");
    };
    let answers = data
        .iter()
        .map(|(question, value)| Answer::parse(question, value));
    let answers: Vec<Answer> = answers.collect::<Result<_, _>>()?;
    let current = current_answers(package, facts)?;
    let current: std::collections::HashSet<String> = current.into_iter().collect();
    let (mut text, mut comment) = (String::new(), String::new());
    let (mut planned, mut changes, mut failed) = (Map::new(), Map::new(), Map::new());
    let mut is_secret = call.is_sensitive("data");
    for answer in &answers {
        let Answer {
            question,
            kind,
            value,
        } = answer;
        let line = format!("{question} {kind} {value}");
        if current.contains(&line) {
            if comment.is_empty() {
                comment.push_str("Unchanged answers: ");
            }
            comment.push_str(&format!("{question} "));
            continue;
        }
        is_secret |= answer.is_secret();
        text.push_str(&format!("{package} {line}\n"));
        let key = || question.as_str().into();
        planned.insert(key(), format!("New value: {}", answer.shown()).into());
        changes.insert(key(), answer.shown().into());
        failed.insert(key(), "Failed to set!".into());
    }
    if changes.is_empty() {
        return unchanged("All specified answers are already set");
    }
    let steps = vec![set_selections(text, is_secret)];
    let predicted = StateOutcome::would_change(planned, comment.clone());
    act(predicted, steps, move |error, _| {
        Ok(match error {
            None => StateOutcome::changed(changes.clone(), comment.clone()),
            Some(error) => StateOutcome::failed_with(
                failed.clone(),
                format!("Some settings failed to be applied. {error}"),
            ),
        })
    })
}

/// Decides `debconf.set_file`: sets the answers of a file. The file is read each time, as in Salt.
fn set_file(call: &StateCall<'_>, facts: &FactCache) -> Result<StateDecision, Halt> {
    let context = template_context(call)?;
    let source = call.required("source")?;
    let template = call.non_empty_text("template")?;
    if let Some(template) = template.as_deref().filter(|it| *it != "jinja") {
        return refuse(format!(
            "Specified template format {template} is not supported"
        ));
    }
    let planned = StateOutcome::planned("Debconf selections would have been set.");
    let Some((bytes, path)) = read_source(call, &source, facts)? else {
        return match call.mode {
            Mode::Test => done(planned),
            Mode::Apply => failure("Unable to set debconf selections from file."),
        };
    };
    let text = match template {
        Some(_) => render_source(call, &bytes, &path, &context, facts)?,
        None => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let is_secret = text
        .lines()
        .any(|line| line.split_whitespace().nth(2) == Some("password"))
        || super::file::contains_secrets(call, &text);
    act_or_fail(
        planned,
        vec![set_selections(text, is_secret)],
        StateOutcome::unchanged("Debconf selections were set."),
        "Unable to set debconf selections from file. ",
    )
}
