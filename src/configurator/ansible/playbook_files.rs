//! The files that a playbook reads, so that a change of them counts as a change of the operation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::expr::{DirectoryOwner, LocalContext};
use crate::value::Value;

/// The folders beside a playbook that belong to it.
const FOLDERS: [&str; 6] = [
    "group_vars",
    "host_vars",
    "library",
    "module_utils",
    "filter_plugins",
    "action_plugins",
];
/// The keys whose values name roles.
const ROLE_KEYS: [&str; 4] = ["roles", "import_role", "include_role", "dependencies"];
/// The folder with roles.
const ROLES: &str = "roles";
/// The folder in which a playbook looks for tasks, templates and files, besides its own.
const SOURCE_FOLDERS: [&str; 5] = ["", "tasks", "templates", "files", "vars"];
/// The maximum number of files, which are also searched for names of other files.
const MAX_FILES: usize = 2000;
/// The maximum size of a file that is searched, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The maximum length of a text that may be a path.
const MAX_PATH: usize = 512;

/// Returns the files and folders that a playbook reads, as far as their names are written in it.
///
/// These are the files that it names and those that they name in turn, its roles, and the folders with variables and
/// plugins beside it. The files of roles count one by one, because Unfurl's `.gitignore` excludes folders named `tasks`, and
/// the digest of a folder leaves out what git ignores.
pub(super) fn files_of_playbook(
    playbook: &Value,
    context: &dyn LocalContext,
    base: &Path,
) -> Vec<PathBuf> {
    let mut search = FileSearch {
        context,
        found: BTreeSet::new(),
        waiting: Vec::new(),
        roles: BTreeSet::new(),
    };
    let project = context.directory(&DirectoryOwner::default(), "project");
    let mut folders = vec![base.to_owned()];
    folders.extend(project.ok().filter(|project| project != base));
    match playbook.reveal() {
        Value::Str(text) if !text.contains('\n') => search.add(&base.join(&**text)),
        Value::External(external) => {
            search.add(&base.join(external.value.reveal().to_string()));
        }
        Value::Str(text) => {
            let plays = context.parse_yaml(text).unwrap_or(Value::Null);
            search.names(&plays, base, 0);
        }
        plays => search.names(plays, base, 0),
    }
    let mut known_roles = BTreeSet::new();
    loop {
        while let Some(file) = search.waiting.pop() {
            if let Some(folder) = file.parent() {
                if !folders.iter().any(|known| known == folder) && known_roles.is_empty() {
                    folders.push(folder.to_owned());
                }
                search.read(&file, folder);
            }
        }
        let Some(role) = search.roles.difference(&known_roles).next().cloned() else {
            break;
        };
        search.add_role(&role, &folders);
        known_roles.insert(role);
    }
    search.folders(&folders, base)
}

/// The search for the files of a playbook.
struct FileSearch<'a> {
    context: &'a dyn LocalContext,
    found: BTreeSet<PathBuf>,
    waiting: Vec<PathBuf>,
    /// The names of roles that were found.
    roles: BTreeSet<String>,
}

impl FileSearch<'_> {
    fn add(&mut self, path: &Path) {
        let is_file = self.context.exists(path) && !self.context.is_dir(path);
        if is_file && self.found.len() < MAX_FILES && self.found.insert(path.to_owned()) {
            self.waiting.push(path.to_owned());
        }
    }

    /// Searches a YAML file for names of other files.
    fn read(&mut self, file: &Path, folder: &Path) {
        let is_yaml = file
            .extension()
            .is_some_and(|end| end == "yml" || end == "yaml");
        let bytes = is_yaml.then(|| self.context.read(file).ok()).flatten();
        let Some(bytes) = bytes.filter(|bytes| bytes.len() <= MAX_BYTES) else {
            return;
        };
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(contents) = self.context.parse_yaml(&text) {
            self.names(&contents, folder, 0);
        }
    }

    /// Adds the files that the texts of a value name.
    fn names(&mut self, value: &Value, folder: &Path, depth: usize) {
        const MAX_DEPTH: usize = 64;
        if depth > MAX_DEPTH {
            return;
        }
        match value.reveal() {
            Value::Str(text) => self.name(text, folder),
            Value::List(items) => {
                for item in items.iter() {
                    self.names(item, folder, depth + 1);
                }
            }
            Value::Map(map) => {
                for (key, item) in map.iter() {
                    let key = key.rsplit('.').next().unwrap_or(key);
                    if ROLE_KEYS.contains(&key) {
                        self.role_names(item);
                    }
                    self.names(item, folder, depth + 1);
                }
            }
            _ => {}
        }
    }

    /// Adds the roles that the value of a key for roles names: a name, a map with it, or a list of both.
    fn role_names(&mut self, value: &Value) {
        match value.reveal() {
            Value::Str(text) => {
                let name = text.strip_prefix("name=").unwrap_or(text);
                if !name.contains(['{', ' ', '\n']) && name.len() <= MAX_PATH {
                    self.roles.insert(name.to_owned());
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.role_names(item)),
            Value::Map(map) => {
                let names = ["role", "name"].iter().filter_map(|key| map.get(*key));
                let names = names.filter(|name| name.as_str().is_some());
                names.for_each(|name| self.role_names(name));
            }
            _ => {}
        }
    }

    /// Adds the files of a role, which is in a folder `roles` or beside the playbook.
    fn add_role(&mut self, role: &str, folders: &[PathBuf]) {
        let places = folders.iter();
        let places = places.flat_map(|folder| [folder.join(ROLES).join(role), folder.join(role)]);
        let found = places.into_iter().find(|place| self.context.is_dir(place));
        let mut waiting: Vec<PathBuf> = found.into_iter().collect();
        while let Some(folder) = waiting.pop() {
            for path in self.context.list(&folder).unwrap_or_default() {
                if !self.context.is_dir(&path) {
                    self.add(&path);
                } else if !self.context.is_link(&path) && waiting.len() < MAX_FILES {
                    waiting.push(path);
                }
            }
        }
    }

    /// Adds the file that a text names: as a whole, or as the value of an option such as `src=x`.
    fn name(&mut self, text: &str, folder: &Path) {
        let words = text.split_whitespace().filter(|word| word.contains('='));
        let options = words
            .filter_map(|word| word.split_once('='))
            .map(|(_, value)| value);
        for name in std::iter::once(text).chain(options) {
            let is_path = !name.is_empty()
                && name.len() <= MAX_PATH
                && !name.contains(['\n', '{', '\0'])
                && !Path::new(name).is_absolute();
            if is_path {
                for source in SOURCE_FOLDERS {
                    self.add(&folder.join(source).join(name));
                }
            }
        }
    }

    /// Returns the files with the folders that belong to the playbook.
    fn folders(mut self, folders: &[PathBuf], base: &Path) -> Vec<PathBuf> {
        let has_files = !self.found.is_empty();
        for folder in folders {
            // Folders beside an ensemble do not belong to a playbook that is written in the model.
            let names = FOLDERS.iter().filter(|_| folder != base || has_files);
            let paths = names.map(|name| folder.join(name));
            let context = self.context;
            self.found.extend(paths.filter(|path| context.is_dir(path)));
        }
        self.found.into_iter().collect()
    }
}
