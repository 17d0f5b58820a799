//! The system context of expressions: access to files, variables, secrets and time of this computer, seen
//! from an ensemble.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::expression_writes::ExpressionWrites;
use super::secret_source::SecretSource;
use crate::exec::perform_effect;
use crate::expr::{
    Clock, DirectoryOwner, Effect, EffectError, EffectOutput, Effects, FileContent, Random,
    RandomError, ReadEnvironment, ReadError, ReadFiles, SecretError, SecretRequest, VaultPassword,
    Yaml, YamlError,
};
use crate::git::Repository;
use crate::host::Variables;
use crate::project::{FolderKeys, OutsideError, ReadScope, Trust};
use crate::secret::{self, VaultText};
use crate::system::{clock, fs, random};
use crate::value::limits::limits;
use crate::value::{Map, Value, hex};
use crate::yaml::{self, TagReader as _};

/// The maximum size, in bytes, of a file whose content itself is recorded instead of a digest.
const MAX_INLINE_BYTES: usize = 1 << 20;

/// The maximum size of the files of one digest together. Larger ones have no digest.
const MAX_DIGESTED_BYTES: u64 = 1 << 30;

/// The folders of an ensemble into which jobs write.
const JOB_FOLDERS: &[&str] = &[
    "active",
    "artifacts",
    "changes",
    "failed",
    "jobs",
    "local",
    "planned",
    "secrets",
    "spec",
];

/// Implements the ports of the expression evaluator for the local system.
#[derive(Debug)]
pub(crate) struct LocalSystem {
    pub(crate) base: PathBuf,
    /// The project's folder; the ensemble's folder if there is no project.
    pub(crate) project: PathBuf,
    /// The root of the planned working folders.
    pub(crate) planned: PathBuf,
    /// The environment variables, with the environment's rules applied.
    pub(crate) variables: BTreeMap<String, String>,
    /// The names of the environment variables whose values are secret.
    pub(crate) secret_variables: BTreeSet<String>,
    /// The `locals` section of the environment.
    pub(crate) locals: Map,
    pub(crate) secrets: Map,
    /// The places outside of the project that hold secrets.
    pub(crate) backends: SecretSource,
    /// The keys that decrypt files.
    pub(crate) keys: Arc<FolderKeys>,
    /// The result of the function `get_ensemble_metadata`.
    pub(crate) metadata: Map,
    /// The actions that the project may perform.
    pub(crate) trust: Trust,
    /// The files that expressions may read.
    pub(crate) scope: ReadScope,
    /// The files that expressions may write.
    pub(crate) writes: ExpressionWrites,
}

impl LocalSystem {
    /// Sets the environment variables that expressions see.
    pub(crate) fn set_variables(&mut self, variables: &Variables) {
        self.variables = variables.to_map();
        let secret = variables.secret_names().into_iter();
        self.secret_variables = secret.map(str::to_owned).collect();
    }
}

impl ReadEnvironment for LocalSystem {
    fn env(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn is_secret_variable(&self, name: &str) -> bool {
        self.secret_variables.contains(name)
    }

    fn env_all(&self) -> Vec<(String, String)> {
        self.variables
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn context_value(&self, section: &str, name: &str) -> Option<Value> {
        let section = if section == "local" {
            &self.locals
        } else {
            &self.secrets
        };
        section.get(name).cloned()
    }

    fn metadata(&self) -> Map {
        self.metadata.clone()
    }

    fn permits(&self, name: &str) -> bool {
        self.trust.permits(name)
    }

    fn evaluates_results(&self) -> bool {
        self.trust.permits_by_name("evaluate-results")
    }

    fn decrypt(
        &self,
        tag: &str,
        text: &str,
        path: &str,
    ) -> Option<Result<Value, (String, Option<String>)>> {
        let read = self.keys.read(tag, text, path)?;
        Some(read.map_err(|error| (error.reason, error.help)))
    }

    fn seal_vault(
        &self,
        clear: &[u8],
        id: &str,
        password: &str,
        salt: Option<&[u8]>,
    ) -> Result<String, String> {
        let Some(salt) = salt else {
            return secret::seal(clear, id, password).map_err(|error| error.to_string());
        };
        Ok(secret::seal_with_salt(clear, id, password, salt))
    }

    fn open_vault(&self, text: &str, password: &str) -> Result<Vec<u8>, String> {
        let parsed = VaultText::parse(text).map_err(|error| error.to_string())?;
        let opened = parsed.open(password).map_err(|error| error.to_string())?;
        Ok(opened.to_vec())
    }

    fn vault_passwords(&self) -> Vec<VaultPassword> {
        let keys = self.keys.get();
        let passwords = keys.passwords().iter().filter(|_| !keys.skips());
        let of = passwords.map(|secret| VaultPassword {
            id: secret.id.clone(),
            password: secret.password.clone(),
        });
        of.collect()
    }

    fn temp_dir(&self) -> PathBuf {
        self.writes.temporary_folder().to_owned()
    }
}

impl Effects for LocalSystem {
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        match effect.written_path() {
            Some(_) => self.writes.perform(effect),
            None => perform_effect(effect, &self.base, &self.variables),
        }
    }

    fn check(&self, effect: &Effect) -> Result<(), EffectError> {
        match effect.written_path() {
            Some(_) => self.writes.check(effect),
            None => Ok(()),
        }
    }

    fn fetch_secret(&self, request: &SecretRequest) -> Result<Value, SecretError> {
        self.backends
            .fetch(request, &self.project, &self.trust, &self.scope)
    }
}

impl ReadFiles for LocalSystem {
    fn check_read(&self, path: &Path) -> Result<(), ReadError> {
        self.readable(path).map(drop)
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let limit = limits().value;
        fs::read_within(&self.stored(path)?, limit as u64).map_err(|error| {
            if error.is_too_large() {
                ReadError::TooLarge { limit }
            } else {
                ReadError::from_system(error)
            }
        })
    }

    fn read_decrypted(&self, path: &Path) -> Result<FileContent, ReadError> {
        let bytes = self.read(path)?;
        if !secret::is_encrypted(&bytes) || self.keys.get().skips() {
            return Ok(FileContent::plain(bytes));
        }
        let text = String::from_utf8_lossy(&bytes);
        let keys = self.keys.get().for_folder(fs::parent_of(path));
        let opened = keys
            .open(&text, &format!("`{}`", path.display()))
            .map_err(|error| ReadError::Closed(format!("{error}; {}", error.help())))?;
        // The copy of a file in `secrets` counts as that file, which is not marked either.
        let real = self.readable(path)?;
        if secret::newer_copy(&real).is_some() {
            return Ok(FileContent::plain(
                secret::clear_of(&real, text.as_bytes(), &opened).to_vec(),
            ));
        }
        Ok(FileContent {
            bytes: opened.to_vec(),
            is_secret: true,
        })
    }

    fn exists(&self, path: &Path) -> bool {
        let exists = |path: PathBuf| fs::exists(&path) || secret::newer_copy(&path).is_some();
        self.readable(path).is_ok_and(exists)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.readable(path).is_ok_and(|path| fs::is_dir(&path))
    }

    fn is_link(&self, path: &Path) -> bool {
        let path = self.absolute(path);
        let beside = path.parent().unwrap_or(&path);
        self.scope.contains(beside) && fs::is_symlink(&path)
    }

    fn is_mount(&self, path: &Path) -> bool {
        self.readable(path).is_ok_and(|path| fs::is_mount(&path))
    }

    fn list(&self, path: &Path) -> Result<Vec<PathBuf>, ReadError> {
        let real = self.readable(path)?;
        let entries = fs::list(&real).map_err(ReadError::from_system)?.into_iter();
        let folder = self.absolute(path);
        Ok(entries.map(|entry| folder.join(entry.name)).collect())
    }

    fn real_path(&self, path: &Path) -> PathBuf {
        let path = self.absolute(path);
        let inside = self.scope.contains(&path);
        let real = inside.then(|| fs::canonicalize(&path).ok()).flatten();
        real.unwrap_or(path)
    }

    fn which(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let path = self.absolute(Path::new(name));
            return fs::is_program(&path).then_some(path);
        }
        fs::find_program(name, self.variables.get("PATH")?.split(':'))
    }

    fn directory(&self, owner: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError> {
        self.folder(owner, location)
    }

    fn tree_digest(&self, path: &Path) -> Option<String> {
        let path = self.readable(path).ok()?;
        let repository = Repository::discover(&path).ok().flatten();
        if let Some(id) = repository.and_then(|r| r.id_if_clean(&path).ok().flatten()) {
            return Some(format!("git:{id}"));
        }
        if fs::is_dir(&path) {
            return self.folder_digest(&path, None);
        }
        let bytes = fs::read_within(&path, MAX_DIGESTED_BYTES).ok()?;
        if bytes.len() > MAX_INLINE_BYTES {
            return Some(format!("sha256:{}", hex(&Sha256::digest(&bytes))));
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn content_digest(&self, path: &Path) -> Option<String> {
        let path = self.readable(path).ok()?;
        if fs::is_dir(&path) {
            let repository = Repository::discover(&path).ok().flatten();
            return self.folder_digest(&path, repository.as_ref());
        }
        let bytes = fs::read_within(&path, MAX_DIGESTED_BYTES).ok()?;
        Some(format!("sha256:{}", hex(&Sha256::digest(&bytes))))
    }
}

impl Clock for LocalSystem {
    fn now(&self) -> jiff::Timestamp {
        clock::now()
    }
}

impl Random for LocalSystem {
    fn random(&self, bytes: &mut [u8]) -> Result<(), RandomError> {
        random::fill(bytes).map_err(|error| RandomError(fs::os_message(&error)))
    }
}

impl Yaml for LocalSystem {
    fn parse_yaml(&self, text: &str) -> Result<Value, YamlError> {
        let root = yaml::parse_text(yaml::Schema::Core, text).map_err(YamlError)?;
        Ok(root.to_value())
    }

    fn to_yaml(&self, value: &Value) -> Result<String, YamlError> {
        Ok(yaml::emit(value, 0))
    }
}

impl LocalSystem {
    pub(super) fn absolute(&self, path: &Path) -> PathBuf {
        fs::absolute(path, &self.base)
    }

    /// Returns the path to open for a read: absolute and without links.
    fn readable(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let real = self.scope.resolve(&self.absolute(path));
        real.map_err(|_| ReadError::Outside {
            help: OutsideError::help(),
        })
    }

    /// Returns the path to open for the content of a file, which may be that of its encrypted copy.
    fn stored(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let real = self.readable(path)?;
        match secret::newer_copy(&real) {
            Some(copy) if !self.keys.get().skips() => self.readable(&copy),
            Some(_) | None => Ok(real),
        }
    }

    /// Returns the folder that `get_dir` denotes (rule U-e).
    fn folder(&self, owner: &DirectoryOwner, location: &str) -> Result<PathBuf, ReadError> {
        let instance = owner.instance.as_deref().unwrap_or("root");
        Ok(match location {
            "" | "." | "ensemble" | "src" | "spec.src" | "self" | "repository.self" => {
                self.base.clone()
            }
            "project" | "spec" | "repository.project" | "repository.spec" => self.project.clone(),
            "project.secrets" => self.project.join("secrets"),
            "ensemble.secrets" => self.base.join("secrets"),
            "tmp" => self.writes.temporary_folder().to_owned(),
            "spec.home" => self.base.join("spec").join(instance),
            "spec.local" => self.base.join("spec").join(instance).join("local"),
            "artifacts" | "secrets" | "local" => self.base.join(location).join(instance),
            "tasks" => self.task_folder(owner, instance),
            "operation" | "workflow" => {
                let name = owner.operation.as_deref().unwrap_or("");
                self.task_folder(owner, instance).join(name)
            }
            other => return Err(ReadError::UnknownLocation(other.to_owned())),
        })
    }

    /// Returns a digest of all files in a folder, except those ignored by the repository.
    ///
    /// Returns `None` for folders into which jobs write, so that a task's own output does not cause it to run
    /// again.
    fn folder_digest(&self, folder: &Path, ignoring: Option<&Repository>) -> Option<String> {
        let inside = folder.strip_prefix(&self.base).ok();
        let first = inside.and_then(|path| path.components().next());
        let first = first.and_then(|first| first.as_os_str().to_str());
        if self.base.starts_with(folder) || first.is_some_and(|name| JOB_FOLDERS.contains(&name)) {
            return None;
        }
        let limits = fs::WalkLimits {
            entries: 20_000,
            ..fs::WalkLimits::default()
        };
        let mut entries = fs::walk(folder, limits).ok()?;
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        let mut hasher = Sha256::new();
        let mut left = MAX_DIGESTED_BYTES;
        for entry in entries
            .iter()
            .filter(|entry| entry.kind == fs::EntryKind::File)
        {
            let name = entry.path.strip_prefix(folder).unwrap_or(&entry.path);
            let ignored = |repository: &Repository| repository.is_ignored(&entry.path);
            let is_ignored = ignoring.is_some_and(|it| ignored(it).unwrap_or(false));
            if name.starts_with(".git") || is_ignored {
                continue;
            }
            let name = name.to_string_lossy();
            let contents = fs::read_within(&entry.path, left).ok()?;
            left = left.saturating_sub(contents.len() as u64);
            hasher.update((name.len() as u64).to_be_bytes());
            hasher.update(name.as_bytes());
            hasher.update(Sha256::digest(&contents));
        }
        Some(format!("tree:{}", hex(&hasher.finalize())))
    }

    fn task_folder(&self, owner: &DirectoryOwner, instance: &str) -> PathBuf {
        match owner.operation {
            Some(_) => self.planned.join("tasks").join(instance),
            None => self.base.join("active/tasks").join(instance),
        }
    }
}
