//! The content of a top file: the targets of each environment, with the SLS names that they assign (S7).

use std::sync::Arc;

use indexmap::IndexMap;

use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::render::Matcher;
use crate::yaml::Node;

/// The targets of a top file by environment and pattern, as they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct TopSections(pub(super) IndexMap<Arc<str>, TopTargets>);

/// The entries of targets, by their patterns.
pub(super) type TopTargets = IndexMap<Arc<str>, Vec<TopEntry>>;

/// An entry in the list of a target.
#[derive(Debug, Clone)]
pub(super) enum TopEntry {
    /// An SLS of the section's environment.
    Sls(Arc<str>),
    /// An SLS of another environment.
    SlsOf { env: Arc<str>, name: Arc<str> },
    /// The kind of the target's pattern.
    Match(Matcher),
}

pub(super) fn report(problems: &mut Diagnostics, problem: impl Into<String>, span: Span) {
    let problem = StateFileProblem::Top(problem.into());
    problems.push(Diagnostic::error(problem).label(span, ""));
}

impl TopSections {
    /// Reads the root of a rendered top file, without its `include`.
    pub(super) fn read(root: &Node, problems: &mut Diagnostics) -> Self {
        let mut sections = Self::default();
        let Some(envs) = root.as_map() else {
            let problem = "the top file is not formed as a dictionary";
            report(problems, problem, root.span());
            return sections;
        };
        for (env, entry) in envs.iter().filter(|(env, _)| &***env != "include") {
            if entry.value.as_map().is_none() {
                let problem = "the targets of the top file are not formed as a dictionary";
                report(problems, problem, entry.value.span());
                continue;
            }
            let targets = read_targets(&entry.value, problems);
            sections.0.insert(Arc::clone(env), targets);
        }
        sections
    }
}

fn read_targets(node: &Node, problems: &mut Diagnostics) -> TopTargets {
    let mut targets = TopTargets::new();
    for (pattern, entry) in node.as_map().into_iter().flatten() {
        let entries = read_entries(pattern, &entry.value, problems);
        targets.insert(Arc::clone(pattern), entries);
    }
    targets
}

fn read_entries(pattern: &str, node: &Node, problems: &mut Diagnostics) -> Vec<TopEntry> {
    let Some(items) = node.as_seq() else {
        let problem = format!("the SLS names for target `{pattern}` are not formed as a list");
        report(problems, problem, node.span());
        return Vec::new();
    };
    let mut entries = Vec::with_capacity(items.len());
    for item in items {
        if let Some(name) = item.as_str() {
            entries.push(TopEntry::Sls(name.into()));
        } else if item.get("subfilter").is_some() {
            let problem = "`subfilter` is not supported: write a compound target such as `G@os:Debian and web*`";
            report(problems, problem, item.span());
        } else if let Some(word) = item.get("match").and_then(Node::as_str) {
            match Matcher::from_name(word) {
                Some(matcher) => entries.push(TopEntry::Match(matcher)),
                None => report(problems, format!("unknown matcher `{word}`"), item.span()),
            }
        } else if let Some((env, entry)) = item.as_map().and_then(|map| map.iter().next_back())
            && let Some(name) = entry.value.as_str()
        {
            entries.push(TopEntry::SlsOf {
                env: Arc::clone(env),
                name: name.into(),
            });
        }
    }
    entries
}
