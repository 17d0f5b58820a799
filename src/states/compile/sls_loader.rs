//! Loads SLS files: renders each requested file and its includes exactly once and collects their content as
//! high data (S3–S6).
//!
//! Entry: [`SlsLoader::add_all`], then [`SlsLoader::finish`]; called by the compile pipeline. Facts that
//! templates need are collected in `needs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::high_data::{
    HighData, IdDeclaration, SlsFile, SlsInclude, SlsReader, StateArgument, StateItem,
};
use super::problem::StateFileProblem;
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::host::fact::Fact;
use crate::states::FactCache;
use crate::states::render::{RenderError, SlsSource, StateRenderer, StateconfParameters};
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
    /// The names of the SLS files of each environment that was looked at, sorted.
    available: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// The environments and names of the files that were rendered.
    rendered: FoldSet<(Arc<str>, Arc<str>)>,
    /// The IDs of each loaded file, kept apart until all files are loaded.
    pending_declarations: Vec<Vec<(Arc<str>, IdDeclaration)>>,
    next_number: i64,
    pub(super) high: HighData,
    /// The parameters of the files with the renderer `stateconf`.
    parameters: StateconfParameters,
    pub(super) sources: Sources,
    pub(super) needs: Vec<Fact>,
    pub(super) problems: Diagnostics,
}

/// A step of the depth-first traversal of includes.
enum LoadStep {
    Enter {
        sls: SlsName,
        parent: Option<usize>,
        span: Span,
    },
    Leave(usize),
}

/// The name of an SLS file in an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlsName {
    pub(super) env: Arc<str>,
    pub(super) name: Arc<str>,
}

/// The SLS name for a path in the state tree, or `None` if the path is not an SLS file.
fn sls_of(path: &str) -> Option<Arc<str>> {
    let stem = path.strip_suffix(".sls")?;
    let stem = stem.strip_suffix("/init").unwrap_or(stem);
    Some(stem.replace('/', ".").into())
}

impl<'a> SlsLoader<'a> {
    pub(super) fn new(renderer: &'a StateRenderer, facts: &'a FactCache) -> Self {
        Self {
            renderer,
            facts,
            auto_order: renderer
                .option("state_auto_order")
                .is_none_or(Value::is_truthy),
            available: BTreeMap::new(),
            rendered: FoldSet::default(),
            pending_declarations: Vec::new(),
            next_number: FIRST_NUMBER,
            high: HighData::default(),
            parameters: StateconfParameters::default(),
            sources: Sources::default(),
            needs: Vec::new(),
            problems: Diagnostics::default(),
        }
    }

    /// Loads the SLS files of an environment that names or globs stand for.
    pub(super) fn add_all<'n>(&mut self, env: &Arc<str>, names: impl IntoIterator<Item = &'n str>) {
        if !self.renderer.roots().has(env) {
            let problem = StateFileProblem::NoEnvironment {
                env: Arc::clone(env),
            };
            self.problems.push(Diagnostic::error(problem).help(
                "name its folders in `file_roots` of the configuration, or with `--file-root ENV=DIR`",
            ));
            return;
        }
        for name in names {
            for name in self.names_or_itself(env, &name.into()) {
                let env = Arc::clone(env);
                self.render_all(LoadStep::Enter {
                    sls: SlsName { env, name },
                    parent: None,
                    span: Span::NONE,
                });
            }
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
                let place = |body: &IdDeclaration| {
                    Arc::from(format!("{}:{}", self.high.env_of(body), body.sls))
                };
                let problem = StateFileProblem::ConflictingIds {
                    first: place(first),
                    second: place(&body),
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

    /// The paths of the SLS files of an environment that a name or a glob stands for.
    pub(super) fn paths(&mut self, env: &Arc<str>, name: &str) -> Vec<String> {
        let roots = self.renderer.roots().within(env);
        let mut paths = Vec::new();
        for name in self.expand_glob(env, name) {
            let stem = name.replace('.', "/");
            let candidates = [format!("{stem}.sls"), format!("{stem}/init.sls")];
            let there = |path: &String| matches!(roots.read(path), Ok(Some(_)));
            paths.extend(candidates.into_iter().find(there));
        }
        paths
    }

    /// The names of the SLS files of an environment, sorted. Reports a tree that cannot be listed.
    fn available(&mut self, env: &Arc<str>) -> &[Arc<str>] {
        if !self.available.contains_key(env) {
            let paths = self.renderer.roots().within(env).list("");
            let paths = paths.unwrap_or_else(|error| {
                self.problems.push(Diagnostic::error(error));
                Vec::new()
            });
            let mut names: Vec<Arc<str>> = paths.iter().filter_map(|path| sls_of(path)).collect();
            names.sort_unstable();
            names.dedup();
            self.available.insert(Arc::clone(env), names);
        }
        self.available.get(env).map_or(&[], Vec::as_slice)
    }

    /// The SLS files of an environment that a name or a glob stands for.
    fn expand_glob(&mut self, env: &Arc<str>, name: &str) -> Vec<Arc<str>> {
        let available = self.available(env);
        if !Glob::is_pattern(name) {
            let known = available.binary_search_by(|own| (**own).cmp(name));
            return known
                .into_iter()
                .map(|place| Arc::clone(&available[place]))
                .collect();
        }
        let glob = Glob::new(name);
        let fitting = available.iter().filter(|own| glob.matches(own));
        fitting.cloned().collect()
    }

    /// The SLS files that a name or a glob stands for, or the name itself, so that its absence is reported.
    fn names_or_itself(&mut self, env: &Arc<str>, name: &Arc<str>) -> Vec<Arc<str>> {
        let names = self.expand_glob(env, name);
        if names.is_empty() {
            return vec![Arc::clone(name)];
        }
        names
    }

    /// Loads a file and its includes depth first. Uses an explicit stack, so that deep includes cannot
    /// overflow the call stack.
    fn render_all(&mut self, first: LoadStep) {
        let mut steps = vec![first];
        while let Some(step) = steps.pop() {
            match step {
                LoadStep::Leave(file) => self.assign_order(file),
                LoadStep::Enter { sls, parent, span } => {
                    let key = (Arc::clone(&sls.env), Arc::clone(&sls.name));
                    if !self.rendered.insert(key) {
                        continue;
                    }
                    let Some((file, includes)) = self.render(&sls, parent, span) else {
                        continue;
                    };
                    steps.push(LoadStep::Leave(file));
                    let names: Vec<_> = includes
                        .iter()
                        .flat_map(|include| self.resolve_include(file, include))
                        .collect();
                    let parent = Some(file);
                    let enter = |(sls, span)| LoadStep::Enter { sls, parent, span };
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
        SlsName { env, name }: &SlsName,
        parent: Option<usize>,
        span: Span,
    ) -> Option<(usize, Vec<SlsInclude>)> {
        let (path, text) = self.read_sls(env, name, parent, span)?;
        let file = self.high.files.len();
        self.high.files.push(SlsFile {
            sls: Arc::clone(name),
            env: Arc::clone(env),
            parent,
            path: path.clone(),
        });
        self.pending_declarations.push(Vec::new());
        let sls = SlsSource {
            sls: name,
            path: &path,
            env,
        };
        let sources = &mut self.sources;
        let parameters = &mut self.parameters;
        let rendered = self
            .renderer
            .render_sls(&sls, &text, sources, self.facts, parameters);
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
                        env: Arc::clone(env),
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
        let content = reader.read(&root);
        self.pending_declarations[file] = content.ids;
        self.high.extensions.extend(content.extensions);
        self.high.exclusions.extend(content.exclusions);
        Some((file, content.includes))
    }

    /// Reads an SLS file and returns its path and text. Reports a problem if the file does not exist.
    fn read_sls(
        &mut self,
        env: &Arc<str>,
        name: &Arc<str>,
        parent: Option<usize>,
        span: Span,
    ) -> Option<(String, Arc<str>)> {
        let stem = name.replace('.', "/");
        let roots = self.renderer.roots().within(env);
        for path in [format!("{stem}.sls"), format!("{stem}/init.sls")] {
            match roots.read(&path) {
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
        let (env, name) = (Arc::clone(env), name.to_string());
        let problem = if parent.is_none() {
            StateFileProblem::NoSls { name, env }
        } else {
            StateFileProblem::IncludeMissing { name, env }
        };
        self.report(problem, span);
        None
    }

    /// Resolves an `include` entry to SLS files. An entry without an environment means that of its file.
    fn resolve_include(&mut self, file: usize, include: &SlsInclude) -> Vec<(SlsName, Span)> {
        let span = include.span;
        let own = Arc::clone(&self.high.files[file].env);
        let stated = include.env.as_ref().unwrap_or(&own);
        if !self.renderer.roots().has(stated) {
            let (name, env) = (include.name.to_string(), stated.to_string());
            self.report(StateFileProblem::IncludeEnv { name, env }, span);
            return Vec::new();
        }
        let Some(name) = self.resolve_relative_name(file, &include.name) else {
            let problem = StateFileProblem::IncludeTooDeep {
                name: include.name.to_string(),
                sls: Arc::clone(&self.high.files[file].sls),
                env: own,
            };
            self.report(problem, span);
            return Vec::new();
        };
        // As in Salt, a glob stands for files of the environment that includes them.
        let names = self.names_or_itself(&own, &name).into_iter();
        let in_env = |name| SlsName {
            env: Arc::clone(stated),
            name,
        };
        names.map(|name| (in_env(name), span)).collect()
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
