//! The states of an ensemble's tools: their cipher, and what becomes of those of runs that were cut off.

use std::collections::HashSet;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::failure::{Failure, FailureKind};
use super::frontend::JobFrontend;
use crate::configurator::{
    LostResource, PRIVATE_FILES, PrivateOrigin, is_same_lineage, lost_of_messages, lost_resources,
    newer_state, sealed_state, state_files,
};
use crate::ensemble::CrashedJob;
use crate::secret::{SealedState, StateKeys};
use crate::session::{EnsembleLocation, Session};
use crate::system::env::Env;
use crate::system::fs::{self, Beneath, EntryKind};
use crate::system::private_root;
use crate::task::StateCipher;
use crate::value::{Value, hex};

/// The number of hexadecimal digits that tell the private folders of ensembles apart.
const KEY_LENGTH: usize = 16;

/// The maximum size of a file in a private folder, in bytes.
const MAX_BYTES: u64 = 512 << 20;

/// The cipher for the states of one ensemble.
#[derive(Debug)]
pub(super) struct ToolStates {
    keys: StateKeys,
    prefix: String,
}

impl ToolStates {
    /// Returns the cipher of the ensemble of a session.
    pub(super) fn of(session: &Session) -> Self {
        let base = session.manifest.base_dir();
        Self {
            keys: StateKeys::new(session.location.keys.clone(), base),
            prefix: folder_prefix(session.manifest.path()),
        }
    }

    /// Returns the cipher of an ensemble that is not loaded.
    fn at(found: &EnsembleLocation) -> Self {
        let manifest = &found.located.manifest;
        Self {
            keys: StateKeys::new(found.keys.clone(), fs::parent_of(manifest)),
            prefix: folder_prefix(manifest),
        }
    }

    /// Returns the state of an instance between jobs. None if no file has one.
    fn stored(&self, base: &Path, instance: &str) -> Result<Option<Vec<u8>>, String> {
        let folder = Beneath::open(base).map_err(|error| error.to_string())?;
        for path in state_files(instance) {
            match folder.read(&path, MAX_BYTES) {
                Ok(sealed) => return self.open(&path, &sealed).map(Some),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(None)
    }
}

/// Returns the beginning of the names of an ensemble's private folders.
pub(super) fn folder_prefix(manifest: &Path) -> String {
    let real = fs::canonicalize(manifest).unwrap_or_else(|_| manifest.to_owned());
    let digest = hex(&Sha256::digest(real.as_os_str().as_encoded_bytes()));
    format!("{}-", &digest[..KEY_LENGTH])
}

fn parts(sealed: SealedState) -> (String, Option<String>) {
    (sealed.text, sealed.warning)
}

impl StateCipher for ToolStates {
    fn open(&self, path: &Path, content: &[u8]) -> Result<Vec<u8>, String> {
        self.keys.open(path, content).map(|clear| clear.to_vec())
    }

    fn seal(&self, clear: &[u8]) -> Result<(String, Option<String>), String> {
        self.keys.seal(clear).map(parts)
    }

    fn seal_values(&self, state: &Value, clear: &[u8]) -> Result<(String, Option<String>), String> {
        self.keys.seal_values(state, clear).map(parts)
    }

    fn folder_prefix(&self) -> &str {
        &self.prefix
    }
}

/// Takes over the states that cut-off runs of tools left in private folders, and removes these folders. Returns the
/// names of the instances' folders.
///
/// The caller holds the lock of the ensemble, and has ended the processes of its earlier jobs.
pub(super) fn recover_states(
    found: &EnsembleLocation,
    view: &mut dyn JobFrontend,
) -> Result<HashSet<String>, Failure> {
    let manifest = &found.located.manifest;
    let base = fs::parent_of(manifest);
    let states = ToolStates::at(found);
    let mut taken = HashSet::new();
    for root in private_root::existing(&Env::of_this_process()) {
        for entry in fs::list(&root).unwrap_or_default() {
            let is_own = entry.kind == EntryKind::Folder && entry.name.starts_with(&states.prefix);
            if !is_own {
                continue;
            }
            let left = LeftFolder {
                path: &entry.path,
                base,
                states: &states,
            };
            let instance = left.recover(view);
            taken.extend(instance.map_err(|problem| left.failure(&problem))?);
        }
    }
    Ok(taken)
}

/// Returns messages about the resources that a crashed job has created and that the stored states lack, with the
/// number of the task. `taken` names the instances whose private folders were taken over.
///
/// This is needed if a private folder is lost together with the machine.
pub(super) fn resources_without_state(
    job: &CrashedJob,
    found: &EnsembleLocation,
    taken: &HashSet<String>,
) -> Vec<(usize, String)> {
    let base = fs::parent_of(&found.located.manifest);
    let states = ToolStates::at(found);
    let lost_tasks = job.reports().filter(|(_, name, _)| !taken.contains(*name));
    let texts = lost_tasks.filter_map(|(task, name, messages)| {
        let state = states.stored(base, name);
        let known = state.as_ref().ok().and_then(|state| state.as_deref());
        let lost = lost_of_messages(messages, known);
        let why = match &state {
            _ if lost.is_empty() => return None,
            Ok(Some(_)) => "the stored state lacks them".to_owned(),
            Ok(None) => "no state of it is stored here".to_owned(),
            Err(problem) => problem.clone(),
        };
        Some((task, lost_text(name, &why, &lost, installed_tool())))
    });
    texts.collect()
}

/// Returns the tool that is installed, for a command in a message.
fn installed_tool() -> &'static str {
    let env = Env::of_this_process();
    let folders = env.non_empty("PATH").unwrap_or(fs::DEFAULT_PATH);
    let has = |name: &str| fs::find_program(name, folders.split(':')).is_some();
    if !has("terraform") && has("tofu") {
        "tofu"
    } else {
        "terraform"
    }
}

/// Returns the message about resources that a state lacks.
fn lost_text(instance: &str, why: &str, lost: &[LostResource], tool: &str) -> String {
    let lines: Vec<String> = lost.iter().map(|it| it.text(tool)).collect();
    format!(
        "these resources of `{instance}` exist, but {why}:\n{}",
        lines.join("\n")
    )
}

/// The private folder of a run that was cut off.
struct LeftFolder<'a> {
    path: &'a Path,
    base: &'a Path,
    states: &'a ToolStates,
}

impl LeftFolder<'_> {
    /// Takes over the folder and removes it. Returns the name of the instance's folders, if it is known.
    fn recover(&self, view: &mut dyn JobFrontend) -> Result<Option<String>, String> {
        let [state, _] = PRIVATE_FILES.states.map(|name| self.path.join(name));
        if let Some(process) = fs::lock_holder(&state) {
            return Err(format!(
                "the process {process} still works with it; wait until the process has ended"
            ));
        }
        let origin = self.read(PRIVATE_FILES.origin)?;
        let origin = origin.as_deref().and_then(PrivateOrigin::read);
        if let Some(origin) = &origin
            && let Some(path) = &origin.state
        {
            self.take_over(origin, path, view)?;
        }
        fs::remove_dir_all(self.path).map_err(|error| error.to_string())?;
        Ok(origin.map(|origin| origin.instance))
    }

    /// Keeps the state of the folder, if it is newer than the one between jobs.
    fn take_over(
        &self,
        origin: &PrivateOrigin,
        path: &Path,
        view: &mut dyn JobFrontend,
    ) -> Result<(), String> {
        let mut states = Vec::new();
        for name in PRIVATE_FILES.states {
            states.extend(self.read(name)?);
        }
        let Some(left) = states.into_iter().reduce(newer_state) else {
            return Ok(());
        };
        let folder = Beneath::open(self.base).map_err(|error| error.to_string())?;
        let known = match folder.read(path, MAX_BYTES) {
            Ok(sealed) => Some(self.states.open(path, &sealed)?),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.to_string()),
        };
        let is_same = known
            .as_ref()
            .is_none_or(|known| is_same_lineage(known, &left));
        if !is_same {
            return Err(format!(
                "its state is not a continuation of the one in `{}`; compare both, and move the folder away",
                path.display()
            ));
        }
        let newest = match &known {
            Some(known) => newer_state(known.clone(), left),
            None => left,
        };
        if known.as_ref() != Some(&newest) {
            let (text, warning) = sealed_state(self.states, &origin.location, &newest)?;
            let keep = || {
                folder.create_dir_all(fs::parent_of(path))?;
                folder.write_atomic(path, text.as_bytes(), Some(fs::SECRET_MODE))
            };
            keep().map_err(|error| error.to_string())?;
            view.notice(&format!(
                "the state of `{}` is now that of the run that was cut off",
                origin.instance
            ));
            if let Some(warning) = warning {
                view.notice(&warning);
            }
        }
        let stream = self.read(PRIVATE_FILES.stream)?.unwrap_or_default();
        let lost = lost_resources(&stream, &newest);
        if !lost.is_empty() {
            let why = "its state lacks them";
            view.notice(&lost_text(&origin.instance, why, &lost, &origin.tool));
        }
        Ok(())
    }

    /// Returns the content of a file of the folder.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        match fs::read_within(&self.path.join(name), MAX_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    fn failure(&self, problem: &str) -> Failure {
        let path = self.path.display();
        let message = format!(
            "the private folder `{path}` of a run that was cut off cannot be taken over: {problem}"
        );
        let hint = format!(
            "no job was started; `{path}` holds a state in clear text, which a later job takes over once the problem is \
             solved"
        );
        Failure::new(FailureKind::Refused, message, Some(hint))
    }
}
