//! The files of a task: the configuration, the variables, and the call of a module in another folder.

use std::path::{Path, PathBuf};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::settings::{WorkingFolder, input_error};
use super::variables::{ModuleVariables, argument, json_text};
use crate::expr::Error;
use crate::secret::plain_json;
use crate::system::fs::{dotted_path, normalize};
use crate::task::{RenderedFile, TaskView};
use crate::value::{Map, Value, hex};

/// The names of the files that are made for a task.
pub(super) const GENERATED_FILES: [&str; 7] = [
    "main.unfurl.tmp.tf",
    "main.unfurl.tmp.tf.json",
    "main.tmp.tf",
    "main.tmp.tf.json",
    "vars.tmp.tfvars",
    "vars.tmp.tfvars.json",
    ".terraform.lock.hcl",
];

/// The name of the module in the call that is made for a folder.
const MODULE: &str = "main";

/// The configuration that the input `main` names.
#[derive(Debug, Clone, PartialEq)]
enum Configuration {
    /// A file of the working folder, with its content.
    File(&'static str, String),
    /// A folder of modules.
    Folder(PathBuf),
    /// A source that the tool fetches.
    Source(String),
}

/// The files of a task, and what its run needs of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModuleFiles {
    /// Files of the working folder, by name.
    pub(super) files: Vec<(String, String)>,
    /// The file with variables in the working folder.
    pub(super) variables: Option<&'static str>,
    /// The file of the private folder with variables: its name and its content.
    pub(super) private: Option<(&'static str, String)>,
    /// A digest of everything that decides whether the working folder must be initialised again.
    pub(super) digest: String,
    /// True if the configuration can declare resources.
    pub(super) may_have_resources: bool,
}

impl ModuleFiles {
    pub(super) fn of(
        task: &TaskView<'_>,
        folder: &WorkingFolder,
        cwd: &Path,
    ) -> Result<Self, Error> {
        let configuration = Configuration::of(task)?;
        let variables = ModuleVariables::of(task)?;
        let mut made = Self {
            may_have_resources: configuration.may_have_resources(),
            ..Self::default()
        };
        let mut digest = Sha256::new();
        let source = match configuration {
            Configuration::File(name, content) => {
                digest.update(&content);
                made.files.push((name.to_owned(), content));
                None
            }
            Configuration::Folder(path) => {
                let tree = task.local_context().content_digest(&path);
                digest.update(tree.unwrap_or_default());
                let relative = relative_path(cwd, &path);
                (relative != Path::new(".")).then(|| relative.display().to_string())
            }
            Configuration::Source(source) => Some(source),
        };
        match source {
            Some(source) => {
                digest.update(&source);
                made.add_call(task, &source, variables)?;
            }
            None => made.add_variables(variables),
        }
        made.digest = hex(&digest.finalize());
        if let (WorkingFolder::OfProject(path), false) = (folder, made.files.is_empty()) {
            return Err(input_error(format!(
                "`workdir: {}` is a folder of the project, into which nothing is written; leave `workdir` out, or let \
                 `main` be the same folder",
                path.display()
            )));
        }
        Ok(made)
    }

    /// Adds the files with variables.
    fn add_variables(&mut self, variables: ModuleVariables) {
        if variables.is_empty() {
            return;
        }
        if let ModuleVariables::Text(text) = variables {
            let plain = text.reveal().to_string();
            if text.has_sensitive() {
                self.private = Some(("secret.tfvars", plain));
            } else {
                self.files.push(("vars.tmp.tfvars".to_owned(), plain));
                self.variables = Some("vars.tmp.tfvars");
            }
            return;
        }
        let (open, secret) = variables.divided();
        if !open.is_empty() {
            let name = "vars.tmp.tfvars.json";
            self.files.push((name.to_owned(), json_text(&open)));
            self.variables = Some(name);
        }
        self.add_secret_variables(&secret);
    }

    fn add_secret_variables(&mut self, secret: &Map) {
        if !secret.is_empty() {
            self.private = Some(("secret.tfvars.json", json_text(secret)));
        }
    }

    /// Adds a call of the module at a source. All outputs are sensitive, because those of the module may be.
    fn add_call(
        &mut self,
        task: &TaskView<'_>,
        source: &str,
        variables: ModuleVariables,
    ) -> Result<(), Error> {
        let outputs = task.tool().used_outputs();
        if let ModuleVariables::Text(text) = &variables {
            if text.has_sensitive() {
                return Err(input_error(
                    "`tfvars` is a text with a secret, which cannot be passed to a module in another folder; write it \
                     as a map",
                ));
            }
            let text = text.reveal().to_string();
            let content = call_text(source, &text, &outputs);
            self.files.push(("main.tmp.tf".to_owned(), content));
            return Ok(());
        }
        let (open, secret) = variables.divided();
        let mut module: serde_json::Map<String, serde_json::Value> = open
            .iter()
            .map(|(name, value)| (name.to_string(), argument(value)))
            .collect();
        let mut declared = serde_json::Map::new();
        for name in secret.keys() {
            module.insert(name.to_string(), json!(format!("${{var.{name}}}")));
            declared.insert(name.to_string(), json!({"sensitive": true}));
        }
        module.insert("source".to_owned(), json!(source));
        let mut root = json!({"module": {MODULE: module}});
        if !declared.is_empty() {
            root["variable"] = declared.into();
        }
        for name in &outputs {
            let value = format!("${{module.{MODULE}.{name}}}");
            root["output"][name] = json!({"value": value, "sensitive": true});
        }
        let content = serde_json::to_string_pretty(&root).unwrap_or_default();
        self.files.push(("main.tmp.tf.json".to_owned(), content));
        self.add_secret_variables(&secret);
        Ok(())
    }

    /// Returns the files for a folder of the job.
    pub(super) fn rendered(&self, folder: &WorkingFolder) -> Vec<RenderedFile> {
        let WorkingFolder::OfJob(folder) = folder else {
            return Vec::new();
        };
        let file = |(name, content): &(String, String)| RenderedFile {
            folder: *folder,
            path: name.clone(),
            bytes: content.clone().into_bytes(),
            sensitive: false,
        };
        self.files.iter().map(file).collect()
    }
}

impl Configuration {
    fn of(task: &TaskView<'_>) -> Result<Self, Error> {
        let main = task.input("main")?.unwrap_or_default();
        if main.has_sensitive() {
            return Err(input_error(
                "`main` contains a secret, which would stand in a file of the working folder; pass it in `tfvars`",
            ));
        }
        match main.reveal() {
            Value::Map(_) | Value::List(_) if main.is_truthy() => {
                let text = serde_json::to_string_pretty(&plain_json(&main)).unwrap_or_default();
                Ok(Self::File("main.unfurl.tmp.tf.json", text))
            }
            Value::Map(_) | Value::List(_) | Value::Null => Self::default_folder(task),
            other => {
                let text = other.to_string();
                if text.trim().is_empty() {
                    return Self::default_folder(task);
                }
                if text.contains('\n') {
                    return Ok(Self::File("main.unfurl.tmp.tf", text));
                }
                Self::of_path(task, &text)
            }
        }
    }

    /// Returns false if no resource can be declared: by a text, because neither `resource` nor `module` occurs in it.
    fn may_have_resources(&self) -> bool {
        match self {
            Self::File(_, text) => ["resource", "module"]
                .iter()
                .any(|word| text.contains(word)),
            Self::Folder(_) | Self::Source(_) => true,
        }
    }

    fn default_folder(task: &TaskView<'_>) -> Result<Self, Error> {
        let instance = task.tool().facts().instance;
        let path = task.settings.base_dir.join(&instance);
        if task.local_context().is_dir(&path) {
            return Ok(Self::Folder(path));
        }
        Err(input_error(format!(
            "the input `main` is missing, and the default folder of modules, `{}`, does not exist",
            path.display()
        )))
    }

    fn of_path(task: &TaskView<'_>, text: &str) -> Result<Self, Error> {
        let local = task.local_context();
        let path = task.settings.base_dir.join(text);
        if local.is_dir(&path) {
            return Ok(Self::Folder(path));
        }
        if local.exists(&path) {
            let is_json = path.extension().is_some_and(|ending| ending == "json");
            let bytes = local
                .read(&path)
                .map_err(|error| input_error(error.to_string()))?;
            let content = String::from_utf8(bytes)
                .map_err(|_| input_error(format!("`{}` is no text", path.display())))?;
            let name = if is_json {
                "main.unfurl.tmp.tf.json"
            } else {
                "main.unfurl.tmp.tf"
            };
            return Ok(Self::File(name, content));
        }
        if is_source(text) {
            return Ok(Self::Source(text.to_owned()));
        }
        Err(input_error(format!(
            "`main: {text}` is neither a file or folder that exists (`{}`) nor a source of modules",
            path.display()
        )))
    }
}

/// Returns true for the source of a module that the tool fetches: an address, or a name of a registry.
pub(super) fn is_source(text: &str) -> bool {
    let parts = text.split("//").next().unwrap_or_default().split('/');
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let parts: Vec<&str> = parts.collect();
    let is_registry = matches!(parts.len(), 3 | 4) && parts.iter().all(|part| is_name(part));
    let is_plain_path = text.starts_with('.') || text.starts_with('/');
    text.contains("::") || text.contains("://") || is_registry && !is_plain_path
}

/// Returns the text of a call with the arguments as text.
fn call_text(source: &str, arguments: &str, outputs: &[String]) -> String {
    let source = json!(source);
    let mut text = format!("module \"{MODULE}\" {{\n  source = {source}\n\n{arguments}\n}}\n");
    for name in outputs {
        text.push_str(&format!(
            "output \"{name}\" {{\n  value     = module.{MODULE}.{name}\n  sensitive = true\n}}\n"
        ));
    }
    text
}

/// Returns the path from a folder to another one, beginning with a dot.
pub(super) fn relative_path(from: &Path, to: &Path) -> PathBuf {
    dotted_path(&normalize(to), &normalize(from))
}
