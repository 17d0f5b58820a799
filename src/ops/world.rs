//! What expressions may read of this machine.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::diagnostic::Sources;
use crate::expr::{Place, World};
use crate::git::Repository;
use crate::project::Trust;
use crate::system::{clock, env, fs};
use crate::value::{Map, Value};
use crate::yaml;

/// This machine, seen from an ensemble.
#[derive(Debug)]
pub(super) struct RealWorld {
    /// The folder of the ensemble.
    pub(super) base: PathBuf,
    /// The folder of the project; that of the ensemble where there is none.
    pub(super) project: PathBuf,
    /// Where planned folders are.
    pub(super) planned: PathBuf,
    /// The environment's variables.
    pub(super) variables: BTreeMap<String, String>,
    /// The `locals` and `secrets` of the environment.
    pub(super) locals: Map,
    pub(super) secrets: Map,
    /// What `get_ensemble_metadata` gives.
    pub(super) metadata: Map,
    /// What the project may do.
    pub(super) trust: Trust,
}

impl World for RealWorld {
    fn env(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn env_all(&self) -> Vec<(String, String)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        fs::read(&self.absolute(path)).map_err(|error| error.to_string())
    }

    fn exists(&self, path: &Path) -> bool {
        fs::exists(&self.absolute(path))
    }

    fn is_dir(&self, path: &Path) -> bool {
        fs::is_dir(&self.absolute(path))
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, String> {
        let entries = fs::list(&self.absolute(path)).map_err(|error| error.to_string())?;
        Ok(entries.into_iter().map(|entry| entry.path).collect())
    }

    fn write(&self, path: &Path, contents: &[u8], sensitive: bool) -> Result<(), String> {
        let path = self.absolute(path);
        fs::write_plain(&path, contents, sensitive.then_some(0o600))
            .map_err(|error| error.to_string())
    }

    fn make_dir(&self, path: &Path) -> Result<(), String> {
        fs::create_dir_all(&self.absolute(path)).map_err(|error| error.to_string())
    }

    fn directory(&self, place: &Place, location: &str, create: bool) -> Result<PathBuf, String> {
        let folder = self.folder(place, location)?;
        if create {
            fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        }
        Ok(folder)
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.absolute(Path::new(name));
            return is_program(&path).then_some(path);
        }
        let path = self.variables.get("PATH")?;
        path.split(':')
            .map(|folder| Path::new(folder).join(name))
            .find(|file| is_program(file))
    }

    fn now(&self) -> jiff::Timestamp {
        clock::now()
    }

    fn parse_yaml(&self, text: &str) -> Result<Value, String> {
        let mut sources = Sources::default();
        let source = sources.add("template", text, None);
        let root = yaml::parse(&sources, source, &yaml::Limits::default()).map_err(|problems| {
            let first = problems
                .iter()
                .next()
                .map(|problem| problem.message.clone());
            first.unwrap_or_else(|| "it is not YAML".to_owned())
        })?;
        Ok(root.to_value())
    }

    fn to_yaml(&self, value: &Value) -> Result<String, String> {
        Ok(yaml::emit(value, 0))
    }

    fn tree_digest(&self, path: &Path) -> Option<String> {
        let path = self.absolute(path);
        let repository = Repository::discover(&path).ok().flatten();
        if let Some(id) = repository.and_then(|r| r.id_if_clean(&path).ok().flatten()) {
            return Some(format!("git:{id}"));
        }
        let bytes = fs::read(&path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn temp_dir(&self) -> PathBuf {
        env::temporary_dir()
    }

    fn random(&self, bytes: &mut [u8]) {
        // Where the system gives no random bytes, unique ones must do: they are no secret then.
        let read = open_random().and_then(|mut file| file.read_exact(bytes).ok());
        if read.is_none() {
            let unique = ulid::Ulid::generate().to_bytes();
            for (place, byte) in bytes.iter_mut().enumerate() {
                *byte = unique[place % unique.len()];
            }
        }
    }

    fn context_value(&self, section: &str, name: &str) -> Option<Value> {
        let section = if section == "local" {
            &self.locals
        } else {
            &self.secrets
        };
        section.get(name).cloned()
    }

    fn permits(&self, name: &str) -> bool {
        self.trust.permits(name)
    }

    fn metadata(&self) -> Map {
        self.metadata.clone()
    }
}

impl RealWorld {
    fn absolute(&self, path: &Path) -> PathBuf {
        fs::absolute(path, &self.base)
    }

    /// Where `get_dir` leads (spec/unfurl.md § (e)).
    fn folder(&self, place: &Place, location: &str) -> Result<PathBuf, String> {
        let instance = place.instance.as_deref().unwrap_or("root");
        Ok(match location {
            "" | "." | "ensemble" | "src" => self.base.clone(),
            "project" => self.project.clone(),
            "project.secrets" => self.project.join("secrets"),
            "ensemble.secrets" => self.base.join("secrets"),
            "tmp" => env::temporary_dir(),
            "spec.src" | "spec.home" => self.base.join("spec").join(instance),
            "spec.local" => self.base.join("spec").join(instance).join("local"),
            "artifacts" | "secrets" | "local" => self.base.join(location).join(instance),
            "tasks" => self.task_folder(place, instance),
            "operation" | "workflow" => {
                let name = place.operation.as_deref().unwrap_or("");
                self.task_folder(place, instance).join(name)
            }
            other => return Err(format!("there is no location `{other}`")),
        })
    }

    fn task_folder(&self, place: &Place, instance: &str) -> PathBuf {
        match place.operation {
            Some(_) => self.planned.join("tasks").join(instance),
            None => self.base.join("active/tasks").join(instance),
        }
    }
}

fn is_program(path: &Path) -> bool {
    fs::is_file(path) && fs::mode_of(path).is_ok_and(|mode| mode & 0o111 != 0)
}

fn open_random() -> Option<std::fs::File> {
    std::fs::File::open("/dev/urandom").ok()
}
