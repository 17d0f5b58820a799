//! The top file: determines which SLS files a machine gets (S7).
//!
//! Entry: [`match_top_files`], called by the compile pipeline for a highstate. `render/matcher.rs` evaluates the
//! target expressions.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::request::CompileError;
use super::sls_loader::SlsLoader;
use super::top_merge::{TopFiles, TopMerging};
use super::top_sections::{TopEntry, TopSections, TopTargets, report};
use crate::diagnostic::{Diagnostic, Span};
use crate::states::render::{Matcher, RenderError, SlsSource, StateRenderer, StateconfParameters};
use crate::states::{BASE_ENV, FactCache};
use crate::value::Value;
use crate::yaml::Node;

/// The SLS names assigned to the machine, by environment. A name stands as often as targets assign it.
#[derive(Debug, Default)]
pub(super) struct TopMatches(IndexMap<Arc<str>, Vec<Arc<str>>>);

impl TopMatches {
    /// The environments with their SLS names, in order.
    pub(super) fn by_environment(
        &self,
    ) -> impl Iterator<Item = (&Arc<str>, impl Iterator<Item = &str>)> {
        let own = self.0.iter();
        own.map(|(env, names)| (env, names.iter().map(|name| &**name)))
    }

    /// Returns true if the machine gets no SLS.
    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }

    /// Converts the matches to a map such as `{base: [a, b]}`.
    pub(super) fn to_value(&self) -> Value {
        let env = |(env, names): (&Arc<str>, &Vec<Arc<str>>)| {
            let names = names.iter().map(|name| Value::Str(Arc::clone(name)));
            (Arc::clone(env), Value::list(names))
        };
        Value::map(self.0.iter().map(env))
    }

    /// Adds the entries of the targets that match the machine.
    fn add_matching(&mut self, env: &Arc<str>, targets: &TopTargets, renderer: &StateRenderer) {
        for (pattern, entries) in targets {
            let matcher = entries.iter().rev().find_map(|entry| match entry {
                TopEntry::Match(matcher) => Some(*matcher),
                _ => None,
            });
            let matcher = matcher.unwrap_or(Matcher::Compound);
            if !matcher.matches(pattern, renderer.minion()) {
                continue;
            }
            self.0.entry(Arc::clone(env)).or_default();
            for entry in entries {
                match entry {
                    TopEntry::Sls(name) => self.add(env, name),
                    TopEntry::SlsOf { env, name } => {
                        if renderer.roots().environments().contains(env) {
                            self.add(env, name);
                        }
                    }
                    TopEntry::Match(_) => {}
                }
            }
        }
    }

    fn add(&mut self, env: &Arc<str>, name: &Arc<str>) {
        let names = self.0.entry(Arc::clone(env)).or_default();
        names.push(Arc::clone(name));
    }
}

/// Reads the top files of all environments and the top files that they include, and returns the SLS names for this
/// machine.
pub(super) fn match_top_files(
    renderer: &StateRenderer,
    facts: &FactCache,
    tree: &mut SlsLoader<'_>,
) -> Result<TopMatches, CompileError> {
    let mut matches = TopMatches::default();
    let only = text_option(renderer, "saltenv");
    let default_top = text_option(renderer, "default_top");
    let word = text_option(renderer, "top_file_merging_strategy").unwrap_or("merge");
    let Some(merging) = TopMerging::from_name(word) else {
        let problem =
            format!("`top_file_merging_strategy` is `{word}`; it must be merge, merge_all or same");
        report(&mut tree.problems, problem, Span::NONE);
        return Ok(matches);
    };
    let mut tops = TopFiles::new();
    for env in top_environments(renderer, only) {
        let files = read_with_includes(renderer, facts, tree, &env)?;
        tops.insert(env, files);
    }
    let top = merging.merge(&tops, default_top.unwrap_or(BASE_ENV));
    for (env, targets) in &top.0 {
        if only.is_none_or(|only| only == &**env) {
            matches.add_matching(env, targets, renderer);
        }
    }
    Ok(matches)
}

fn text_option<'a>(renderer: &'a StateRenderer, name: &str) -> Option<&'a str> {
    let stated = renderer.option(name).and_then(Value::as_str);
    stated.filter(|text| !text.is_empty())
}

/// The environments whose top files count, in order.
fn top_environments(renderer: &StateRenderer, only: Option<&str>) -> Vec<Arc<str>> {
    if let Some(one) = only.or_else(|| text_option(renderer, "state_top_saltenv")) {
        return vec![one.into()];
    }
    let known = renderer.roots().environments();
    let ordered: IndexSet<&str> = renderer
        .option("env_order")
        .and_then(Value::as_list)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if ordered.is_empty() {
        return known;
    }
    let ordered = ordered.into_iter().map(Arc::from);
    ordered.filter(|env| known.contains(env)).collect()
}

/// Reads the top file of an environment, then the files that it includes.
fn read_with_includes(
    renderer: &StateRenderer,
    facts: &FactCache,
    tree: &mut SlsLoader<'_>,
    env: &Arc<str>,
) -> Result<Vec<TopSections>, CompileError> {
    let name = text_option(renderer, "state_top").unwrap_or("top.sls");
    let Some(root) = read_top_file(renderer, facts, tree, (env, name))? else {
        return Ok(Vec::new());
    };
    let mut files = vec![TopSections::read(&root, &mut tree.problems)];
    let mut done: IndexSet<String> = IndexSet::new();
    let included = root.get("include").and_then(Node::as_seq);
    for include in included.unwrap_or_default() {
        for path in include
            .as_str()
            .map_or(Vec::new(), |name| tree.paths(env, name))
        {
            if done.insert(path.clone())
                && let Some(root) = read_top_file(renderer, facts, tree, (env, &path))?
            {
                files.push(TopSections::read(&root, &mut tree.problems));
            }
        }
    }
    Ok(files)
}

/// Renders a top file. Returns `None` if the file does not exist or is empty.
fn read_top_file(
    renderer: &StateRenderer,
    facts: &FactCache,
    tree: &mut SlsLoader<'_>,
    (env, path): (&str, &str),
) -> Result<Option<Node>, CompileError> {
    let bytes = match renderer.roots().within(env).read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            tree.problems.push(Diagnostic::error(error));
            None
        }
    };
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let text: Arc<str> = String::from_utf8_lossy(&bytes).into();
    let name = SlsSource { sls: "", path, env };
    let mut parameters = StateconfParameters::default();
    match renderer.render_sls(&name, &text, &mut tree.sources, facts, &mut parameters) {
        Ok(root) => Ok(Some(root).filter(|root| !root.is_null())),
        Err(RenderError::Needs(facts)) => Err(CompileError::Needs(facts)),
        Err(RenderError::Failed(problems)) => {
            for mut problem in problems {
                problem.message = format!("unable to render top file: {}", problem.message);
                tree.problems.push(problem);
            }
            Ok(None)
        }
    }
}
