//! Updates of instances that a run returns: `resultTemplate` and mapped outputs (rule U-k).

use std::sync::Arc;

use super::engine::Engine;
use super::event::LogLevel;
use super::outcome_secrets::refuse_secret_name;
use super::task::{EntityChanges, TaskIndex};
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::name::{NodeState, Priority, Status, TemplateName};
use crate::task::TaskOutcome;
use crate::topology::Creator;
use crate::tosca::{NodeTemplate, read_node_template};
use crate::value::{Handle, Map, Secrets, Value};
use crate::yaml::Node;

impl Engine {
    /// Applies the instance updates of a run, in order.
    pub(super) fn apply_updates(&mut self, index: TaskIndex, outcome: &mut TaskOutcome) {
        let Some(updates) = outcome.updates.take() else {
            return;
        };
        let secrets = self.secrets_of(index);
        let updates = secrets.mark(updates);
        let before = self.ledger.tasks[index].changes.len();
        for spec in updates.marked_items().unwrap_or_default() {
            let Some(fields) = spec.marked_entries() else {
                continue;
            };
            let is_safe = check_data(&fields).and_then(|()| check_names(&fields, &secrets));
            let applied =
                is_safe.and_then(|()| self.apply_spec(index, &fields, outcome.updates_as_text));
            if let Err(message) = applied {
                let message = secrets.redact(&message);
                self.log(
                    LogLevel::Warning,
                    format!("{}: {message}", self.label(index)),
                );
                outcome.errors.push(message);
                outcome.success = false;
            }
        }
        let changes = self.ledger.tasks[index].changes.iter().skip(before);
        let added = changes.filter(|(_, changes)| changes.added.is_some());
        let added: Vec<Handle> = added.map(|(of, _)| *of).collect();
        if !added.is_empty() {
            self.added_instances.push(added);
        }
    }

    /// Applies the changes of one instance.
    fn apply_spec(&mut self, index: TaskIndex, fields: &Map, as_text: bool) -> Result<(), String> {
        let target = self.ledger.tasks[index].spec.target;
        let name = fields.get("name").and_then(Value::as_str).unwrap_or("SELF");
        let found = match name {
            "SELF" | ".self" => Some(target),
            "HOST" => Some(self.topology.entity(target).parent.unwrap_or(target)),
            other => self.topology.find_from(target, other),
        };
        match found {
            Some(handle) if self.topology.is_external(handle) => Err(format!(
                "the instance `{name}` belongs to another ensemble and can only be changed by that \
                 ensemble"
            )),
            Some(handle) => self.update_instance(index, handle, fields),
            None => self.add_instance(index, name, fields, as_text),
        }
    }

    fn update_instance(
        &mut self,
        index: TaskIndex,
        of: Handle,
        fields: &Map,
    ) -> Result<(), String> {
        self.set_ready_state(index, of, fields.get("readyState"))?;
        if let Some(protected) = fields.get("protected").filter(|value| !value.is_null()) {
            let protected = Some(protected.is_truthy());
            self.topology_mut()
                .update_record(of, |entity| entity.protected = protected);
        }
        if let Some(customized) = fields.get("customized") {
            let customized = (!customized.is_null()).then(|| customized.clone());
            self.topology_mut()
                .update_record(of, |entity| entity.customized = customized);
        }
        let attributes = fields.get("attributes").and_then(Value::marked_entries);
        for (name, value) in attributes.iter().flatten() {
            self.set_attribute(index, of, name, value);
        }
        Ok(())
    }

    fn set_ready_state(
        &mut self,
        index: TaskIndex,
        of: Handle,
        ready: Option<&Value>,
    ) -> Result<(), String> {
        let Some(ready) = ready.filter(|ready| !ready.is_null()) else {
            return Ok(());
        };
        let local = ready.get("local").unwrap_or(ready);
        if let Some(word) = local.as_str() {
            let status = Status::parse(word)
                .ok_or_else(|| format!("`{word}` in readyState is not a status"))?;
            self.set_status(index, of, status);
        }
        if let Some(word) = ready.get("state").and_then(Value::as_str) {
            let state = NodeState::parse(word)
                .ok_or_else(|| format!("`{word}` in readyState is not a node state"))?;
            self.topology_mut().set_state(of, Some(state));
        }
        Ok(())
    }

    fn set_status(&mut self, index: TaskIndex, of: Handle, status: Status) {
        self.topology_mut().set_local(of, Some(status));
        self.ledger.tasks[index]
            .changes
            .entry(of)
            .or_default()
            .status = Some(status);
    }

    /// Adds an instance that a run has found or created.
    fn add_instance(
        &mut self,
        index: TaskIndex,
        name: &str,
        fields: &Map,
        as_text: bool,
    ) -> Result<(), String> {
        let target = self.ledger.tasks[index].spec.target;
        let mut spec = fields.clone();
        let template = match fields.get("template").map(Value::reveal) {
            Some(Value::Map(inline)) => {
                let inline = with_host_requirement(
                    inline,
                    fields,
                    self.topology.entity(target).local_name(),
                );
                spec.insert("template".into(), Value::from(inline.clone()));
                self.add_template(target, name, inline)?
            }
            stated => {
                let template = stated.and_then(Value::as_str).unwrap_or(name);
                self.find_template(target, template).ok_or_else(|| {
                    format!("cannot add the instance `{name}`: there is no template `{template}`")
                })?
            }
        };
        let parent = self.parent_of_new(target, name, fields)?;
        let stated = fields
            .get("readyState")
            .is_some_and(|ready| !ready.is_null());
        let key = self.topology.entity(target).key.shared();
        let name = self.topology.name_within(target, name);
        let topology = self.topology_mut();
        let handle = topology.add_node(name.into(), template, parent, None);
        let created = fields.get("created").and_then(Creator::from_value);
        let managed = stated.then_some(Creator::ManagedBy(key));
        if let Some(created) = created.or(managed) {
            if !as_text {
                spec.insert("created".into(), created.to_value());
            }
            topology.set_created(handle, Some(created));
        }
        // An added instance is required even if no other instance refers to it.
        let priority = fields.get("priority").and_then(Value::as_str);
        let priority = priority.and_then(Priority::parse);
        let priority = priority.unwrap_or(Priority::Required);
        topology.update_record(handle, |entity| entity.priority = Some(priority));
        self.update_instance(index, handle, fields)?;
        // The initial attributes of a new instance are not changes of it.
        let changes = EntityChanges {
            added: Some(Value::from(spec)),
            ..EntityChanges::default()
        };
        let task = &mut self.ledger.tasks[index];
        task.changes.insert(handle, changes);
        task.reads.dependencies.retain(|(of, _), _| *of != handle);
        Ok(())
    }

    /// Returns a template by the name under which a task's target can refer to it.
    fn find_template(&self, target: Handle, name: &str) -> Option<Arc<NodeTemplate>> {
        let whole = TemplateName::new(self.topology.name_within(target, name));
        let found = self.topology.template().nodes.get(&whole).cloned();
        // Templates that tasks have added are not in the model. They are found through their instances.
        let existing = self.topology.instances_of(&whole).first();
        let existing = existing.and_then(|of| self.topology.entity(*of).node());
        found.or_else(|| existing.map(|node| Arc::clone(&node.template)))
    }

    /// Returns the parent of an added instance: the named one, or the root.
    fn parent_of_new(&self, target: Handle, name: &str, fields: &Map) -> Result<Handle, String> {
        let root = self.topology.root_of(target);
        match fields.get("parent").and_then(Value::as_str) {
            Some("SELF" | ".self") => Ok(target),
            Some("HOST") => Ok(self.topology.entity(target).parent.unwrap_or(root)),
            Some(other) => self
                .topology
                .find_from(target, other)
                .ok_or_else(|| format!("cannot add `{name}`: its parent `{other}` does not exist")),
            None => Ok(root),
        }
    }

    /// Reads the template that a run supplies for an instance, and keeps it for the record.
    fn add_template(
        &mut self,
        target: Handle,
        name: &str,
        mut inline: Map,
    ) -> Result<Arc<NodeTemplate>, String> {
        let fail = |why: &str| format!("cannot add the instance `{name}`: {why}");
        if self.topology.root_of(target) != self.topology.root() {
            return Err(fail("templates cannot be added to a nested topology"));
        }
        let stated = inline.shift_remove("name");
        let own = stated.as_ref().and_then(Value::as_str).unwrap_or(name);
        let own = TemplateName::new(own);
        if self.topology.template().nodes.contains_key(&own) {
            return Err(fail(&format!("the template `{own}` already exists")));
        }
        let inline = Value::from(inline);
        let node = Node::from_value(&inline, Span::NONE);
        let node = node.ok_or_else(|| fail("its template is nested too deeply"))?;
        let (template, problems) = read_node_template(self.topology.service(), &own, &node);
        let is_error = |problem: &&Diagnostic| problem.severity == Severity::Error;
        let mut errors = problems.iter().filter(is_error);
        if let Some(error) = errors.next() {
            return Err(fail(&error.message));
        }
        let template = template.ok_or_else(|| fail("its template is not a valid node template"))?;
        self.ledger.added_templates.insert(own.shared(), inline);
        Ok(Arc::new(template))
    }

    /// Maps the outputs of an operation to attributes, status and node state.
    pub(super) fn apply_outputs(&mut self, index: TaskIndex, outcome: &mut TaskOutcome) {
        let operation = Arc::clone(&self.ledger.tasks[index].spec.operation);
        let secret = operation
            .output_defs
            .iter()
            .filter(|(_, def)| def.is_sensitive());
        for (name, _) in secret {
            if let Some(value) = outcome.outputs.as_mut().and_then(|it| it.get_mut(name)) {
                *value = std::mem::take(value).sensitive();
            }
        }
        let Some(outputs) = outcome.outputs.clone() else {
            return;
        };
        let output_problems = self.evaluation().output_problems(&operation, &outputs);
        if !output_problems.is_empty() {
            outcome.errors.extend(output_problems);
            outcome.success = false;
            return;
        }
        for (name, value) in &outputs {
            if value.has_data()
                && let Err(message) = check_name("an output", name)
            {
                outcome.errors.push(message);
                outcome.success = false;
                continue;
            }
            let mapping = operation.outputs.get(name);
            // A map defines the output and may contain the mapping.
            let mapping = mapping.and_then(|mapping| match mapping.as_map() {
                Some(definition) => definition.get("mapping").cloned(),
                None => Some(mapping.clone()),
            });
            let Some(mapping) = mapping.filter(|mapping| !mapping.is_null()) else {
                let task = &self.ledger.tasks[index];
                if self.evaluation().sets_attribute(task, name) {
                    let target = task.spec.target;
                    self.set_attribute(index, target, name, value);
                }
                continue;
            };
            if let Err(message) = self.map_output(index, &mapping, value) {
                // The state of the target is unknown if an output cannot be mapped.
                outcome.errors.push(format!("output `{name}`: {message}"));
                outcome.success = false;
                outcome.status = Some(Status::Error);
                outcome.outputs = None;
            }
        }
    }

    fn map_output(
        &mut self,
        index: TaskIndex,
        mapping: &Value,
        value: &Value,
    ) -> Result<(), String> {
        let target = self.ledger.tasks[index].spec.target;
        let to = match mapping {
            Value::Str(name) => Arc::clone(name),
            Value::List(path) if path.len() == 2 && path[0].as_str() == Some("SELF") => {
                path[1].as_str().unwrap_or_default().into()
            }
            _ => return Err(format!("invalid or unsupported mapping {mapping}")),
        };
        let word = value.as_str().unwrap_or_default();
        match &*to {
            ".status" if value.is_truthy() => {
                let status =
                    Status::parse(word).ok_or_else(|| format!("`{word}` is not a status"))?;
                self.set_status(index, target, status);
            }
            ".state" if value.is_truthy() => {
                let state = NodeState::parse(word)
                    .ok_or_else(|| format!("`{word}` is not a node state"))?;
                self.topology_mut().set_state(target, Some(state));
            }
            ".status" | ".state" => {}
            _ => self.set_attribute(index, target, &to, value),
        }
        Ok(())
    }
}

/// The keys of an update that output of commands may fill.
const OPEN_TO_DATA: [&str; 7] = [
    "name",
    "parent",
    "attributes",
    "readyState",
    "priority",
    "protected",
    "created",
];

/// Refuses output of commands where an update says more than names, attributes and states.
fn check_data(fields: &Map) -> Result<(), String> {
    for (key, value) in fields {
        if !value.has_data() || OPEN_TO_DATA.contains(&&**key) {
            continue;
        }
        if &**key == "template" && value.as_str().is_some() {
            continue;
        }
        return Err(format!(
            "`{key}` in `resultTemplate` contains output of a command, which may only give names, attributes \
             and states of instances; write `{key}` in the template itself, or allow the evaluation \
             of results with `--allow evaluate-results`"
        ));
    }
    if let Some(attributes) = fields.get("attributes").filter(|it| it.own_marks().data) {
        for name in attributes.as_map().into_iter().flat_map(Map::keys) {
            check_name("an attribute", name)?;
        }
    }
    let names = ["name", "parent", "template"].map(|key| fields.get(key));
    for name in names.into_iter().flatten().filter(|name| name.has_data()) {
        check_name("an instance", name.as_str().unwrap_or_default())?;
    }
    Ok(())
}

/// Refuses names that contain a secret.
fn check_names(fields: &Map, secrets: &Secrets) -> Result<(), String> {
    for key in ["name", "parent", "template"] {
        let name = fields.get(key).map(Value::reveal).and_then(Value::as_str);
        refuse_secret_name("an instance", name.unwrap_or_default(), secrets)?;
    }
    let attributes = fields.get("attributes").and_then(Value::as_map);
    for name in attributes.into_iter().flat_map(Map::keys) {
        refuse_secret_name("an attribute", name, secrets)?;
    }
    Ok(())
}

/// Refuses a name from outside that could be more than a name, such as a path.
fn check_name(subject: &str, name: &str) -> Result<(), String> {
    const LONGEST: usize = 255;
    let is_keyword = name == ".self";
    let starts = name.starts_with(['.', '+', '~', '$', '-', ' ']) || name == "<<";
    let is_bad = |c: char| c.is_control() || "/\\:[]{}".contains(c);
    if is_keyword
        || !(name.is_empty()
            || name.len() > LONGEST
            || starts
            || name.contains("..")
            || name.contains(is_bad))
    {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(format!(
        "`{}` in `resultTemplate` cannot be the name of {subject}: a name from the output of a command has \
         1 to 255 characters, does not begin with `.`, `+`, `~`, `$`, `-` or a space, and has no control \
         characters, no `..` and none of `/`, `\\`, `:`, `[`, `]`, `{{` and `}}`",
        shown.escape_debug()
    ))
}

/// Adds a `host` requirement to a template if its instance names a parent and the template does not.
fn with_host_requirement(inline: &Map, fields: &Map, own: &str) -> Map {
    let mut inline = inline.clone();
    let parent = match fields.get("parent").and_then(Value::as_str) {
        Some("SELF" | ".self") => own,
        Some("HOST" | "root") | None => return inline,
        Some(other) => other,
    };
    let requirements = inline.get("requirements").and_then(Value::as_list).cloned();
    let mut requirements: Vec<Value> = requirements.unwrap_or_default();
    if !requirements.iter().any(|one| one.get("host").is_some()) {
        requirements.push(Value::map([("host", Value::from(parent))]));
        inline.insert("requirements".into(), Value::from(requirements));
    }
    inline
}
