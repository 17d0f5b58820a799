//! Renders state files and what they include, each once (S3–S6).

use std::sync::Arc;

use super::extend::BASE;
use super::high::{Argument, Body, File, Given, High, Include, Item, Reader, Sls};
use super::problem::Problem;
use crate::converge::render::{Fault, Renderer, SlsName};
use crate::converge::{Facts, RootsError};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::host::fact::Fact;
use crate::text::Glob;
use crate::value::{FoldSet, Value};

/// The number that the first state without an order gets (S3).
const FIRST_NUMBER: i64 = 10_000;

/// Renders a tree.
pub(super) struct Tree<'a> {
    renderer: &'a Renderer,
    facts: &'a Facts,
    /// Whether states get numbers.
    auto_order: bool,
    /// The names of all SLS, in order.
    available: Vec<Arc<str>>,
    done: FoldSet<Arc<str>>,
    /// What each file declares, until its includes are through.
    open: Vec<Vec<(Arc<str>, Body)>>,
    next_number: i64,
    pub(super) high: High,
    pub(super) sources: Sources,
    pub(super) needs: Vec<Fact>,
    pub(super) problems: Diagnostics,
}

enum Step {
    Enter {
        name: Arc<str>,
        parent: Option<usize>,
        span: Span,
    },
    Leave(usize),
}

/// The SLS that a path holds, if it holds one.
fn sls_of(path: &str) -> Option<Arc<str>> {
    let stem = path.strip_suffix(".sls")?;
    let stem = stem.strip_suffix("/init").unwrap_or(stem);
    Some(stem.replace('/', ".").into())
}

impl<'a> Tree<'a> {
    pub(super) fn new(renderer: &'a Renderer, facts: &'a Facts) -> Result<Self, RootsError> {
        let paths = renderer.roots().list("")?;
        let mut available: Vec<Arc<str>> = paths.iter().filter_map(|path| sls_of(path)).collect();
        available.sort_unstable();
        available.dedup();
        Ok(Self {
            renderer,
            facts,
            auto_order: renderer
                .option("state_auto_order")
                .is_none_or(Value::is_truthy),
            available,
            done: FoldSet::default(),
            open: Vec::new(),
            next_number: FIRST_NUMBER,
            high: High::default(),
            sources: Sources::default(),
            needs: Vec::new(),
            problems: Diagnostics::default(),
        })
    }

    /// Renders what a name or a glob stands for.
    pub(super) fn add(&mut self, name: &str) {
        let mut names = self.fitting(name);
        if names.is_empty() {
            names.push(name.into());
        }
        for name in names {
            self.run(Step::Enter {
                name,
                parent: None,
                span: Span::NONE,
            });
        }
    }

    /// Puts what was declared together: the IDs of a file before those of what it includes.
    pub(super) fn finish(&mut self) {
        for ids in std::mem::take(&mut self.open) {
            for (id, body) in ids {
                let Some(first) = self.high.ids.get(&id) else {
                    self.high.ids.insert(id, body);
                    continue;
                };
                let place = |sls: &Arc<str>| Arc::from(format!("{BASE}:{sls}"));
                let problem = Problem::ConflictingIds {
                    first: place(&first.sls),
                    second: place(&body.sls),
                    id,
                };
                self.problems.push(
                    Diagnostic::error(problem)
                        .label(body.span, "declared here")
                        .label(first.span, "and here"),
                );
            }
        }
    }

    /// The paths of what a name or a glob stands for.
    pub(super) fn paths(&self, name: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for name in self.fitting(name) {
            let stem = name.replace('.', "/");
            let candidates = [format!("{stem}.sls"), format!("{stem}/init.sls")];
            let there = |path: &String| matches!(self.renderer.roots().read(path), Ok(Some(_)));
            paths.extend(candidates.into_iter().find(there));
        }
        paths
    }

    fn fitting(&self, name: &str) -> Vec<Arc<str>> {
        if !Glob::is_pattern(name) {
            let known = self.available.binary_search_by(|own| (**own).cmp(name));
            return known
                .into_iter()
                .map(|place| Arc::clone(&self.available[place]))
                .collect();
        }
        let glob = Glob::new(name);
        let fitting = self.available.iter().filter(|own| glob.matches(own));
        fitting.cloned().collect()
    }

    /// Goes depth first; uses no recursion.
    fn run(&mut self, first: Step) {
        let mut steps = vec![first];
        while let Some(step) = steps.pop() {
            match step {
                Step::Leave(file) => self.number(file),
                Step::Enter { name, parent, span } => {
                    if !self.done.insert(Arc::clone(&name)) {
                        continue;
                    }
                    let Some((file, includes)) = self.render(&name, parent, span) else {
                        continue;
                    };
                    steps.push(Step::Leave(file));
                    let names: Vec<_> = includes
                        .iter()
                        .flat_map(|include| self.included(file, include))
                        .collect();
                    let parent = Some(file);
                    let enter = |(name, span)| Step::Enter { name, parent, span };
                    steps.extend(names.into_iter().rev().map(enter));
                }
            }
        }
    }

    fn tell(&mut self, problem: Problem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    fn render(
        &mut self,
        name: &Arc<str>,
        parent: Option<usize>,
        span: Span,
    ) -> Option<(usize, Vec<Include>)> {
        let (path, text) = self.read(name, parent, span)?;
        let file = self.high.files.len();
        self.high.files.push(File {
            sls: Arc::clone(name),
            parent,
            path: path.clone(),
        });
        self.open.push(Vec::new());
        let sls = SlsName {
            sls: name,
            path: &path,
        };
        let rendered = self
            .renderer
            .sls(&sls, &text, &mut self.sources, self.facts);
        let root = match rendered {
            Ok(root) => root,
            Err(Fault::Needs(facts)) => {
                self.needs.extend(facts);
                return None;
            }
            Err(Fault::Failed(problems)) => {
                for mut diagnostic in problems {
                    diagnostic.message = Problem::Render {
                        sls: Arc::clone(name),
                        env: BASE.into(),
                        problem: diagnostic.message,
                    }
                    .to_string();
                    self.problems.push(diagnostic);
                }
                return None;
            }
        };
        let mut reader = Reader {
            sources: &self.sources,
            sls: Arc::clone(name),
            file,
            problems: &mut self.problems,
        };
        let Sls {
            ids,
            includes,
            extensions,
            exclusions,
        } = reader.read(&root);
        self.open[file] = ids;
        self.high.extensions.extend(extensions);
        self.high.exclusions.extend(exclusions);
        Some((file, includes))
    }

    /// The path and text of an SLS.
    fn read(
        &mut self,
        name: &Arc<str>,
        parent: Option<usize>,
        span: Span,
    ) -> Option<(String, Arc<str>)> {
        let stem = name.replace('.', "/");
        for path in [format!("{stem}.sls"), format!("{stem}/init.sls")] {
            match self.renderer.roots().read(&path) {
                Ok(Some(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes);
                    return Some((path, text.into()));
                }
                Ok(None) => {}
                Err(error) => {
                    self.problems.push(Diagnostic::error(error).label(span, ""));
                    return None;
                }
            }
        }
        let (env, name) = (BASE.into(), name.to_string());
        let problem = if parent.is_none() {
            Problem::NoSls { name, env }
        } else {
            Problem::IncludeMissing { name, env }
        };
        self.tell(problem, span);
        None
    }

    /// The names that an include stands for.
    fn included(&mut self, file: usize, include: &Include) -> Vec<(Arc<str>, Span)> {
        let span = include.span;
        let env = include.env.as_deref().unwrap_or(BASE);
        if env != BASE && env != "_xenv" {
            let (name, env) = (include.name.to_string(), env.to_owned());
            self.tell(Problem::IncludeEnv { name, env }, span);
            return Vec::new();
        }
        let Some(name) = self.absolute(file, &include.name) else {
            let problem = Problem::IncludeTooDeep {
                name: include.name.to_string(),
                sls: Arc::clone(&self.high.files[file].sls),
                env: BASE.into(),
            };
            self.tell(problem, span);
            return Vec::new();
        };
        let mut names = self.fitting(&name);
        if names.is_empty() {
            names.push(name);
        }
        names.into_iter().map(|name| (name, span)).collect()
    }

    /// The name of an include; one that begins with dots is relative to its file (S5). None if it
    /// goes too far up.
    fn absolute(&self, file: usize, name: &Arc<str>) -> Option<Arc<str>> {
        let rest = name.trim_start_matches('.');
        let levels = name.len() - rest.len();
        if levels == 0 {
            return Some(Arc::clone(name));
        }
        let File { sls, path, .. } = &self.high.files[file];
        let mut parts: Vec<&str> = sls.split('.').collect();
        if path.ends_with("/init.sls") {
            parts.push("init");
        }
        let kept = parts.len().checked_sub(levels)?;
        parts.truncate(kept);
        parts.push(rest);
        Some(parts.join(".").into())
    }

    /// Numbers the states of a file that have no order.
    fn number(&mut self, file: usize) {
        if !self.auto_order {
            return;
        }
        for (_, body) in &mut self.open[file] {
            for state in body.states.values_mut() {
                let has = state
                    .items
                    .iter()
                    .any(|item| item.key().is_some_and(|key| &**key == "order"));
                if has {
                    continue;
                }
                let number = Given::Value(Value::Int(self.next_number));
                self.next_number += 1;
                state.items.push(Item::Arguments(vec![Argument {
                    key: "order".into(),
                    given: number,
                    span: state.span,
                }]));
            }
        }
    }
}
