//! The commands that people type after an answer.

use super::phrases::Section;
use crate::drift::DriftAnswer;
use crate::text::shlex_quote;

/// The maximum number of ids in a command.
const MAX_IDS: usize = 3;

/// The words of the command that looked for drift.
#[derive(Debug, Clone, Default)]
pub struct NextCommands {
    /// The ensembles as the user named them, in the order of the answers. Empty for the one of the current folder.
    pub ensembles: Vec<String>,
    /// The options that select instances, quoted for a shell.
    pub selection: Vec<String>,
    /// The options that select the environment, quoted for a shell.
    pub environment: Vec<String>,
}

impl NextCommands {
    /// Returns the words of a command about an ensemble.
    fn command(&self, words: &str, ensembles: &[usize], options: &[&[String]]) -> String {
        let named = ensembles
            .iter()
            .filter_map(|place| self.ensembles.get(*place));
        let named = named.filter(|name| !name.is_empty());
        let named: Vec<String> = named.map(|name| shlex_quote(name)).collect();
        let options = options.iter().flat_map(|words| words.iter().cloned());
        let all = [words.to_owned()].into_iter().chain(named).chain(options);
        all.collect::<Vec<_>>().join(" ")
    }
}

/// Returns commands for the findings of some answers, with what they do.
pub(super) fn next_commands(
    answers: &[DriftAnswer],
    next: &NextCommands,
) -> Vec<(String, &'static str)> {
    let has = |answer: &DriftAnswer, section| {
        let mut findings = answer.findings.iter();
        // Findings of hosts belong to no ensemble, which could have rules or a model.
        answer.manifest.is_some() && findings.any(|it| Section::of(it) == section)
    };
    let with = |section| -> Vec<usize> {
        let places = 0..answers.len();
        places
            .filter(|place| has(&answers[*place], section))
            .collect()
    };
    let mut commands = Vec::new();
    let drifted = with(Section::Drifted);
    let options = [&next.selection[..], &next.environment[..]];
    if let Some(first) = drifted.first() {
        let command = next.command("unfurl drift", &drifted, &options);
        commands.push((format!("{command} --repair"), "show and run the repair"));
        let findings = answers[*first].findings.iter();
        let alarms = findings.filter(|it| it.is_alarm()).take(MAX_IDS);
        let ids: Vec<String> = alarms.map(|it| it.id().to_string()).collect();
        let command = next.command("unfurl drift accept", &[*first], &[&ids, &next.environment]);
        let command = format!("{command} --until 30d --reason '…'");
        commands.push((command, "accept it for a while"));
    }
    if let pending @ [_, ..] = &with(Section::Pending)[..] {
        for place in pending.iter().take(MAX_IDS) {
            let command = next.command("unfurl deploy", &[*place], &options);
            commands.push((command, "apply the pending changes"));
        }
    }
    commands
}
