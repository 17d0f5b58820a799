//! The counts of findings, and the verdict in words.

use super::phrases::{Section, since};
use crate::drift::{DriftAnswer, LoadProblem, Verdict, verdict};
use crate::ui::words;

/// The numbers of findings in some answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DriftCounts {
    sections: [usize; Section::ALL.len()],
    pub(super) rule_problems: usize,
    pub(super) looked_at: usize,
    pub(super) total: usize,
}

impl DriftCounts {
    pub(super) fn of<'a>(answers: impl IntoIterator<Item = &'a DriftAnswer>) -> Self {
        let mut counts = Self::default();
        for answer in answers {
            for finding in &answer.findings {
                counts.sections[Section::of(finding) as usize] += 1;
            }
            counts.rule_problems += answer.rule_problems.len();
            counts.looked_at += answer.looked_at;
            counts.total += answer.total;
        }
        counts
    }

    pub(super) fn number(&self, section: Section) -> usize {
        self.sections[section as usize]
    }

    /// Returns the counts other than 0: `2 drifted, 1 cannot tell, 1 pending`. Empty without any.
    pub(super) fn text(&self) -> String {
        let sections = Section::ALL.into_iter();
        let counted = sections.filter_map(|section| {
            let number = self.number(section);
            (number > 0).then(|| format!("{} {}", words::thousands(number), section.word()))
        });
        let rules = (self.rule_problems > 0)
            .then(|| words::count(self.rule_problems, "problem") + " of ignore rules");
        counted.chain(rules).collect::<Vec<_>>().join(", ")
    }

    /// Returns how much was looked at: `46 of 50 looked at`.
    pub(super) fn looked(&self) -> String {
        if self.total == 0 {
            return "nothing to look at".to_owned();
        }
        let (looked, total) = (self.looked_at, self.total);
        let (looked, total) = (words::thousands(looked), words::thousands(total));
        format!("{looked} of {total} looked at")
    }
}

/// Returns the verdict over all answers as one sentence, with counts.
pub(super) fn verdict_line(answers: &[DriftAnswer]) -> String {
    let counts = DriftCounts::of(answers);
    let found = counts.text();
    let of = match answers {
        [one] => format!("in {}", words::one_line(&one.name)),
        all => format!("in {}", words::count(all.len(), "ensemble")),
    };
    let mut parts = match verdict(answers) {
        Verdict::Clean if found.is_empty() => vec![format!("No drift {of}")],
        Verdict::Clean => vec![format!("No drift {of}: {found}")],
        Verdict::Drifted => vec![format!("Drift {}: {found}", drifted_of(answers, &of))],
        Verdict::CannotTell | Verdict::Invalid if found.is_empty() => {
            vec![format!("No drift found {of}")]
        }
        Verdict::CannotTell | Verdict::Invalid => vec![format!("No drift found {of}, but {found}")],
    };
    if let [one] = answers
        && let Some((word, _)) = one.problem.as_ref().map(super::phrases::problem)
    {
        return format!("Nothing known: {} {word}", words::one_line(&one.name));
    }
    parts.extend(problems(answers));
    parts.push(counts.looked());
    if let [one] = answers {
        parts.extend(row(one));
    }
    parts.join("; ")
}

/// Names the part of several ensembles that drifted.
fn drifted_of(answers: &[DriftAnswer], of: &str) -> String {
    if answers.len() < 2 {
        return of.to_owned();
    }
    let is_drifted = |it: &&DriftAnswer| it.verdict() == Verdict::Drifted;
    let drifted = answers.iter().filter(is_drifted).count();
    format!(
        "in {drifted} of {}",
        words::count(answers.len(), "ensemble")
    )
}

/// Counts the ensembles that were not looked at.
fn problems(answers: &[DriftAnswer]) -> Vec<String> {
    let count = |test: fn(&LoadProblem) -> bool| {
        let problems = answers.iter().filter_map(|it| it.problem.as_ref());
        problems.filter(|it| test(it)).count()
    };
    let invalid = count(|it| matches!(it, LoadProblem::Invalid(_)));
    let locked = count(|it| matches!(it, LoadProblem::Locked(_)));
    let parts = [(invalid, "cannot be loaded"), (locked, "locked")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    parts
        .map(|(number, word)| format!("{} {word}", words::count(number, "ensemble")))
        .collect()
}

/// Returns the row of clean answers that an answer continues: `clean 14 times since …`.
pub(super) fn row(answer: &DriftAnswer) -> Option<String> {
    let row = answer.transitions.as_ref()?.row.as_ref()?;
    let is_clean = answer.verdict() == Verdict::Clean;
    let since = since(row.since, answer.at);
    is_clean.then(|| format!("clean {} times since {since}", row.count))
}
