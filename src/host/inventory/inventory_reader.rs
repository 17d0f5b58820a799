//! Reads inventories from files, folders and programs, with the variables in the folders beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::host::ExecutorConfiguration;
use crate::secret::{FileKeys, is_encrypted};
use crate::system::fs;
use crate::value::{Map, Value};
use crate::yaml::{self, Limits};

use super::ansible_yaml::YamlReader;
use super::error::InventoryProblem;
use super::model::{ALL, Inventory, UNGROUPED, has_open_password};
use super::program;
use super::read::InventoryFormat;
use super::vars_files::{GROUP_FOLDER, HOST_FOLDER, VarsFolder};

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 256 << 20;
/// The maximum depth of folders with inventories.
const MAX_DEPTH: usize = 16;

/// The endings of files that a folder of inventories may have beside its inventories, as in Ansible.
const IGNORED_ENDINGS: [&str; 13] = [
    ".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".ini", ".cfg",
    ".retry",
];
/// The folders beside inventories that have other files.
const IGNORED_NAMES: [&str; 3] = [GROUP_FOLDER, HOST_FOLDER, "vars_plugins"];

/// A reader of inventories. Later files win over earlier ones.
pub struct InventoryReader<'a> {
    /// The keys for encrypted values and files.
    pub keys: FileKeys<'a>,
    /// Returns true if a program may run to list hosts.
    pub may_run: &'a dyn Fn(&Path) -> bool,
    /// The texts that problems refer to.
    pub sources: &'a mut Sources,
    pub inventory: Inventory,
    pub warnings: Diagnostics,
    /// The files with a password as plain text, each with the host or group that has it.
    pub open_passwords: Vec<(PathBuf, Arc<str>)>,
    /// The executors that the files configure, in the order of the files.
    pub executors: Vec<ExecutorConfiguration>,
}

impl InventoryReader<'_> {
    /// Reads files, folders and programs, then `group_vars/` and `host_vars/` beside each.
    ///
    /// # Errors
    ///
    /// A file cannot be read or contradicts others, or a program may not run or has failed.
    pub fn read_all(&mut self, paths: &[PathBuf]) -> Result<(), Diagnostics> {
        for path in paths {
            self.read(path, 0)?;
        }
        for folder in vars_folders(paths) {
            self.read_group_files(&VarsFolder::list(&folder.join(GROUP_FOLDER)).map_err(failed)?)?;
            self.read_host_files(&VarsFolder::list(&folder.join(HOST_FOLDER)).map_err(failed)?)?;
        }
        Ok(())
    }

    fn read(&mut self, path: &Path, depth: usize) -> Result<(), Diagnostics> {
        if !fs::is_dir(path) {
            return self.read_file(path);
        }
        if depth > MAX_DEPTH {
            let message = format!(
                "`{}` is nested more than {MAX_DEPTH} folders deep",
                path.display()
            );
            return Err(Diagnostic::error(message).into());
        }
        for entry in fs::list(path).map_err(failed)? {
            let name = entry.name.as_str();
            let is_ignored = IGNORED_ENDINGS.iter().any(|ending| name.ends_with(ending));
            if entry.path.extension().is_some_and(|ending| ending == "ini") {
                let message = format!("`{}` is not read", entry.path.display());
                let help = "in a folder of inventories, files with the ending `.ini` are settings, as in Ansible; \
                            name the file without the ending";
                self.warnings.push(Diagnostic::warning(message).help(help));
            }
            if !name.starts_with('.') && !IGNORED_NAMES.contains(&name) && !is_ignored {
                self.read(&entry.path, depth + 1)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> Result<(), Diagnostics> {
        let bytes = fs::read_within(path, MAX_BYTES).map_err(failed)?;
        if program::is_program(path, &bytes) {
            return self.read_program(path);
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let format = InventoryFormat::of_ending(ending);
        if is_encrypted(&bytes) {
            let text = self.open(path, &bytes)?;
            let read = parse_hidden(path, &text, |source, sources| {
                Inventory::parse(source, format, sources, &self.keys)
            })?;
            let mut inventory = read.0;
            inventory.mark_secret();
            return self.extend(&inventory);
        }
        let text = utf8(path, bytes)?;
        let source = self.sources.add(path, text, None);
        let (mut inventory, warnings) = Inventory::parse(source, format, self.sources, &self.keys)?;
        self.warnings.append(warnings);
        if let Some(spec) = inventory.executors.take() {
            let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
            self.executors.push(ExecutorConfiguration { spec, folder });
        }
        let text = self
            .sources
            .get(source)
            .map(|source| Arc::clone(&source.text));
        if let Some(name) = inventory.with_open_password(text.as_deref().unwrap_or_default()) {
            self.open_passwords
                .push((path.to_owned(), Arc::clone(name)));
        }
        self.extend(&inventory)
    }

    fn read_program(&mut self, path: &Path) -> Result<(), Diagnostics> {
        if !(self.may_run)(path) {
            let message = format!("`{}`: {}", path.display(), InventoryProblem::Program);
            let help = format!(
                "if you trust it, run it with `--allow {}`, or trust its folder: `unfurl trust FOLDER`; or write what \
                 `--list` prints into a file that ends with `.json`",
                program::PERMISSION
            );
            return Err(Diagnostic::error(message).help(help).into());
        }
        let (inventory, warnings) = program::read(path, self.sources, &self.keys)?;
        self.warnings.append(warnings);
        self.extend(&inventory)
    }

    fn extend(&mut self, inventory: &Inventory) -> Result<(), Diagnostics> {
        let extended = self.inventory.extend(inventory);
        extended.map_err(|problem| Diagnostic::error(problem).into())
    }

    fn open(&self, path: &Path, bytes: &[u8]) -> Result<String, Diagnostics> {
        let shown = path.display().to_string();
        let text = utf8(path, bytes.to_vec())?;
        let opened = self.keys.open(&text, &shown).map_err(|error| {
            let message = format!("`{shown}` cannot be decrypted: {error}");
            Diagnostics::from(Diagnostic::error(message).help(error.help()))
        })?;
        utf8(path, opened.to_vec())
    }

    fn read_group_files(&mut self, folder: &VarsFolder) -> Result<(), Diagnostics> {
        if folder.is_empty() {
            return Ok(());
        }
        let mut names: Vec<Arc<str>> = vec![ALL.into(), UNGROUPED.into()];
        names.extend(self.inventory.roles().cloned());
        for name in names {
            for file in folder.files_of(&name).map_err(failed)? {
                let data = self.variables(&file, &name)?;
                self.inventory.add_group_file(&name, data);
            }
        }
        Ok(())
    }

    fn read_host_files(&mut self, folder: &VarsFolder) -> Result<(), Diagnostics> {
        if folder.is_empty() {
            return Ok(());
        }
        let names: Vec<Arc<str>> = self.inventory.hosts().cloned().collect();
        for name in names {
            for file in folder.files_of(&name).map_err(failed)? {
                let data = self.variables(&file, &name)?;
                self.inventory.add_host_file(&name, data);
            }
        }
        Ok(())
    }

    /// Reads the variables of a group or a host from a file. All values of an encrypted file are secret.
    fn variables(&mut self, path: &Path, name: &Arc<str>) -> Result<Map, Diagnostics> {
        let bytes = fs::read_within(path, MAX_BYTES).map_err(failed)?;
        if is_encrypted(&bytes) {
            let text = self.open(path, &bytes)?;
            let data = parse_hidden(path, &text, |source, sources| self.map_of(source, sources))?;
            let data = data.into_iter();
            return Ok(data
                .map(|(name, value)| (name, value.sensitive()))
                .collect());
        }
        let text = utf8(path, bytes)?;
        let source = self.sources.add(path, text, None);
        let data = self.map_of(source, self.sources)?;
        let text = self
            .sources
            .get(source)
            .map(|source| Arc::clone(&source.text));
        if has_open_password(&data, text.as_deref().unwrap_or_default()) {
            self.open_passwords
                .push((path.to_owned(), Arc::clone(name)));
        }
        Ok(data)
    }

    fn map_of(
        &self,
        source: crate::diagnostic::SourceId,
        sources: &Sources,
    ) -> Result<Map, Diagnostics> {
        let root = yaml::parse(sources, source, &Limits::default())?;
        let mut context = YamlReader::new(sources, &self.keys);
        let data = context.values(&root, "the file");
        context.finish()?;
        Ok(data)
    }
}

/// Returns the folders around inventories that may have folders with variables, each once: where it counts last.
fn vars_folders(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for path in paths {
        let folder = if fs::is_dir(path) {
            path.clone()
        } else {
            path.parent().unwrap_or(Path::new("")).to_owned()
        };
        folders.retain(|known| *known != folder);
        folders.push(folder);
    }
    folders
}

/// Parses a decrypted text. A problem is reported without its place, which would show the text.
fn parse_hidden<T>(
    path: &Path,
    text: &str,
    parse: impl FnOnce(crate::diagnostic::SourceId, &Sources) -> Result<T, Diagnostics>,
) -> Result<T, Diagnostics> {
    let mut hidden = Sources::default();
    let source = hidden.add(path, text, None);
    parse(source, &hidden).map_err(|problems| {
        let place = problems
            .iter()
            .find_map(|problem| hidden.position(problem.span()?));
        let line = place.map_or(String::new(), |place| format!(", line {}", place.line));
        let message = format!(
            "the decrypted text of `{}`{line}, is not valid",
            path.display()
        );
        let help = "look at it with `unfurl secret show` or `ansible-vault view`";
        Diagnostic::error(message).help(help).into()
    })
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, Diagnostics> {
    String::from_utf8(bytes).map_err(|_| {
        let message = format!("`{}` is not UTF-8 text", path.display());
        Diagnostic::error(message).into()
    })
}

fn failed(error: fs::Error) -> Diagnostics {
    Diagnostic::error(error).into()
}

impl Inventory {
    /// Marks all variables as secret.
    fn mark_secret(&mut self) {
        let hosts = self.hosts.values_mut().map(|host| &mut host.data);
        let groups = self.groups.values_mut().map(|group| &mut group.data);
        for value in hosts.chain(groups).flat_map(|data| data.values_mut()) {
            *value = std::mem::replace(value, Value::Null).sensitive();
        }
    }
}
