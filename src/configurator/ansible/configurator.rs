//! The configurator itself: renders the files of a run and says what it compares.

use std::path::{Path, PathBuf};

use super::expressions::PlaybookExpressions;
use super::input::{
    Document, absolute_path, arguments, document, input_error, playbook_args, program,
};
use super::inventory::{Inventory, KNOWN_HOSTS_FILE};
use super::invocation::VAULT_ID;
use super::playbook::Playbook;
use super::playbook_files::files_of_playbook;
use super::rendered::{PrivateFiles, RenderedPlaybook};
use super::run::PlaybookRun;
use super::variables::ExtraVariables;
use super::yaml_writer::to_ansible_yaml;
use crate::expr::{Error, LocalContext};
use crate::plan::CheckAbility;
use crate::task::{
    Configurator, OperationRun, RenderedFile, RenderedTask, TaskView, TaskWork, WorkFolder,
    WorkInputs,
};
use crate::value::{Map, Value, hex};

/// The callback plugin, which reports the run as JSON.
const REPORT_PLUGIN: &str = include_str!("plugins/unfurl_report.py");
/// The filter plugin with the values of Unfurl's expressions.
const EXPRESSIONS_PLUGIN: &str = include_str!("plugins/unfurl_expressions.py");
/// The number of random bytes of the password of a run, and of the name of its folder.
const RANDOM_BYTES: usize = 32;

/// Runs the playbook of the input `playbook`.
#[derive(Debug)]
pub(in crate::configurator) struct AnsibleConfigurator;

impl Configurator for AnsibleConfigurator {
    fn class_name(&self) -> &'static str {
        "unfurl.configurators.ansible.AnsibleConfigurator"
    }

    fn excluded_from_digest(&self) -> &'static [&'static str] {
        &["resultTemplate", "done", "command", "resultKeys"]
    }

    fn add_inputs(&self, inputs: &mut Map, local_context: &dyn LocalContext, base_dir: &Path) {
        // Unfurl (Python) records a path as an expression whose digest is that of the file.
        for name in ["playbook", "inventory"] {
            let text = inputs.get(name).and_then(Value::as_str);
            let plain = text.filter(|text| !text.is_empty() && !text.contains(['\n', '{']));
            let path = plain.map(|text| absolute_path(text, base_dir));
            if let Some(path) = path.filter(|path| local_context.exists(path)) {
                let path = Value::map([("path", path.display().to_string().into())]);
                inputs.insert(name.into(), Value::map([("eval", path)]));
            }
        }
    }

    fn files_of_input(
        &self,
        name: &str,
        value: &Value,
        local_context: &dyn LocalContext,
        base_dir: &Path,
    ) -> Vec<PathBuf> {
        match name {
            "playbook" => files_of_playbook(value, local_context, base_dir),
            _ => Vec::new(),
        }
    }

    fn check_ability(&self, _inputs: &Map) -> CheckAbility {
        CheckAbility::Compares
    }

    fn can_dry_run(&self, _task: &TaskView<'_>) -> Result<bool, Error> {
        Ok(true)
    }

    fn render(&self, task: &TaskView<'_>) -> Result<RenderedTask, Error> {
        let inventory_source = document(task, "inventory")?;
        let source = document(task, "playbook")?;
        let playbook_file = match &source {
            Some(Document::File(path)) => Some(path.clone()),
            _ => None,
        };
        let private_folder = private_folder(task)?;
        let folder = match &private_folder {
            Some(folder) => folder.clone(),
            None => task.work_folder()?,
        };
        let inventory = Inventory::of(task, inventory_source, &folder)?;
        let playbook = Playbook::of(source, &inventory, task)?;
        let mut variables = ExtraVariables::default();
        let expressions = PlaybookExpressions::find(&playbook.contents);
        expressions.add_values(task, &mut variables);
        for (name, value) in arguments(task)? {
            variables.add(name, value);
        }
        let mut files = TaskFiles::in_folder(folder);
        let mut words = program(task)?;
        words.push("-i".to_owned());
        words.push(files.add_inventory(inventory, &mut variables));
        words.extend(playbook_args(task)?);
        if task.settings.dry_run || task.settings.check_only {
            words.extend(["--check".to_owned(), "--diff".to_owned()]);
        }
        let plays = variables.replace_in(&playbook.plays);
        let path = files.add("playbook.yml", to_ansible_yaml(&plays));
        files.add("callback_plugins/unfurl_report.py", REPORT_PLUGIN);
        if expressions.has_filters() {
            files.add("filter_plugins/unfurl_expressions.py", EXPRESSIONS_PLUGIN);
        }
        if let Some(text) = variables.public_text() {
            words.push("-e".to_owned());
            words.push(format!("@{}", files.add("variables.yml", text)));
        }
        let password = seal_secrets(task, &variables, &mut files, &mut words)?;
        let rendered = RenderedPlaybook {
            words,
            playbook: path,
            playbook_file,
            password,
            secrets: variables.secret_values(),
            private_files: private_folder.map(|folder| PrivateFiles {
                folder,
                files: std::mem::take(&mut files.files),
            }),
        };
        Ok(RenderedTask {
            files: files.files,
            data: rendered.to_value(),
        })
    }

    fn work(&self, inputs: &WorkInputs<'_>, _rendered: Option<&Value>) -> TaskWork {
        let playbook = inputs
            .get("playbook")
            .and_then(|value| match value.reveal() {
                Value::Str(text) if !text.contains('\n') => Some(Value::Str(text.clone())),
                Value::External(external) => Some(external.value.clone()),
                _ => None,
            });
        match playbook {
            Some(path) => TaskWork::Command(Value::from(format!("ansible-playbook {path}"))),
            None => TaskWork::Configurator(self.class_name()),
        }
    }

    fn begin(&self, rendered: RenderedTask) -> Box<dyn OperationRun> {
        Box::new(PlaybookRun::new(RenderedPlaybook::of_value(&rendered.data)))
    }
}

/// Returns a folder for temporary files that does not exist yet.
fn new_private_folder(context: &dyn LocalContext) -> Result<PathBuf, Error> {
    let name = format!("unfurl-ansible-{}", *random_text(context)?);
    let beside = context.temp_dir();
    Ok(beside.parent().unwrap_or(&beside).join(name))
}

/// Returns a text that nobody can guess.
fn random_text(context: &dyn LocalContext) -> Result<zeroize::Zeroizing<String>, Error> {
    let mut bytes = [0; RANDOM_BYTES];
    let made = context.random(&mut bytes);
    made.map_err(|error| input_error(error.0))?;
    Ok(hex(&bytes).into())
}

/// Returns the private folder for the files of a task. None if they belong into the folder of the task.
fn private_folder(task: &TaskView<'_>) -> Result<Option<PathBuf>, Error> {
    // A look for drift leaves no files in the ensemble.
    let is_look = !task.tool().facts().writes_files;
    is_look
        .then(|| new_private_folder(task.local_context()))
        .transpose()
}

/// Adds the file with the secret variables, which is encrypted, and returns its password. None without such variables.
fn seal_secrets(
    task: &TaskView<'_>,
    variables: &ExtraVariables,
    files: &mut TaskFiles,
    words: &mut Vec<String>,
) -> Result<Option<zeroize::Zeroizing<String>>, Error> {
    let Some(clear) = variables.secret_text() else {
        return Ok(None);
    };
    let context = task.local_context();
    let password = random_text(context)?;
    let sealed = context
        .seal_vault(clear.as_bytes(), VAULT_ID, &password, None)
        .map_err(|problem| input_error(format!("cannot encrypt secrets: {problem}")))?;
    words.push("-e".to_owned());
    words.push(format!("@{}", files.add("secrets.yml", sealed)));
    Ok(Some(password))
}

/// The files that a task gets.
struct TaskFiles {
    folder: PathBuf,
    files: Vec<RenderedFile>,
}

impl TaskFiles {
    fn in_folder(folder: PathBuf) -> Self {
        Self {
            folder,
            files: Vec::new(),
        }
    }

    /// Adds a file and returns its path.
    fn add(&mut self, name: &str, text: impl Into<String>) -> String {
        let text: String = text.into();
        self.files.push(RenderedFile {
            folder: WorkFolder::Operation,
            path: name.to_owned(),
            bytes: text.into_bytes(),
            sensitive: name == "secrets.yml",
        });
        self.folder.join(name).display().to_string()
    }

    /// Adds the file of an inventory and returns the value of the option `-i`.
    fn add_inventory(&mut self, inventory: Inventory, variables: &mut ExtraVariables) -> String {
        match inventory {
            Inventory::File(path) => path.display().to_string(),
            Inventory::Hosts(hosts) => hosts,
            Inventory::Ini(text) => self.add("inventory.ini", text),
            Inventory::Data(data) => {
                let data = variables.replace_in(&data);
                self.add("inventory.yml", to_ansible_yaml(&data))
            }
            Inventory::Generated {
                data, known_host, ..
            } => {
                if let Some(line) = known_host {
                    self.add(KNOWN_HOSTS_FILE, line);
                }
                let data = variables.replace_in(&data);
                self.add("inventory.yml", to_ansible_yaml(&data))
            }
        }
    }
}
