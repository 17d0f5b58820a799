//! Reads `tasks.yaml` and what it includes; every problem is told with its place, all at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use super::fields::Fields;
use super::keys::{INCLUDE_KEYS, TASK_KEYS, TASKS_KEYS};
use super::read_step::{has_deed, only_step, settings, step};
use super::{Order, Parameters, Scope, Step, Task, Tasks, Text};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources, Span};
use crate::yaml::{Kind, Limits, Node, parse};

/// How deep files may include each other.
const DEEPEST: usize = 20;

/// Gives the text of a file, or why it has none.
pub type ReadFile<'a> = dyn Fn(&Path) -> Result<String, String> + 'a;

/// Reads the tasks of a file and of those that it includes. The texts are added to `sources`.
pub fn read_tasks(
    file: &Path,
    sources: &mut Sources,
    read: &ReadFile<'_>,
) -> Result<Tasks, Diagnostics> {
    let mut reader = Reader {
        sources,
        read,
        fields: Fields::default(),
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
    fields: Fields,
    tasks: Tasks,
    /// The files that are being read, each included by the one before.
    open: Vec<PathBuf>,
}

/// Where tasks are read: their namespace with the dot behind, and the folder of their file.
#[derive(Clone)]
struct Home {
    namespace: Arc<str>,
    folder: Arc<Path>,
}

impl Reader<'_> {
    fn file(&mut self, file: &Path, namespace: &str, asked: Span) {
        let is_open = self.open.iter().any(|open| open == file);
        if is_open || self.open.len() >= DEEPEST {
            let message = format!("`{}` includes itself", file.display());
            return self.fields.problem(&message, asked, None);
        }
        let text = match (self.read)(file) {
            Ok(text) => text,
            Err(error) => return self.fields.problem(&error, asked, None),
        };
        let source = self
            .sources
            .add(file, text, asked.is_some().then_some(asked));
        let node = match parse(self.sources, source, &Limits::default()) {
            Ok(node) => node,
            Err(problems) => return self.fields.problems.append(problems),
        };
        let home = Home {
            namespace: namespace.into(),
            folder: file.parent().unwrap_or(Path::new("")).into(),
        };
        self.open.push(file.to_owned());
        if !node.is_null() && self.fields.is_map(&node, &TASKS_KEYS) {
            self.includes(&node, &home);
            if let Some(env) = Fields::get(&node, "env") {
                let settings = settings(&mut self.fields, env);
                self.tasks.settings.push(settings);
            }
            self.tasks(&node, &home);
        }
        self.open.pop();
    }

    /// Files to include: a list of paths, of maps with `file` and `as`, or of a name before either.
    fn includes(&mut self, node: &Node, home: &Home) {
        let Some(section) = Fields::get(node, "include") else {
            return;
        };
        match section.kind() {
            Kind::Seq(items) => {
                for item in items {
                    self.include(item, home);
                }
            }
            Kind::Map(_) | Kind::Str(_) => self.include(section, home),
            _ => self.fields.wrong(section, "`include`", "a list of files"),
        }
    }

    fn include(&mut self, item: &Node, home: &Home) {
        match item.kind() {
            Kind::Str(file) => self.included(file, None, item.span(), home),
            Kind::Map(_) if item.get("file").is_some() => {
                if self.fields.is_map(item, &INCLUDE_KEYS)
                    && let Some(file) = self.fields.string(item, "file")
                {
                    let name = self.fields.string(item, "as");
                    self.included(file, name, item.span(), home);
                }
            }
            Kind::Map(map) => {
                for (name, entry) in map {
                    match entry.value.as_str() {
                        Some(file) => self.included(file, Some(name), entry.value.span(), home),
                        None => self
                            .fields
                            .wrong(&entry.value, "what is included", "a path"),
                    }
                }
            }
            _ => self.fields.wrong(item, "what is included", "a path"),
        }
    }

    fn included(&mut self, file: &str, name: Option<&str>, span: Span, home: &Home) {
        let namespace = match name {
            Some(name) if !self.is_name(name, span, "a namespace") => return,
            Some(name) => format!("{}{name}.", home.namespace),
            None => home.namespace.to_string(),
        };
        self.file(&home.folder.join(file), &namespace, span);
    }

    /// Whether a task can be called by a name.
    fn is_name(&mut self, name: &str, span: Span, what: &str) -> bool {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || ":,=".contains(c);
        let is_right = !name.is_empty() && !name.contains(is_odd) && !name.starts_with('-');
        if !is_right {
            let message = format!("`{name}` cannot be the name of {what}");
            let help =
                "names have no spaces, colons, commas or equals signs, and do not begin with `-`";
            self.fields.problem(&message, span, Some(help.to_owned()));
        }
        is_right
    }

    fn tasks(&mut self, node: &Node, home: &Home) {
        let Some(section) = Fields::get(node, "tasks") else {
            return;
        };
        let Some(map) = section.as_map() else {
            return self.fields.wrong(section, "`tasks`", "a map");
        };
        for (name, entry) in map {
            if !self.is_name(name, entry.key_span, "a task") {
                continue;
            }
            let full: Arc<str> = format!("{}{name}", home.namespace).into();
            let Some(task) = self.task(&full, &entry.value, home) else {
                continue;
            };
            if self.fields.is_set(&entry.value, "default") {
                self.default(&full, entry.key_span, home);
            }
            if let Some(other) = self.tasks.named.insert(full, Arc::new(task)) {
                let message = format!("there are two tasks `{}`", other.name);
                let problem = Diagnostic::error(message)
                    .label(entry.key_span, "the second")
                    .label(other.span, "the first")
                    .help("give one of the files a namespace: `include: [{file: …, as: …}]`");
                self.fields.problems.push(problem);
            }
        }
    }

    fn default(&mut self, name: &Arc<str>, span: Span, home: &Home) {
        let namespace: Arc<str> = home.namespace.trim_end_matches('.').into();
        if let Some(other) = self.tasks.defaults.insert(namespace, Arc::clone(name)) {
            let message = format!("both `{other}` and `{name}` are the default task");
            self.fields.problem(&message, span, None);
        }
    }

    fn task(&mut self, name: &Arc<str>, node: &Node, home: &Home) -> Option<Task> {
        let mut task = Task {
            namespace: Arc::clone(&home.namespace),
            span: node.span(),
            ..Task::new(Arc::clone(name), Arc::clone(&home.folder))
        };
        if node.is_null() {
            return Some(task);
        }
        if node.as_str().is_some() {
            task.steps.extend(step(&mut self.fields, node));
            return Some(task);
        }
        let fields = &mut self.fields;
        if !fields.is_map(node, &TASK_KEYS) {
            return None;
        }
        let description = fields.string(node, "description");
        description
            .unwrap_or("")
            .trim()
            .clone_into(&mut task.description);
        let plain = |names: Vec<Text>| names.iter().map(|name| name.as_str().to_owned()).collect();
        let scope = fields.scope(node);
        task.scope = Scope {
            hosts: plain(scope.hosts),
            roles: plain(scope.roles),
            exclude_hosts: plain(scope.exclude_hosts),
        };
        task.order = match (
            fields.is_set(node, "parallel"),
            fields.is_set(node, "serial"),
        ) {
            (true, _) => Order::Parallel,
            (false, true) => Order::Serial,
            (false, false) => Order::Inherited,
        };
        task.pool_size = fields.count(node, "pool_size");
        task.runs_once = fields.is_set(node, "runs_once");
        task.parameters = parameters(fields, node);
        task.when = fields.scalar(node, "when");
        task.warn_only = fields.flag(node, "warn_only");
        task.skip_bad_hosts = fields.flag(node, "skip_bad_hosts");
        task.returns = Fields::get(node, "returns").map(Node::to_value);
        task.steps = steps(fields, node);
        Some(task)
    }
}

fn parameters(fields: &mut Fields, node: &Node) -> Parameters {
    let named = fields.map(node, "args").into_iter();
    let named: IndexMap<_, _> = named
        .map(|(name, default)| (name, Some(default).filter(|default| !default.is_null())))
        .collect();
    Parameters {
        named,
        extra: fields.is_set(node, "extra_args"),
    }
}

fn steps(fields: &mut Fields, node: &Node) -> Vec<Step> {
    let Some(section) = Fields::get(node, "steps") else {
        if has_deed(node) {
            return only_step(fields, node).into_iter().collect();
        }
        return Vec::new();
    };
    if has_deed(node) {
        let message = "a task has either `steps` or does one thing itself";
        let help = "write what it does as one of the steps".to_owned();
        fields.problem(message, node.span(), Some(help));
    }
    match section.kind() {
        Kind::Seq(items) => items.iter().filter_map(|item| step(fields, item)).collect(),
        Kind::Str(_) => step(fields, section).into_iter().collect(),
        _ => {
            fields.wrong(section, "`steps`", "a list");
            Vec::new()
        }
    }
}
