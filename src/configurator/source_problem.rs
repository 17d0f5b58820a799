//! Finds tasks and state files that an operation names and that do not exist, before anything runs.

use std::path::Path;

use super::state_tree::{OperationTrees, tree_path};
use super::task_file::TaskFile;
use crate::expr::{LocalContext, is_template};
use crate::states::BASE_ENV;
use crate::tasks::TaskCall;
use crate::text::did_you_mean;
use crate::tosca::{ImplementationKind, Operation};
use crate::value::Value;

/// A source of an operation that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceProblem {
    /// The input that names the source.
    pub input: &'static str,
    /// The word of the input that is wrong.
    pub word: String,
    /// The problem, to follow the name of the operation and a colon.
    pub message: String,
    pub hint: Option<String>,
}

/// Returns the problem of the task or the state files that an operation names in literal texts. `base` is the folder of
/// the ensemble.
pub fn source_problem(
    operation: &Operation,
    local_context: &dyn LocalContext,
    base: &Path,
) -> Option<SourceProblem> {
    match &operation.implementation.as_ref()?.kind {
        ImplementationKind::Configurator(name) if &**name == "Task" => {
            task_problem(operation, local_context, base)
        }
        ImplementationKind::Configurator(name) if &**name == "States" => {
            states_problem(operation, local_context, base)
        }
        _ => None,
    }
}

fn task_problem(
    operation: &Operation,
    local_context: &dyn LocalContext,
    base: &Path,
) -> Option<SourceProblem> {
    let text = operation
        .inputs
        .get("task")?
        .as_str()
        .filter(|text| !is_template(text))?;
    let explicit = operation.inputs.get("file").filter(|file| !file.is_null());
    let file = match TaskFile::read(explicit, local_context, base) {
        Ok(file) => file,
        Err(message) => {
            let input = if explicit.is_some() { "file" } else { "task" };
            let word = explicit
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            return Some(SourceProblem {
                input,
                word,
                message,
                hint: None,
            });
        }
    };
    let call = TaskCall::parse(text).ok()?;
    let missing = file.tasks.find(&call.task, "").is_none();
    missing.then(|| SourceProblem {
        input: "task",
        message: format!("there is no task `{}`", call.task),
        hint: file.tasks.hint(&call.task),
        word: call.task,
    })
}

fn states_problem(
    operation: &Operation,
    local_context: &dyn LocalContext,
    base: &Path,
) -> Option<SourceProblem> {
    let names: Vec<&str> = match operation.inputs.get("sls")? {
        Value::Str(text) => text.split(',').map(str::trim).collect(),
        Value::List(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let given = |key: &str| operation.inputs.get(key).filter(|value| !value.is_null());
    let root = given("file_root");
    let env = given("saltenv").map_or(Some(BASE_ENV), Value::as_str)?;
    if root.is_some_and(|root| root.as_str().is_none_or(is_template)) || is_template(env) {
        return None;
    }
    let tree = match OperationTrees::read(&operation.inputs, local_context, base) {
        Ok(tree) => tree,
        Err(message) => {
            let input = match (root, given("file_roots")) {
                (_, Some(_)) => "file_roots",
                (Some(_), None) => "file_root",
                (None, None) => "sls",
            };
            let word = root.and_then(Value::as_str).unwrap_or_default().to_owned();
            return Some(SourceProblem {
                input,
                word,
                message,
                hint: None,
            });
        }
    };
    let plain = |name: &&str| !name.is_empty() && !name.contains(['*', '?', '[', '{']);
    let missing = names.into_iter().filter(plain).find(|name| {
        let path = name.replace('.', "/");
        let files = [format!("{path}.sls"), format!("{path}/init.sls")];
        files
            .iter()
            .all(|file| !tree.digests.contains_key(&*tree_path(env, file)))
    })?;
    let known = tree
        .digests
        .keys()
        .filter_map(|file| file.strip_suffix(".sls"));
    let known: Vec<String> = known
        .map(|file| file.strip_suffix("/init").unwrap_or(file).replace('/', "."))
        .collect();
    Some(SourceProblem {
        input: "sls",
        word: missing.to_owned(),
        message: format!("there is no state file `{missing}`"),
        hint: did_you_mean(missing, known.iter().map(String::as_str)),
    })
}
