//! Makes the playbook that runs: plays of the model are completed, playbooks of files are imported as they are.

use std::path::Path;

use super::input::{Document, contents_of, input_error};
use super::inventory::Inventory;
use crate::expr::{Error, LocalContext};
use crate::host::Variables;
use crate::task::TaskView;
use crate::value::{Map, Value};

/// The keys of which a play has at least one, and a task none.
const PLAY_KEYS: [&str; 8] = [
    "hosts",
    "tasks",
    "roles",
    "pre_tasks",
    "post_tasks",
    "vars_files",
    "import_playbook",
    "ansible.builtin.import_playbook",
];
/// The keys by which a playbook imports another one.
const IMPORT_KEYS: [&str; 2] = ["import_playbook", "ansible.builtin.import_playbook"];

/// The playbook of an operation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Playbook {
    /// The plays that run: those of the model, or one that imports the file.
    pub(super) plays: Value,
    /// Everything in which expressions of Unfurl may occur: the plays of the model or of the file.
    pub(super) contents: Value,
}

impl Playbook {
    /// Makes the playbook of the input `playbook`.
    pub(super) fn of(
        document: Option<Document>,
        inventory: &Inventory,
        task: &TaskView<'_>,
    ) -> Result<Self, Error> {
        let environment = task.added_variables()?;
        let maker = PlayMaker {
            inventory,
            environment: &environment,
        };
        match document {
            None => Err(input_error("the input `playbook` is missing or empty")),
            Some(Document::Data(list)) => {
                let plays = maker.complete(&list)?;
                Ok(Self {
                    plays,
                    contents: list,
                })
            }
            Some(Document::File(path)) => maker.import(&path, task.local_context()),
            Some(Document::Text(name)) if is_collection_name(&name) => Ok(Self {
                plays: import_of(&name),
                contents: Value::Null,
            }),
            Some(Document::Text(text)) if text.contains('\n') => Err(input_error(
                "the text of `playbook` is not a list of plays or tasks",
            )),
            Some(Document::Text(name)) => {
                Err(input_error(format!("the playbook `{name}` does not exist")))
            }
        }
    }
}

/// Returns true for the name of a playbook in a collection, such as `community.general.site`.
fn is_collection_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_part = |part: &&str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_file = parts
        .last()
        .is_some_and(|it| ["yml", "yaml", "json"].contains(it));
    parts.len() >= 3 && !is_file && parts.iter().all(is_part)
}

fn import_of(name: &str) -> Value {
    let import = Value::map([("import_playbook", Value::str(name))]);
    Value::list([import])
}

fn is_play(item: &Value) -> bool {
    PLAY_KEYS.iter().any(|key| item.get(key).is_some())
}

fn is_import(item: &Value) -> bool {
    IMPORT_KEYS.iter().any(|key| item.get(key).is_some())
}

fn has_hosts(play: &Value) -> bool {
    is_import(play) || play.get("hosts").is_some_and(Value::is_truthy)
}

/// Completes plays with the hosts and the environment of the operation.
struct PlayMaker<'a> {
    inventory: &'a Inventory,
    environment: &'a Variables,
}

impl PlayMaker<'_> {
    /// Returns complete plays: of a list of plays, or one play of a list of tasks.
    fn complete(&self, list: &Value) -> Result<Value, Error> {
        let items = list.marked_items().unwrap_or_default();
        let malformed = items.iter().find(|item| item.as_map().is_none());
        if items.is_empty() || malformed.is_some() {
            let found = malformed.map_or(list.kind(), |item| item.kind());
            return Err(input_error(format!(
                "`playbook` must be a list of plays or tasks, which are maps, but has {found}"
            )));
        }
        if !is_play(&items[0]) {
            let play = Map::from_iter([("tasks".into(), Value::list(items))]);
            return Ok(Value::list([self.play(play)?]));
        }
        let plays = items.iter().map(|item| {
            if is_import(item) {
                Ok(item.clone())
            } else {
                self.play(item.marked_entries().unwrap_or_default())
            }
        });
        Ok(Value::list(plays.collect::<Result<Vec<_>, Error>>()?))
    }

    /// Returns a play with hosts and environment.
    fn play(&self, mut play: Map) -> Result<Value, Error> {
        if !play.get("hosts").is_some_and(Value::is_truthy) {
            let host = self.inventory.default_host()?;
            let is_local = host == "localhost";
            play.insert("hosts".into(), host.into());
            if is_local {
                let local = || Value::str("local");
                play.entry("connection".into()).or_insert_with(local);
                let gathers = || Value::Bool(false);
                play.entry("gather_facts".into()).or_insert_with(gathers);
            }
        }
        // Ansible would put secret variables on a command line. Tasks on this machine inherit them.
        let secret = self.environment.secret_names();
        let added = self
            .environment
            .iter()
            .filter(|(name, _)| !secret.contains(name));
        let added: Map = added
            .map(|(name, value)| (name.into(), Value::str(value).data()))
            .collect();
        if !added.is_empty() {
            let added = Value::from(added);
            let environment = match play.shift_remove("environment") {
                Some(own) if own.is_truthy() => match own.as_list() {
                    Some(items) => Value::list(std::iter::once(added).chain(items.iter().cloned())),
                    None => Value::list([added, own]),
                },
                _ => added,
            };
            play.insert("environment".into(), environment);
        }
        Ok(Value::from(play))
    }

    /// Makes the playbook of a file. Ansible reads the file itself, so that roles, templates and variables beside it are
    /// found. A list of tasks gets a play, and so do plays without hosts.
    fn import(&self, path: &Path, context: &dyn LocalContext) -> Result<Playbook, Error> {
        let shown = path.display();
        if context.is_dir(path) {
            return Err(input_error(format!("the playbook `{shown}` is a folder")));
        }
        let name = path.to_str().ok_or_else(|| {
            input_error(format!("the path `{shown}` of the playbook is not UTF-8"))
        })?;
        let bytes = context
            .read(path)
            .map_err(|error| input_error(format!("cannot read the playbook `{shown}`: {error}")))?;
        let text = String::from_utf8_lossy(&bytes);
        let contents = contents_of(&text).unwrap_or_default();
        let Some(items) = contents.as_list().filter(|items| !items.is_empty()) else {
            // Ansible reports what is wrong with the file, and reads files that this program cannot read.
            return Ok(Playbook {
                plays: import_of(name),
                contents: Value::from(text.as_ref()),
            });
        };
        let plays = if !is_play(&items[0]) {
            let import = Value::map([("import_tasks", Value::str(name))]);
            let play = Map::from_iter([("tasks".into(), Value::list([import]))]);
            Value::list([self.play(play)?])
        } else if items.iter().all(has_hosts) {
            import_of(name)
        } else {
            self.complete(&contents)?
        };
        Ok(Playbook { plays, contents })
    }
}
