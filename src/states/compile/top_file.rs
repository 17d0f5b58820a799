//! The top file: determines which SLS files a machine gets (S7).
//!
//! Entry: [`match_top_files`], called by the compile pipeline for a highstate. `render/matcher.rs` evaluates the
//! target expressions.

use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::extend::BASE_ENV;
use super::problem::StateFileProblem;
use super::request::CompileError;
use super::sls_loader::SlsLoader;
use crate::diagnostic::{Diagnostic, Diagnostics, Span};
use crate::states::FactCache;
use crate::states::render::{Matcher, RenderError, SlsSource, StateRenderer};
use crate::value::Value;
use crate::yaml::Node;

/// The SLS names assigned to the machine, by environment.
#[derive(Debug, Default)]
pub(super) struct TopMatches(IndexMap<Arc<str>, IndexSet<Arc<str>>>);

/// A target of the top file: an expression and the SLS names assigned to the machines it matches.
struct TopTarget {
    pattern: Arc<str>,
    matcher: Matcher,
    names: Vec<Arc<str>>,
}

impl TopMatches {
    /// The SLS names of all environments, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.0.values().flatten().cloned().collect()
    }

    /// Converts the matches to a map such as `{base: [a, b]}`.
    pub(super) fn to_value(&self) -> Value {
        let env = |(env, names): (&Arc<str>, &IndexSet<Arc<str>>)| {
            let names = names.iter().map(|name| Value::Str(Arc::clone(name)));
            (Arc::clone(env), Value::list(names))
        };
        Value::map(self.0.iter().map(env))
    }
}

/// Reads the top file and the top files it includes, and returns the SLS names for this machine.
pub(super) fn match_top_files(
    renderer: &StateRenderer,
    facts: &FactCache,
    tree: &mut SlsLoader<'_>,
) -> Result<TopMatches, CompileError> {
    let name = renderer
        .option("state_top")
        .and_then(Value::as_str)
        .unwrap_or("top.sls");
    let mut waiting = vec![name.to_owned()];
    let mut done: IndexSet<String> = IndexSet::new();
    let mut targets: IndexMap<Arc<str>, IndexMap<Arc<str>, TopTarget>> = IndexMap::new();
    while let Some(path) = waiting.pop() {
        if !done.insert(path.clone()) {
            continue;
        }
        let Some(root) = read_top_file(renderer, facts, tree, &path)? else {
            continue;
        };
        for include in root
            .get("include")
            .and_then(Node::as_seq)
            .unwrap_or_default()
        {
            let names = include
                .as_str()
                .map(|name| tree.paths(name))
                .unwrap_or_default();
            waiting.extend(names);
        }
        collect_targets(&root, &mut targets, &mut tree.problems);
    }
    let mut top = TopMatches::default();
    for (env, targets) in targets {
        for target in targets.values() {
            if target.matcher.matches(&target.pattern, renderer.minion()) {
                let names = top.0.entry(Arc::clone(&env)).or_default();
                names.extend(target.names.iter().cloned());
            }
        }
    }
    Ok(top)
}

/// Renders a top file. Returns `None` if the file does not exist or is empty.
fn read_top_file(
    renderer: &StateRenderer,
    facts: &FactCache,
    tree: &mut SlsLoader<'_>,
    path: &str,
) -> Result<Option<Node>, CompileError> {
    let bytes = match renderer.roots().read(path) {
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
    let name = SlsSource { sls: "", path };
    match renderer.render_sls(&name, &text, &mut tree.sources, facts) {
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

fn report(problems: &mut Diagnostics, problem: &str, span: Span) {
    let problem = StateFileProblem::Top(problem.to_owned());
    problems.push(Diagnostic::error(problem).label(span, ""));
}

fn collect_targets(
    root: &Node,
    all: &mut IndexMap<Arc<str>, IndexMap<Arc<str>, TopTarget>>,
    problems: &mut Diagnostics,
) {
    let Some(envs) = root.as_map() else {
        return report(
            problems,
            "the top file is not formed as a dictionary",
            root.span(),
        );
    };
    for (env, entry) in envs.iter().filter(|(env, _)| &***env != "include") {
        if &**env != BASE_ENV {
            report(
                problems,
                &format!("no matching salt environment for environment `{env}` found"),
                entry.key_span,
            );
            continue;
        }
        let Some(targets) = entry.value.as_map() else {
            report(
                problems,
                "the targets of the top file are not formed as a dictionary",
                entry.value.span(),
            );
            continue;
        };
        for (pattern, entry) in targets {
            let target = parse_target(pattern, &entry.value, problems);
            let known = all.entry(Arc::clone(env)).or_default();
            known.insert(Arc::clone(pattern), target);
        }
    }
}

fn parse_target(pattern: &Arc<str>, node: &Node, problems: &mut Diagnostics) -> TopTarget {
    let mut target = TopTarget {
        pattern: Arc::clone(pattern),
        matcher: Matcher::Compound,
        names: Vec::new(),
    };
    let Some(items) = node.as_seq() else {
        report(
            problems,
            &format!("the SLS names for target `{pattern}` are not formed as a list"),
            node.span(),
        );
        return target;
    };
    for item in items {
        if let Some(name) = item.as_str() {
            target.names.push(name.into());
        } else if let Some(word) = item.get("match").and_then(Node::as_str) {
            match Matcher::from_name(word) {
                Some(matcher) => target.matcher = matcher,
                None => report(problems, &format!("unknown matcher `{word}`"), item.span()),
            }
        }
    }
    target
}
