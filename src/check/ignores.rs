//! Comments in files that hide a finding: `# unfurl: ignore[CHECK] REASON`.
//!
//! A comment stands on the line of the finding, or on lines of comments directly above it. Errors that stop the reading of
//! a file cannot be hidden.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::{
    Check, Diagnostic, Diagnostics, Severity, SourceId, SourceLocator, Sources, Span,
};
use crate::text::did_you_mean;

/// The words with which an ignore comment begins.
const MARK: &str = "# unfurl: ignore";

/// Comments that are meant as ignore comments, in any form.
static SIMILAR_MARK: LazyLock<Regex> = LazyLock::new(|| {
    let form = r"(?i)#\s*unfurl\s*:\s*ignore";
    Regex::new(form).unwrap_or_else(|_| unreachable!("the pattern is constant"))
});

/// Returns true if a line begins a block scalar, such as `command: | # …`.
fn starts_block(line: &str) -> bool {
    let code = line.split(" #").next().unwrap_or(line).trim_end();
    let header = code.trim_end_matches(|at: char| at.is_ascii_digit() || matches!(at, '+' | '-'));
    header.ends_with(['|', '>']) && header[..header.len() - 1].ends_with([' ', ':'])
}

/// The treatment of comments that hide nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusedIgnores {
    Report,
    Accept,
}

/// Hides the findings for which a comment stands in the file. Reports malformed and, if wanted, useless comments.
pub fn apply_ignores(
    problems: Diagnostics,
    sources: &Sources,
    unused: UnusedIgnores,
) -> Diagnostics {
    let mut found = Diagnostics::default();
    let mut comments = Comments::find(sources, &mut found);
    if comments.by_line.is_empty() && found.is_empty() {
        return problems;
    }
    let locator = SourceLocator::new(sources);
    let mut kept = Diagnostics::default();
    for problem in problems {
        let place = problem.span().and_then(|span| {
            let line = locator.locate(span)?.line;
            Some((span.source, line))
        });
        let is_fatal = problem.severity == Severity::Error && !problem.contained;
        if place.is_none_or(|place| !comments.hide(place, problem.check, is_fatal)) {
            kept.push(problem);
        }
    }
    kept.append(found);
    if unused == UnusedIgnores::Report {
        kept.append(comments.unused());
    }
    kept
}

/// An ignore comment for one check.
struct Ignore {
    check: Check,
    /// The place of the check's name.
    span: Span,
    is_used: bool,
    /// True if the finding that it names is an error that cannot be hidden.
    is_refused: bool,
}

/// The ignore comments of all files, by the line of the finding.
#[derive(Default)]
struct Comments {
    all: Vec<Ignore>,
    by_line: HashMap<(SourceId, usize), Vec<usize>>,
}

impl Comments {
    fn find(sources: &Sources, problems: &mut Diagnostics) -> Self {
        let mut comments = Self::default();
        for (id, source) in sources.iter() {
            if SIMILAR_MARK.is_match(&source.text) {
                comments.add_file(id, &source.text, problems);
            }
        }
        comments
    }

    fn add_file(&mut self, id: SourceId, text: &str, problems: &mut Diagnostics) {
        let mut start = 0;
        let mut above = Vec::new();
        // The comments of the block scalar around the current line, and the indentation of its key.
        let mut block: (Vec<usize>, usize) = Default::default();
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let is_comment = line.trim_start().starts_with('#');
            let indentation = line.len() - line.trim_start().len();
            if !line.trim().is_empty() && indentation <= block.1 {
                block.0.clear();
            }
            self.by_line
                .entry((id, number))
                .or_default()
                .extend(&block.0);
            if let Some(at) = line.find(MARK) {
                above.extend(self.add(id, line, (start, at), problems));
            } else if let Some(found) = SIMILAR_MARK.find(line) {
                let at = u32::try_from(start + found.start()).unwrap_or(u32::MAX);
                let span = Span::new(
                    id,
                    at,
                    at.saturating_add(u32::try_from(found.len()).unwrap_or_default()),
                );
                problems.push(invalid("an ignore comment has exactly one form", span));
            }
            if !is_comment && starts_block(line) {
                block = (above.clone(), indentation);
            }
            if !is_comment {
                self.by_line
                    .entry((id, number))
                    .or_default()
                    .append(&mut above);
            }
            start += line.len();
        }
        self.by_line.retain(|_, comments| !comments.is_empty());
    }

    /// Reads the comment at an offset of a line that starts at an offset of its text.
    fn add(
        &mut self,
        id: SourceId,
        line: &str,
        (start, at): (usize, usize),
        problems: &mut Diagnostics,
    ) -> Vec<usize> {
        let span = |from: usize, length: usize| {
            let from = u32::try_from(start + from).unwrap_or(u32::MAX);
            Span::new(
                id,
                from,
                from.saturating_add(u32::try_from(length).unwrap_or_default()),
            )
        };
        let rest = &line[at + MARK.len()..];
        let whole = span(at, line[at..].trim_end().len());
        let names = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let Some((names, reason)) = names else {
            problems.push(invalid(
                "an ignore comment must name the checks that it ignores",
                whole,
            ));
            return Vec::new();
        };
        if reason.trim().trim_start_matches(':').trim().is_empty() {
            problems.push(invalid("an ignore comment must give a reason", whole));
            return Vec::new();
        }
        let mut added = Vec::new();
        let mut offset = at + MARK.len() + 1;
        for name in names.split(',') {
            let leading = name.len() - name.trim_start().len();
            let place = span(offset + leading, name.trim().len());
            offset += name.len() + 1;
            let name = name.trim();
            let Some(check) = Check::ALL.iter().find(|check| check.name() == name) else {
                let hint = did_you_mean(name, Check::ALL.iter().map(|check| check.name()));
                let problem = Diagnostic::warning(format!("`{name}` is not the name of a check"));
                problems.push(
                    problem
                        .label(place, "")
                        .help_if(hint)
                        .check(Check::InvalidIgnore),
                );
                continue;
            };
            added.push(self.all.len());
            self.all.push(Ignore {
                check: *check,
                span: place,
                is_used: false,
                is_refused: false,
            });
        }
        added
    }

    /// Returns true if a comment hides a finding of a check at a line.
    fn hide(&mut self, place: (SourceId, usize), check: Check, is_fatal: bool) -> bool {
        let mut hidden = false;
        for index in self.by_line.get(&place).into_iter().flatten() {
            let comment = &mut self.all[*index];
            if comment.check == check {
                comment.is_used = true;
                comment.is_refused |= is_fatal;
                hidden = !is_fatal;
            }
        }
        hidden
    }

    fn unused(&self) -> Diagnostics {
        let unused = self
            .all
            .iter()
            .filter(|comment| !comment.is_used || comment.is_refused);
        let report = |comment: &Ignore| {
            let name = comment.check.name();
            let problem = if comment.is_refused {
                let message =
                    format!("the error `{name}` cannot be ignored, because nothing works with it");
                Diagnostic::warning(message).help("correct the error, and remove the comment")
            } else {
                let message = format!("nothing of the check `{name}` is found here");
                Diagnostic::warning(message).help("remove the comment")
            };
            problem
                .label(comment.span, "ignored for nothing")
                .check(Check::UnusedIgnore)
        };
        unused.map(report).collect()
    }
}

fn invalid(message: &str, span: Span) -> Diagnostic {
    Diagnostic::warning(message)
        .label(span, "")
        .help("write `# unfurl: ignore[CHECK] REASON`")
        .check(Check::InvalidIgnore)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, at: &[(&str, Check)]) -> String {
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", text, None);
        let problem = |(word, check): &(&str, Check)| {
            let start = u32::try_from(text.find(word).unwrap()).unwrap();
            let problem = Diagnostic::error(format!("bad {word}"))
                .contained()
                .check(*check);
            problem.label(Span::new(id, start, start + 1), "")
        };
        let problems = at.iter().map(problem).collect();
        let left = apply_ignores(problems, &sources, UnusedIgnores::Report);
        let line = |problem: &Diagnostic| {
            let place = sources.position(problem.span().unwrap()).unwrap();
            format!(
                "{}:{} {}: {}",
                place.line,
                place.column,
                problem.check.name(),
                problem.message
            )
        };
        left.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_comment_hides_the_finding_of_its_line_and_of_the_line_below() {
        let text = "
# unfurl: ignore[unknown-template] the node is added by a task
first: x
# unfurl: ignore[unknown-filter, missing-file] made by CI
# another comment
second: y
third: z # unfurl: ignore[constraint]: the limit is wrong
fourth: z
";
        let found = [
            ("first", Check::UnknownTemplate),
            ("second", Check::UnknownFilter),
            ("second", Check::MissingFile),
            ("third", Check::Constraint),
            ("fourth", Check::Constraint),
        ];
        assert_eq!(apply(text, &found), "8:1 constraint: bad fourth");
    }

    #[test]
    fn a_comment_at_a_key_counts_for_the_whole_block_of_text() {
        let text = "
command: | # unfurl: ignore[unknown-variable] set by the shell
  first line
  second line

  third line
next: x
";
        let check = Check::UnknownVariable;
        assert_eq!(apply(text, &[("second", check), ("third", check)]), "");
        let left = apply(text, &[("third", check), ("next", check)]);
        assert_eq!(left, "7:1 unknown-variable: bad next");
    }

    #[test]
    fn a_comment_without_a_reason_or_without_an_effect_is_a_finding() {
        let text = "
a: 1 # unfurl: ignore[constraint]
b: 2 # unfurl: ignore everything
c: 3 # unfurl: ignore[constrain] no such check
d: 4 # unfurl: ignore[constraint, missing-file] one of both
e: 5 #unfurl:ignore[constraint] no space
";
        insta::assert_snapshot!(apply(text, &[("d:", Check::Constraint), ("a:", Check::Constraint)]), @"
        2:1 constraint: bad a:
        2:6 invalid-ignore: an ignore comment must give a reason
        3:6 invalid-ignore: an ignore comment must name the checks that it ignores
        4:23 invalid-ignore: `constrain` is not the name of a check
        6:6 invalid-ignore: an ignore comment has exactly one form
        5:35 unused-ignore: nothing of the check `missing-file` is found here
        ");
    }
}
