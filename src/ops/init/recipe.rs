//! The parts that new projects and new ensembles share: files of a repository, its vault and its first commits.

use std::path::{Component, Path};

use super::new_repository::NewRepository;
use super::registration::home_of;
use super::request::{InitRequest, InitSource};
use super::staging::write_files;
use crate::ops::address_clone::clone_from_address;
use crate::ops::failure::{Failure, FailureKind};
use crate::package::{SourceUrl, is_git_address};
use crate::project::Project;
use crate::secret;
use crate::skeleton::{NewFile, ProjectFiles, Skeleton, VaultPassword, render_project};
use crate::system::{env, fs};
use crate::value::Map;

/// The folder of the home project with skeletons of the user.
const SKELETONS_FOLDER: &str = "skeletons";
/// The message of the commit with an ensemble.
pub(super) const ENSEMBLE_MESSAGE: &str = "Default ensemble repository boilerplate";

/// The skeleton with its variables.
#[derive(Debug)]
pub(super) struct Recipe<'a> {
    pub(super) request: &'a InitRequest,
    pub(super) skeleton: Skeleton,
    pub(super) variables: Map,
    /// Remarks on the skeleton for the user.
    pub(super) notes: Vec<String>,
}

impl<'a> Recipe<'a> {
    /// Finds the skeleton that the user chose.
    pub(super) fn of(request: &'a InitRequest) -> Result<Self, Failure> {
        let mut notes = Vec::new();
        let skeleton = match &request.source {
            InitSource::Skeleton(name) => find_skeleton(request, name, &mut notes)?,
            _ => Skeleton::default(),
        };
        Ok(Self {
            request,
            skeleton,
            variables: request.skeleton_variables(),
            notes,
        })
    }

    /// Whether the user passes the password or the id of a vault.
    pub(super) fn has_vault_variables(&self) -> bool {
        let is_set = |name: &str| self.request.variable(name).is_some();
        is_set("VAULT_PASSWORD") || is_set("vaultid")
    }

    /// Returns the id and the password of a vault for a folder: those of the user, or new ones.
    pub(super) fn vault(&self, folder: &Path) -> Result<VaultPassword, Failure> {
        let project = Project {
            root: folder.to_owned(),
            ..Project::default()
        };
        // The id is part of the name of a variable, too.
        let name = project
            .name()
            .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let mut vault = VaultPassword::generate(name.trim_start_matches('_'))?;
        if let Some(id) = self.request.variable("vaultid") {
            let is_valid = id
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
            if !is_valid {
                let message = format!("`{}` cannot be the id of a vault", id.escape_debug());
                let help = "use letters, digits, `_`, `-` and `.`".to_owned();
                return Err(Failure::new(FailureKind::Usage, message, Some(help)));
            }
            id.clone_into(&mut vault.id);
        }
        if let Some(password) = self.request.variable("VAULT_PASSWORD") {
            password.clone_into(&mut vault.password);
        }
        Ok(vault)
    }

    /// Renders the files of a project.
    pub(super) fn project_files(
        &self,
        project: &ProjectFiles<'_>,
    ) -> Result<Vec<NewFile>, Failure> {
        let mut files = render_project(&self.skeleton, project, &self.variables)?;
        if let Some(vault) = project.vault {
            files.extend(encrypted_copies(&files, vault)?);
        }
        Ok(files)
    }

    /// Builds the repository of an ensemble with the files that accompany the manifest.
    pub(super) fn ensemble_repository(
        &self,
        folder: &Path,
        has_vault: bool,
        policy: Option<NewFile>,
    ) -> Result<(NewRepository, Vec<NewFile>), Failure> {
        let repository = NewRepository::create(folder, &[], &self.skeleton)?;
        let vault = if has_vault && policy.is_none() {
            Some(self.vault(folder)?)
        } else {
            None
        };
        let mut files = repository.files.clone();
        let mut rest = self.project_files(&ProjectFiles {
            vault: vault.as_ref(),
            default_environment: self.request.environment.as_deref(),
            is_of_ensemble: true,
            ..ProjectFiles::default()
        })?;
        rest.extend(policy);
        write_files(folder, &rest)?;
        files.extend(rest);
        Ok((repository, files))
    }
}

/// Returns the encrypted copies of the files in `secrets`, which are committed.
fn encrypted_copies(files: &[NewFile], vault: &VaultPassword) -> Result<Vec<NewFile>, Failure> {
    let mut copies = Vec::new();
    for file in files {
        let Ok(name) = file.path.strip_prefix("secrets") else {
            continue;
        };
        let payload = secret::payload_of(&file.path, file.text.as_bytes());
        let text = secret::seal(&payload, &vault.id, &vault.password);
        let text = text.map_err(|error| {
            let message = format!("random bytes are not available: {error}");
            Failure::new(FailureKind::Refused, message, None)
        })?;
        copies.push(NewFile::encrypted(&Path::new(".secrets").join(name), text));
    }
    Ok(copies)
}

/// Finds a skeleton: a built-in one, one in the folder `skeletons` of the home project, any folder, or a
/// repository.
fn find_skeleton(
    request: &InitRequest,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<Skeleton, Failure> {
    if let Some(skeleton) = Skeleton::built_in(name) {
        return Ok(skeleton);
    }
    if let (Some((home, _)), true) = (home_of(request)?, is_plain_name(name)) {
        let own = home.join(SKELETONS_FOLDER).join(name);
        if fs::is_dir(&own) {
            return Ok(Skeleton::read(&fs::canonicalize(&own)?)?);
        }
    }
    let folder = super::target::absolute(name)?;
    if fs::is_dir(&folder) {
        return Ok(Skeleton::read(&folder)?);
    }
    if is_git_address(name) {
        return fetch_skeleton(name, notes);
    }
    Err(Skeleton::unknown(name).into())
}

/// Reads the skeleton in a repository: `URL#REVISION:FOLDER`. The clone is temporary.
fn fetch_skeleton(address: &str, notes: &mut Vec<String>) -> Result<Skeleton, Failure> {
    let url = SourceUrl::parse(address);
    let temporary = fs::TemporaryDir::create_in(&env::temporary_dir(), "unfurl-skeleton-")?;
    let clone = temporary.path().join("clone");
    clone_from_address(&url, &clone, notes)?;
    let folder = fs::absolute(Path::new(&url.path), &clone);
    if !folder.starts_with(&clone) || !fs::is_dir(&folder) {
        let message = format!("the repository has no folder `{}`", url.path);
        let help = "name a folder of the repository after `#:`".to_owned();
        return Err(Failure::new(FailureKind::Refused, message, Some(help)));
    }
    Ok(Skeleton::read(&folder)?)
}

fn is_plain_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    )
}
