//! Loads SLS files: renders each requested file and its includes exactly once and collects their content as
//! high data (S3–S6).
//!
//! Entry: [`SlsLoader::add`], then [`SlsLoader::finish`]; called by the compile pipeline. Facts that
//! templates need are collected in `needs`.

use std::sync::Arc;

use super::extend::BASE_ENV;
use super::high_data::{
    HighData, IdDeclaration, SlsContent, SlsFile, SlsInclude, SlsReader, StateArgument, StateItem,
};
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::host::fact::Fact;
use crate::states::render::{RenderError, SlsSource, StateRenderer};
use crate::states::{FactCache, FileRootsError};
use crate::text::Glob;
use crate::value::{FoldSet, Value};

/// The order number of the first state without an explicit `order` (S3).
const FIRST_NUMBER: i64 = 10_000;

/// The loader of SLS files and their includes.
pub(super) struct SlsLoader<'a> {
    renderer: &'a StateRenderer,
    facts: &'a FactCache,
    /// Whether states without `order` are numbered (option `state_auto_order`).
    auto_order: bool,
    /// The names of all SLS files in the state tree, sorted.
    available: Vec<Arc<str>>,
    rendered: FoldSet<Arc<str>>,
    /// The IDs of each loaded file, kept apart until all files are loaded.
    pending_declarations: Vec<Vec<(Arc<str>, IdDeclaration)>>,
    next_number: i64,
    pub(super) high: HighData,
    pub(super) sources: Sources,
    pub(super) needs: Vec<Fact>,
    pub(super) problems: Diagnostics,
}

/// A step of the depth-first traversal of includes.
enum LoadStep {
    Enter {
        name: Arc<str>,
        parent: Option<usize>,
        span: Span,
    },
    Leave(usize),
}

/// The SLS name for a path in the state tree, or `None` if the path is not an SLS file.
fn sls_of(path: &str) -> Option<Arc<str>> {
    let stem = path.strip_suffix(".sls")?;
    let stem = stem.strip_suffix("/init").unwrap_or(stem);
    Some(stem.replace('/', ".").into())
}

impl<'a> SlsLoader<'a> {
    pub(super) fn new(
        renderer: &'a StateRenderer,
        facts: &'a FactCache,
    ) -> Result<Self, FileRootsError> {
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
            rendered: FoldSet::default(),
            pending_declarations: Vec::new(),
            next_number: FIRST_NUMBER,
            high: HighData::default(),
            sources: Sources::default(),
            needs: Vec::new(),
            problems: Diagnostics::default(),
        })
    }

    /// Loads the SLS files that a name or a glob stands for.
    pub(super) fn add(&mut self, name: &str) {
        let mut names = self.expand_glob(name);
        if names.is_empty() {
            names.push(name.into());
        }
        for name in names {
            self.render_all(LoadStep::Enter {
                name,
                parent: None,
                span: Span::NONE,
            });
        }
    }

    /// Merges the IDs of all files into high data: the IDs of a file before the IDs of its includes. Reports
    /// conflicting IDs.
    pub(super) fn finish(&mut self) {
        for ids in std::mem::take(&mut self.pending_declarations) {
            for (id, body) in ids {
                let Some(first) = self.high.ids.get(&id) else {
                    self.high.ids.insert(id, body);
                    continue;
                };
                let place = |sls: &Arc<str>| Arc::from(format!("{BASE_ENV}:{sls}"));
                let problem = StateFileProblem::ConflictingIds {
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

    /// The paths of the SLS files that a name or a glob stands for.
    pub(super) fn paths(&self, name: &str) -> Vec<String> {
        let mut paths = Vec::new();
        for name in self.expand_glob(name) {
            let stem = name.replace('.', "/");
            let candidates = [format!("{stem}.sls"), format!("{stem}/init.sls")];
            let there = |path: &String| matches!(self.renderer.roots().read(path), Ok(Some(_)));
            paths.extend(candidates.into_iter().find(there));
        }
        paths
    }

    fn expand_glob(&self, name: &str) -> Vec<Arc<str>> {
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

    /// Loads a file and its includes depth first. Uses an explicit stack, so that deep includes cannot
    /// overflow the call stack.
    fn render_all(&mut self, first: LoadStep) {
        let mut steps = vec![first];
        while let Some(step) = steps.pop() {
            match step {
                LoadStep::Leave(file) => self.assign_order(file),
                LoadStep::Enter { name, parent, span } => {
                    if !self.rendered.insert(Arc::clone(&name)) {
                        continue;
                    }
                    let Some((file, includes)) = self.render(&name, parent, span) else {
                        continue;
                    };
                    steps.push(LoadStep::Leave(file));
                    let names: Vec<_> = includes
                        .iter()
                        .flat_map(|include| self.resolve_include(file, include))
                        .collect();
                    let parent = Some(file);
                    let enter = |(name, span)| LoadStep::Enter { name, parent, span };
                    steps.extend(names.into_iter().rev().map(enter));
                }
            }
        }
    }

    fn report(&mut self, problem: StateFileProblem, span: Span) {
        self.problems
            .push(Diagnostic::error(problem).label(span, ""));
    }

    fn render(
        &mut self,
        name: &Arc<str>,
        parent: Option<usize>,
        span: Span,
    ) -> Option<(usize, Vec<SlsInclude>)> {
        let (path, text) = self.read_sls(name, parent, span)?;
        let file = self.high.files.len();
        self.high.files.push(SlsFile {
            sls: Arc::clone(name),
            parent,
            path: path.clone(),
        });
        self.pending_declarations.push(Vec::new());
        let sls = SlsSource {
            sls: name,
            path: &path,
        };
        let rendered = self
            .renderer
            .render_sls(&sls, &text, &mut self.sources, self.facts);
        let root = match rendered {
            Ok(root) => root,
            Err(RenderError::Needs(facts)) => {
                self.needs.extend(facts);
                return None;
            }
            Err(RenderError::Failed(problems)) => {
                for mut diagnostic in problems {
                    diagnostic.message = StateFileProblem::Render {
                        sls: Arc::clone(name),
                        env: BASE_ENV.into(),
                        problem: diagnostic.message,
                    }
                    .to_string();
                    self.problems.push(diagnostic);
                }
                return None;
            }
        };
        let mut reader = SlsReader {
            sources: &self.sources,
            sls: Arc::clone(name),
            file,
            problems: &mut self.problems,
        };
        let SlsContent {
            ids,
            includes,
            extensions,
            exclusions,
        } = reader.read(&root);
        self.pending_declarations[file] = ids;
        self.high.extensions.extend(extensions);
        self.high.exclusions.extend(exclusions);
        Some((file, includes))
    }

    /// Reads an SLS file and returns its path and text. Reports a problem if the file does not exist.
    fn read_sls(
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
        let (env, name) = (BASE_ENV.into(), name.to_string());
        let problem = if parent.is_none() {
            StateFileProblem::NoSls { name, env }
        } else {
            StateFileProblem::IncludeMissing { name, env }
        };
        self.report(problem, span);
        None
    }

    /// Resolves an `include` entry to SLS names.
    fn resolve_include(&mut self, file: usize, include: &SlsInclude) -> Vec<(Arc<str>, Span)> {
        let span = include.span;
        let env = include.env.as_deref().unwrap_or(BASE_ENV);
        if env != BASE_ENV && env != "_xenv" {
            let (name, env) = (include.name.to_string(), env.to_owned());
            self.report(StateFileProblem::IncludeEnv { name, env }, span);
            return Vec::new();
        }
        let Some(name) = self.resolve_relative_name(file, &include.name) else {
            let problem = StateFileProblem::IncludeTooDeep {
                name: include.name.to_string(),
                sls: Arc::clone(&self.high.files[file].sls),
                env: BASE_ENV.into(),
            };
            self.report(problem, span);
            return Vec::new();
        };
        let mut names = self.expand_glob(&name);
        if names.is_empty() {
            names.push(name);
        }
        names.into_iter().map(|name| (name, span)).collect()
    }

    /// Resolves an included name. A name that begins with dots is relative to its file (S5). Returns `None`
    /// if the dots lead above the top level.
    fn resolve_relative_name(&self, file: usize, name: &Arc<str>) -> Option<Arc<str>> {
        let rest = name.trim_start_matches('.');
        let levels = name.len() - rest.len();
        if levels == 0 {
            return Some(Arc::clone(name));
        }
        let SlsFile { sls, path, .. } = &self.high.files[file];
        let mut parts: Vec<&str> = sls.split('.').collect();
        if path.ends_with("/init.sls") {
            parts.push("init");
        }
        let parent_length = parts.len().checked_sub(levels)?;
        parts.truncate(parent_length);
        parts.push(rest);
        Some(parts.join(".").into())
    }

    /// Adds an `order` to each state of a file that has none.
    fn assign_order(&mut self, file: usize) {
        if !self.auto_order {
            return;
        }
        for (_, body) in &mut self.pending_declarations[file] {
            for state in body.states.values_mut() {
                let has = state
                    .items
                    .iter()
                    .any(|item| item.key().is_some_and(|key| &**key == "order"));
                if has {
                    continue;
                }
                let number = Value::Int(self.next_number);
                self.next_number += 1;
                let order = StateArgument::new("order".into(), number, state.span);
                state.items.push(StateItem::Arguments(vec![order]));
            }
        }
    }
}
