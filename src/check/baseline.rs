//! Baselines: files with the findings of an old project that are accepted for now. A baseline only becomes smaller.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::diagnostic::{Check, Diagnostic, Diagnostics, Severity, Sources};
use crate::value::hex;

/// The first line of a baseline.
const HEADER: &str =
    "# Findings of `unfurl validate` that are accepted for now. Remove lines, and add none.\n";

/// The findings that a baseline accepts, by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    /// The lines of the file: the id and the line itself.
    lines: Vec<(String, String)>,
}

impl Baseline {
    /// Reads the text of a baseline. Lines that start with `#` and empty lines have no meaning. `None` if the text
    /// does not begin as a baseline does.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(HEADER) {
            return None;
        }
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let entry = |line: &str| {
            let id = line.split_whitespace().next().unwrap_or_default();
            (id.to_owned(), line.to_owned())
        };
        Some(Self {
            lines: lines.map(entry).collect(),
        })
    }

    /// Creates a baseline that accepts all findings that can be accepted.
    pub fn of(problems: &Diagnostics, sources: &Sources, base: &Path) -> Self {
        let mut ids = FindingIds::new(sources, base);
        let accepted = problems.iter().filter(|problem| is_acceptable(problem));
        let lines = accepted.map(|problem| {
            let (id, file) = ids.id(problem);
            let message = problem.message.replace(['\n', '\r'], " ");
            let line = format!("{id} {} {file} {message}", problem.check.name());
            (id, line)
        });
        Self {
            lines: lines.collect(),
        }
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let mut text = HEADER.to_owned();
        for (_, line) in &self.lines {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Hides the accepted findings of one report and adds their ids to `seen`.
    pub fn apply(
        &self,
        problems: Diagnostics,
        sources: &Sources,
        base: &Path,
        seen: &mut HashSet<String>,
    ) -> Diagnostics {
        let mut ids = FindingIds::new(sources, base);
        let known: HashSet<&str> = self.lines.iter().map(|(id, _)| id.as_str()).collect();
        let mut left = Diagnostics::default();
        for problem in problems {
            let (id, _) = ids.id(&problem);
            if known.contains(id.as_str()) && is_acceptable(&problem) {
                seen.insert(id);
            } else {
                left.push(problem);
            }
        }
        left
    }

    /// Returns a finding for each line whose id was not seen in any report.
    ///
    /// `file` is the name of the baseline for the hint.
    pub fn unused(&self, seen: &HashSet<String>, file: &str) -> Diagnostics {
        let unused = self.lines.iter().filter(|(id, _)| !seen.contains(id));
        let finding = |(_, line): &(String, String)| {
            let message = format!("the baseline accepts a finding that does not exist: {line}");
            let help =
                format!("remove the line, or add `--update-baseline` to `--baseline {file}`");
            Diagnostic::warning(message)
                .help(help)
                .check(Check::UnusedBaseline)
        };
        unused.map(finding).collect()
    }

    /// Returns the baseline with the lines whose ids were seen. Findings are never added.
    #[must_use]
    pub fn keep(&self, seen: &HashSet<String>) -> Self {
        let lines = self.lines.iter().filter(|(id, _)| seen.contains(id));
        Self {
            lines: lines.cloned().collect(),
        }
    }

    /// Returns the number of findings.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds the findings of another report.
    pub fn extend(&mut self, other: Self) {
        for (id, line) in other.lines {
            if !self.lines.iter().any(|(known, _)| *known == id) {
                self.lines.push((id, line));
            }
        }
    }
}

/// Returns true if a baseline can accept a finding. Errors that stop everything cannot be accepted.
fn is_acceptable(problem: &Diagnostic) -> bool {
    problem.severity != Severity::Error || problem.contained
}

/// Gives findings their ids: a digest of the check, the file, the message and the number of equal ones before. A line
/// number is not part of it, so that other changes of the file do not change the id.
struct FindingIds<'a> {
    sources: &'a Sources,
    base: &'a Path,
    counts: HashMap<String, usize>,
}

impl<'a> FindingIds<'a> {
    fn new(sources: &'a Sources, base: &'a Path) -> Self {
        Self {
            sources,
            base,
            counts: HashMap::new(),
        }
    }

    /// Returns the id of a finding and the path of its file.
    fn id(&mut self, problem: &Diagnostic) -> (String, String) {
        let source = problem
            .span()
            .and_then(|span| self.sources.get(span.source));
        let path = source.map(|source| source.path.as_path());
        let path = path.map(|path| path.strip_prefix(self.base).unwrap_or(path));
        let file = path.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
        let text = format!("{}\0{file}\0{}", problem.check.name(), problem.message);
        let count = self.counts.entry(text.clone()).or_default();
        let digest = Sha256::digest(format!("{text}\0{count}"));
        *count += 1;
        (hex(&digest)[..16].to_owned(), file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(messages: &[&str]) -> Diagnostics {
        let finding = |message: &&str| Diagnostic::warning(message).check(Check::EmptyPath);
        messages.iter().map(finding).collect()
    }

    #[test]
    fn a_baseline_hides_what_it_lists_and_only_shrinks() {
        let sources = Sources::default();
        let base = Path::new("/p");
        let old = findings(&["a", "b", "b"]);
        let baseline = Baseline::parse(&Baseline::of(&old, &sources, base).text()).unwrap();
        assert_eq!(Baseline::parse("apiVersion: unfurl/v1alpha1"), None);
        assert_eq!(baseline.lines.len(), 3);
        let mut seen = HashSet::new();
        let left = baseline.apply(findings(&["b", "new"]), &sources, base, &mut seen);
        assert_eq!(left.first_message(), "new");
        assert_eq!(left.len(), 1);
        assert_eq!(baseline.unused(&seen, "b").len(), 2);
        let smaller = baseline.keep(&seen);
        assert_eq!(smaller.lines.len(), 1);
        assert!(!smaller.text().contains("new"));
    }

    #[test]
    fn an_error_that_stops_everything_is_never_accepted() {
        let sources = Sources::default();
        let fatal: Diagnostics = Diagnostic::error("broken").into();
        let baseline = Baseline::of(&fatal, &sources, Path::new("/"));
        assert!(baseline.lines.is_empty());
    }
}
