//! Reads `tasks.yaml` and the files that it includes.
//!
//! Entry point: [`read_tasks`]. All problems are reported together, each with its position.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::field_reader::FieldReader;
use super::keys::{INCLUDE_KEYS, TASK_KEYS, TASKS_KEYS};
use super::read_options::{read_command_options, read_settings, read_settings_section};
use super::read_step::{has_action, read_inline_step, read_step, read_step_list};
use super::{HostScope, Parameters, RunOrder, Task, Tasks, TemplateText};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::host::{ChainSpec, ExecutorConfiguration};
use crate::yaml::{Limits, Node, NodeKind, TagReader, parse};

/// The maximum depth of nested includes, which also ends cycles of differently written paths.
const MAX_INCLUDE_DEPTH: usize = 20;

/// A function that returns the text of a file, or why it cannot be read.
pub type ReadFile<'a> = dyn Fn(&Path) -> Result<String, String> + 'a;

/// Reads the tasks of a file and of the files that it includes.
///
/// The texts are added to `sources`. `tags` decrypts encrypted values.
pub fn read_tasks(
    file: &Path,
    sources: &mut Sources,
    read: &ReadFile<'_>,
    tags: &dyn TagReader,
) -> Result<Tasks, Diagnostics> {
    let mut reader = Reader {
        sources,
        read,
        tags,
        fields: FieldReader::default(),
        tasks: Tasks::default(),
        open: Vec::new(),
    };
    reader.file(file, "", Span::NONE);
    if reader.fields.problems.has_errors() {
        return Err(reader.fields.problems);
    }
    Ok(reader.tasks)
}

struct Reader<'a> {
    sources: &'a mut Sources,
    read: &'a ReadFile<'a>,
    tags: &'a dyn TagReader,
    fields: FieldReader,
    tasks: Tasks,
    /// The files being read, from the outermost to the innermost include.
    open: Vec<PathBuf>,
}

/// The context of a file: its namespace with a trailing dot, and its folder.
#[derive(Clone)]
struct FileContext {
    namespace: Arc<str>,
    folder: Arc<Path>,
}

impl Reader<'_> {
    fn file(&mut self, file: &Path, namespace: &str, included_at: Span) {
        let is_open = self.open.iter().any(|open| open == file);
        if is_open || self.open.len() >= MAX_INCLUDE_DEPTH {
            let message = format!("`{}` includes itself", file.display());
            return self.fields.report(&message, included_at, None);
        }
        let text = match (self.read)(file) {
            Ok(text) => text,
            Err(error) => return self.fields.report(&error, included_at, None),
        };
        let source = self
            .sources
            .add(file, text, included_at.is_some().then_some(included_at));
        let node = match parse(self.sources, source, &Limits::default()) {
            Ok(node) => node.opened(self.tags, &mut self.fields.problems),
            Err(problems) => return self.fields.problems.append(problems),
        };
        let context = FileContext {
            namespace: namespace.into(),
            folder: file.parent().unwrap_or(Path::new("")).into(),
        };
        let outer_folder = std::mem::replace(&mut self.fields.folder, context.folder.to_path_buf());
        self.open.push(file.to_owned());
        if !node.is_null() && self.fields.check_map(&node, &TASKS_KEYS) {
            self.executors(&node, &context);
            self.includes(&node, &context);
            if let Some(env) = FieldReader::get(&node, "env") {
                let settings = read_settings(&mut self.fields, env);
                self.tasks.settings.push(settings);
            }
            self.tasks(&node, &context);
        }
        self.open.pop();
        self.fields.folder = outer_folder;
    }

    fn executors(&mut self, node: &Node, context: &FileContext) {
        let Some(section) = FieldReader::get(node, "executors") else {
            return;
        };
        match ChainSpec::from_value(&section.to_value()) {
            Ok(spec) => self.tasks.executors.push(ExecutorConfiguration {
                spec,
                folder: context.folder.to_path_buf(),
            }),
            Err(problem) => {
                let hint = problem.hint().map(str::to_owned);
                self.fields
                    .report(&problem.to_string(), section.span(), hint);
            }
        }
    }

    /// Reads the `include` section: a list of paths, of maps with `file` and `as`, or of maps from
    /// a namespace to a path.
    fn includes(&mut self, node: &Node, context: &FileContext) {
        let Some(section) = FieldReader::get(node, "include") else {
            return;
        };
        match section.kind() {
            NodeKind::Seq(items) => {
                for item in items {
                    self.include(item, context);
                }
            }
            NodeKind::Map(_) | NodeKind::Str(_) => self.include(section, context),
            _ => self
                .fields
                .report_mismatch(section, "`include`", "a list of files"),
        }
    }

    fn include(&mut self, item: &Node, context: &FileContext) {
        match item.kind() {
            NodeKind::Str(file) => self.include_file(file, None, item.span(), context),
            NodeKind::Map(_) if item.get("file").is_some() => {
                if self.fields.check_map(item, &INCLUDE_KEYS)
                    && let Some(file) = self.fields.string(item, "file")
                {
                    let name = self.fields.string(item, "as");
                    self.include_file(file, name, item.span(), context);
                }
            }
            NodeKind::Map(map) => {
                for (name, entry) in map {
                    match entry.value.as_str() {
                        Some(file) => {
                            self.include_file(file, Some(name), entry.value.span(), context);
                        }
                        None => {
                            self.fields.report_mismatch(
                                &entry.value,
                                "an item of `include`",
                                "a path",
                            );
                        }
                    }
                }
            }
            _ => self
                .fields
                .report_mismatch(item, "an item of `include`", "a path"),
        }
    }

    fn include_file(&mut self, file: &str, name: Option<&str>, span: Span, context: &FileContext) {
        let namespace = match name {
            Some(name) if !self.is_name(name, span, "a namespace") => return,
            Some(name) => format!("{}{name}.", context.namespace),
            None => context.namespace.to_string(),
        };
        self.file(&context.folder.join(file), &namespace, span);
    }

    /// Checks that a name can be used in a call.
    fn is_name(&mut self, name: &str, span: Span, what: &str) -> bool {
        let is_forbidden = |c: char| c.is_whitespace() || c.is_control() || ":,=".contains(c);
        let is_right = !name.is_empty() && !name.contains(is_forbidden) && !name.starts_with('-');
        if !is_right {
            let message = format!("`{name}` cannot be the name of {what}");
            let help =
                "a name must not contain spaces, `:`, `,` or `=`, and must not begin with `-`";
            self.fields.report(&message, span, Some(help.to_owned()));
        }
        is_right
    }

    fn tasks(&mut self, node: &Node, context: &FileContext) {
        let Some(section) = FieldReader::get(node, "tasks") else {
            return;
        };
        let Some(map) = section.as_map() else {
            return self.fields.report_mismatch(section, "`tasks`", "a map");
        };
        for (name, entry) in map {
            if !self.is_name(name, entry.key_span, "a task") {
                continue;
            }
            let full: Arc<str> = format!("{}{name}", context.namespace).into();
            let Some(task) = self.task(&full, &entry.value, context) else {
                continue;
            };
            if self.fields.is_set(&entry.value, "default") {
                self.default(&full, entry.key_span, context);
            }
            if let Some(other) = self.tasks.named.insert(full, Arc::new(task)) {
                let message = format!("task `{}` is defined twice", other.name);
                let problem = Diagnostic::error(message)
                    .label(entry.key_span, "second definition")
                    .label(other.span, "first definition")
                    .help("give one of the files a namespace: `include: [{file: …, as: …}]`");
                self.fields.problems.push(problem);
            }
        }
    }

    fn default(&mut self, name: &Arc<str>, span: Span, context: &FileContext) {
        let namespace: Arc<str> = context.namespace.trim_end_matches('.').into();
        if let Some(other) = self.tasks.defaults.insert(namespace, Arc::clone(name)) {
            let message = format!("both `{other}` and `{name}` are marked as the default task");
            self.fields.report(&message, span, None);
        }
    }

    fn task(&mut self, name: &Arc<str>, node: &Node, context: &FileContext) -> Option<Task> {
        let mut task = Task {
            namespace: Arc::clone(&context.namespace),
            span: node.span(),
            ..Task::new(Arc::clone(name), Arc::clone(&context.folder))
        };
        if node.is_null() {
            return Some(task);
        }
        if node.as_str().is_some() {
            task.steps = read_step(&mut self.fields, node).into_iter().collect();
            return Some(task);
        }
        let fields = &mut self.fields;
        if !fields.check_map(node, &TASK_KEYS) {
            return None;
        }
        let description = fields.string(node, "description");
        description
            .unwrap_or("")
            .trim()
            .clone_into(&mut task.description);
        let plain =
            |names: Vec<TemplateText>| names.iter().map(|name| name.as_str().to_owned()).collect();
        let scope = fields.scope(node);
        task.scope = HostScope {
            hosts: plain(scope.hosts),
            roles: plain(scope.roles),
            exclude_hosts: plain(scope.exclude_hosts),
        };
        task.order = match (
            fields.is_set(node, "parallel"),
            fields.is_set(node, "serial"),
        ) {
            (true, _) => RunOrder::Parallel,
            (false, true) => RunOrder::Serial,
            (false, false) => RunOrder::Inherited,
        };
        task.pool_size = fields.count(node, "pool_size");
        task.runs_once = fields.is_set(node, "runs_once");
        task.parameters = read_parameters(fields, node);
        task.condition = fields.scalar(node, "when");
        task.warn_only = fields.flag(node, "warn_only");
        task.skip_bad_hosts = fields.flag(node, "skip_bad_hosts");
        task.returns = FieldReader::get(node, "returns").map(Node::to_value);
        task.settings = read_settings_section(fields, node);
        read_steps(fields, node, &mut task);
        Some(task)
    }
}

fn read_parameters(fields: &mut FieldReader, node: &Node) -> Parameters {
    let named = fields.map(node, "args").into_iter();
    let named: IndexMap<_, _> = named
        .map(|(name, default)| (name, Some(default).filter(|default| !default.is_null())))
        .collect();
    Parameters {
        named,
        extra: fields.is_set(node, "extra_args"),
    }
}

/// Reads the steps of a task. The options of a task with `steps` belong to all of them; those of a task with an
/// action belong to its only step.
fn read_steps(fields: &mut FieldReader, node: &Node, task: &mut Task) {
    let Some(section) = FieldReader::get(node, "steps") else {
        if has_action(node) {
            task.steps = read_inline_step(fields, node).into_iter().collect();
        }
        return;
    };
    if has_action(node) {
        let message = "a task must have either `steps` or a single action, not both";
        let help = "move the action into `steps`".to_owned();
        fields.report(message, node.span(), Some(help));
    }
    task.options = read_command_options(fields, node);
    task.steps = read_step_list(fields, section, "steps");
}
