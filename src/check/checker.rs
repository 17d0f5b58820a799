//! The state of the checks of one model, and the helpers that all of them use.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;

use super::calls::{called_with_inputs, command_words};
use super::machine::Machine;
use super::narrow::narrow;
use super::settable::SettableNames;
use crate::diagnostic::{Check, Diagnostic, Diagnostics, Sources, Span};
use crate::name::TemplateName;
use crate::text::did_you_mean;
use crate::tosca::{NodeTemplate, PropertyDef, ServiceTemplate, TopologyTemplate, TypeKey};

/// Checks whose findings may be extensions of other TOSCA tools.
const OPEN_CHECKS: [Check; 6] = [
    Check::UnknownAttribute,
    Check::UnknownTemplate,
    Check::UnknownArtifact,
    Check::UnknownOperation,
    Check::InvalidWorkflow,
    Check::UnknownFunction,
];

/// The maximum length of a message in bytes, for names that are very long.
const MAX_MESSAGE: usize = 500;

/// The number of problems after which files are not searched for hints.
const MAX_HINTS: usize = 200;

/// The maximum number of problems. Each one takes time, and the first ones are enough to begin with.
const MAX_PROBLEMS: usize = 2000;

/// The variables that tasks have.
const TASK_VARIABLES: [&str; 7] = [
    "inputs",
    "task",
    "connections",
    "implementation",
    "arguments",
    "start",
    "OPERATION_HOST",
];

/// Everything that the checks need besides the model.
pub struct ModelChecks<'a> {
    pub sources: &'a Sources,
    /// The names of inputs that have a value, also undeclared ones.
    pub given_inputs: HashSet<Arc<str>>,
    /// Returns the names of instances and attributes on record. Few models need them.
    pub recorded_names: &'a dyn Fn() -> HashSet<Arc<str>>,
    /// Variables that templates have besides the built-in ones.
    pub variables: HashSet<Arc<str>>,
    /// This machine and the files of the project. `None` for a service template alone, whose files may be elsewhere.
    pub machine: Option<&'a dyn Machine>,
    /// The folder of the ensemble.
    pub base_dir: &'a Path,
    /// True for a service template of any tool: names that other TOSCA tools may know are then warnings.
    pub lenient: bool,
}

/// The checks of one model.
pub(super) struct Checker<'a> {
    pub(super) service: &'a ServiceTemplate,
    pub(super) topology: &'a TopologyTemplate,
    pub(super) sources: &'a Sources,
    pub(super) machine: Option<&'a dyn Machine>,
    pub(super) base_dir: &'a Path,
    pub(super) lenient: bool,
    pub(super) substitutable: &'a HashSet<TypeKey>,
    pub(super) given: HashSet<Arc<str>>,
    /// Returns names from the record, for `settable`.
    recorded: &'a dyn Fn() -> HashSet<Arc<str>>,
    settable: OnceCell<SettableNames>,
    pub(super) variables: HashSet<Arc<str>>,
    /// The names of operations that workflows or delegates call with inputs of their own.
    called: OnceCell<HashSet<String>>,
    /// The words of all commands, which may be files that they write.
    words: OnceCell<HashSet<Arc<str>>>,
    /// Shared parts of types that were checked before, with the type that they were checked for.
    seen: HashSet<(usize, usize)>,
    reported: HashSet<(Check, Span)>,
    pub(super) problems: Diagnostics,
}

impl<'a> Checker<'a> {
    pub(super) fn new(service: &'a ServiceTemplate, checks: ModelChecks<'a>) -> Self {
        let topology = &*service.topology;
        let mut variables = checks.variables;
        variables.extend(TASK_VARIABLES.map(Arc::from));
        Self {
            service,
            topology,
            sources: checks.sources,
            machine: checks.machine,
            base_dir: checks.base_dir,
            lenient: checks.lenient,
            substitutable: &service.substitutable,
            given: checks.given_inputs,
            recorded: checks.recorded_names,
            settable: OnceCell::new(),
            variables,
            called: OnceCell::new(),
            words: OnceCell::new(),
            seen: HashSet::new(),
            reported: HashSet::new(),
            problems: Diagnostics::default(),
        }
    }

    /// Adds a problem, unless the same check has already reported its place.
    pub(super) fn report(&mut self, mut problem: Diagnostic) {
        if problem.message.len() > MAX_MESSAGE {
            problem
                .message
                .truncate(problem.message.floor_char_boundary(MAX_MESSAGE));
            problem.message.push('…');
        }
        let place = problem.span();
        if place.is_none_or(|span| self.reported.insert((problem.check, span))) {
            self.problems.push(problem);
        }
    }

    /// Returns true if a place is in a file of the built-in repository `unfurl`.
    pub(super) fn is_built_in(&self, span: Span) -> bool {
        let source = self.sources.get(span.source);
        source.is_some_and(|source| source.path.to_string_lossy().starts_with("unfurl:"))
    }

    /// Returns true if enough problems were found.
    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// Returns the inputs that the expressions of a template can read.
    pub(super) fn inputs_of(
        &self,
        within: Option<&NodeTemplate>,
    ) -> &'a IndexMap<Arc<str>, Arc<PropertyDef>> {
        let outer = within.and_then(|node| node.nested_in.as_ref());
        let nested = outer.and_then(|outer| self.topology.nested.get(outer));
        nested.map_or(&self.topology.inputs, |nested| &nested.topology.inputs)
    }

    /// Returns the names that tasks may set. Few models need them, so they are collected on demand.
    pub(super) fn settable(&self) -> &SettableNames {
        let collect = || SettableNames::of(self.topology, (self.recorded)());
        self.settable.get_or_init(collect)
    }

    /// Returns true if a workflow or a delegate calls operations of this name with inputs of its own.
    pub(super) fn is_called(&self, operation: &str) -> bool {
        let called = self
            .called
            .get_or_init(|| called_with_inputs(self.topology));
        called.contains(operation)
    }

    /// Returns true if a command names the file as one of its words, so that a task may write it.
    pub(super) fn is_written(&self, path: &str) -> bool {
        let path = path.trim_start_matches("./");
        let name = path.rsplit('/').next().unwrap_or(path);
        let words = self.words.get_or_init(|| command_words(self.topology));
        self.settable().contains(name) || words.contains(path) || words.contains(name)
    }

    /// Returns a hint if a file does not exist in a folder. `None` if it exists or may not be looked at.
    pub(super) fn missing_file(&self, path: &str, folder: &Path) -> Option<String> {
        let machine = self.machine?;
        let full = folder.join(path);
        if machine.exists(&full) != Some(false) {
            return None;
        }
        let (parent, name) = (full.parent()?, full.file_name()?.to_str()?);
        // Hints for the first problems are enough, and each one takes time.
        let names = if self.problems.len() < MAX_HINTS {
            machine.list(parent)
        } else {
            Vec::new()
        };
        let before = path.strip_suffix(name).unwrap_or_default();
        let similar = did_you_mean(name, names.iter().map(String::as_str));
        let similar = similar.map(|hint| hint.replacen('`', &format!("`{before}"), 1));
        Some(similar.unwrap_or_else(|| {
            format!("create `{path}` in the folder of the ensemble, or correct the path")
        }))
    }

    /// Returns true if a shared part is met for the first time for a type.
    pub(super) fn is_new<T: ?Sized, U>(&mut self, part: &Arc<T>, of: &Arc<U>) -> bool {
        let key = (
            Arc::as_ptr(part).cast::<u8>().addr(),
            Arc::as_ptr(of).cast::<u8>().addr(),
        );
        self.seen.insert(key)
    }

    /// Reports an error that concerns a part of the model only, at the place of a word.
    pub(super) fn error(
        &mut self,
        check: Check,
        message: String,
        span: Span,
        word: &str,
        hint: Option<String>,
    ) {
        let span = narrow(self.sources, span, word);
        let is_misspelt = hint
            .as_ref()
            .is_some_and(|hint| hint.starts_with("did you mean"));
        let problem = match check {
            Check::UndeclaredInput if self.lenient && !is_misspelt => Diagnostic::warning(message),
            check if self.lenient && OPEN_CHECKS.contains(&check) => Diagnostic::warning(message),
            _ => Diagnostic::error(message).contained(),
        };
        self.report(problem.label(span, "").help_if(hint).check(check));
    }

    /// Reports a warning at the place of a word.
    pub(super) fn warning(
        &mut self,
        check: Check,
        message: String,
        span: Span,
        word: &str,
        hint: Option<String>,
    ) {
        let span = narrow(self.sources, span, word);
        let problem = Diagnostic::warning(message).label(span, "");
        self.report(problem.help_if(hint).check(check));
    }

    /// Returns the node template with a name, seen from a template of the same topology.
    pub(super) fn node_seen(
        &self,
        name: &str,
        within: Option<&NodeTemplate>,
    ) -> Option<&'a Arc<NodeTemplate>> {
        let nodes = &self.topology.nodes;
        let qualified = within.and_then(|node| node.nested_in.as_ref());
        let qualified = qualified.map(|outer| format!("{outer}:{name}"));
        qualified
            .and_then(|name| nodes.get(name.as_str()))
            .or_else(|| nodes.get(name))
    }

    /// Returns a hint with the node template whose name is similar.
    pub(super) fn node_hint(&self, name: &str) -> Option<String> {
        did_you_mean(name, self.topology.nodes.keys().map(TemplateName::as_str))
    }

    /// Returns true if a name is that of an entity other than a node template, or of an instance that a task may add.
    pub(super) fn is_other_entity(&self, name: &str) -> bool {
        let topology = self.topology;
        topology.relationships.contains_key(name)
            || topology.groups.contains_key(name)
            || topology.policies.contains_key(name)
            || self.settable().contains(name)
            || matches!(name, "localhost" | "root" | "inputs" | "outputs" | "*")
    }

    /// Returns the place of a word at or after a place, within the next lines.
    pub(super) fn after(&self, span: Span, word: &str) -> Span {
        let end = span.end.saturating_add(400);
        let wide = self.sources.get(span.source).map(|source| {
            let end = source.text.floor_char_boundary(end as usize);
            Span::new(
                span.source,
                span.start,
                u32::try_from(end).unwrap_or(span.end),
            )
        });
        let found = wide.map(|wide| narrow(self.sources, wide, word));
        found.filter(|found| Some(*found) != wide).unwrap_or(span)
    }
}
