//! Implements `unfurl trust`: grants trust to a folder, revokes it, and lists the trusted folders.

use std::path::{Path, PathBuf};

use super::failure::{Failure, FailureKind};
use crate::git::Repository;
use crate::project::{
    PROJECT_FOLDER, StoreError, TrustReason, TrustRecord, TrustStore, home_project_folder,
    origin_of,
};
use crate::session::{self, SessionOptions, current_dir};
use crate::system::env::Env;
use crate::system::{fs, user};

/// The maximum depth below a trusted folder at which repositories are searched.
const MAX_DEPTH: usize = 4;
/// The maximum number of folders that are searched.
const MAX_FOLDERS: usize = 20_000;

/// The result of granting trust.
#[derive(Debug, Clone)]
pub struct GrantedTrust {
    /// The folders that are trusted now: the given one, and repositories in it of the same origin or of none.
    pub records: Vec<TrustRecord>,
    /// Repositories in the folder that need a grant of their own, with their origins.
    pub others: Vec<(PathBuf, Option<String>)>,
    /// The repository around the folder, if its settings and hooks stay ignored.
    pub outer: Option<PathBuf>,
    /// The git settings that have an effect now.
    pub settings: Vec<String>,
}

/// An entry of the list of trusted folders.
#[derive(Debug, Clone)]
pub struct ListedTrust {
    pub record: TrustRecord,
    /// The reason why the entry has no effect any more.
    pub mismatch: Option<&'static str>,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::File(error) => error.hint(),
            StoreError::Invalid { .. } => {
                Some("delete the file, and trust the folders again".to_owned())
            }
            StoreError::Locked { .. } => Some("try again".to_owned()),
            StoreError::Exposed(_) => {
                Some("make yourself the owner with `chown`, and take the right to write from others with `chmod go-w`".to_owned())
            }
        };
        Self::new(FailureKind::Refused, error, hint)
    }
}

/// Grants trust to a folder; by default, to the current project.
pub fn grant(options: &SessionOptions, folder: Option<&str>) -> Result<GrantedTrust, Failure> {
    let store = store(options)?;
    let folder = real_folder(options, folder)?;
    check_folder(&folder)?;
    let repository = Repository::discover(&folder)?;
    let settings = repository
        .iter()
        .filter(|repository| repository.root().starts_with(&folder))
        .flat_map(Repository::ignored_settings)
        .collect();
    let outer = repository
        .map(|repository| repository.root().to_owned())
        .filter(|root| !root.starts_with(&folder));
    let origin = origin_of(&folder);
    let mut records = vec![record(&folder)?];
    let mut others = Vec::new();
    for nested in nested_repositories(&folder) {
        let nested_origin = origin_of(&nested);
        let owner = fs::identity_of(&nested).map(|found| found.owner).ok();
        let is_own = owner == Some(records[0].owner);
        if is_own && (nested_origin.is_none() || nested_origin == origin) {
            records.push(record(&nested)?);
        } else {
            others.push((nested, nested_origin));
        }
    }
    store.add(records.clone())?;
    Ok(GrantedTrust {
        records,
        others,
        outer,
        settings,
    })
}

/// Revokes trust for a folder and the folders in it. Returns the folders that had trust.
pub fn revoke(options: &SessionOptions, folder: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let store = store(options)?;
    // A folder that does not exist any more can be revoked, too.
    let folder = match (real_folder(options, folder), folder) {
        (Err(_), Some(folder)) => fs::absolute(Path::new(folder), &current_dir()?),
        (found, _) => found?,
    };
    Ok(store.revoke(&folder)?)
}

/// Returns the trusted folders.
pub fn list(options: &SessionOptions) -> Result<Vec<ListedTrust>, Failure> {
    let records = store(options)?.read()?;
    let listed = records.into_iter().map(|record| ListedTrust {
        mismatch: record.mismatch(),
        record,
    });
    Ok(listed.collect())
}

/// Returns the list of the home project.
fn store(options: &SessionOptions) -> Result<TrustStore, Failure> {
    let none = |message: String| {
        let help =
            "create one with `unfurl home --init`; `--allow` permits single effects without one";
        Failure::new(FailureKind::Refused, message, Some(help.to_owned()))
    };
    let Some(home) = &options.home else {
        let message = "there is no home project, which holds the list of trusted folders";
        return Err(none(message.to_owned()));
    };
    let (folder, file) = home_project_folder(home, &current_dir()?);
    if fs::is_file(&file) {
        return Ok(TrustStore::of(&folder));
    }
    Err(none(format!(
        "the home project `{}` does not exist",
        file.display()
    )))
}

/// Returns the folder that the user means, without symbolic links.
fn real_folder(options: &SessionOptions, folder: Option<&str>) -> Result<PathBuf, Failure> {
    let folder = match folder {
        Some(folder) => fs::absolute(Path::new(folder), &current_dir()?),
        None => {
            let found = session::find(options)?;
            let root = found.located.root();
            root.unwrap_or_else(|| found.located.folder()).to_owned()
        }
    };
    let folder = match folder.parent() {
        Some(parent) if folder.ends_with(PROJECT_FOLDER) => parent.to_owned(),
        _ => folder,
    };
    let refused = |error: fs::Error| {
        let hint = error.hint();
        Failure::new(FailureKind::Refused, error, hint)
    };
    let folder = fs::canonicalize(&folder).map_err(refused)?;
    if fs::is_dir(&folder) {
        return Ok(folder);
    }
    let message = format!("`{}` is not a folder", folder.display());
    let help = "name the folder of the project".to_owned();
    Err(Failure::new(FailureKind::Refused, message, Some(help)))
}

/// Refuses folders that hold more than a project, or that other users control.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    let shown = folder.display();
    let refuse = |message: String, help: &str| {
        let help = Some(help.to_owned());
        Err(Failure::new(FailureKind::Refused, message, help))
    };
    let env = Env::of_this_process();
    let homes = env.non_empty("HOME").map(PathBuf::from);
    let mut homes = homes.into_iter().chain(user::home());
    let holds_home = |home: PathBuf| {
        let home = fs::canonicalize(&home).unwrap_or(home);
        home.starts_with(folder)
    };
    if folder.parent().is_none() || homes.any(holds_home) {
        let message = format!("`{shown}` holds more than a project, so it cannot be trusted");
        return refuse(message, "name the folder of the project");
    }
    let owner = fs::identity_of(folder).map_or(0, |found| found.owner);
    let sudo = env
        .non_empty("SUDO_UID")
        .filter(|_| user::effective_id() == 0);
    let sudo = sudo.and_then(|id| id.parse().ok());
    if owner != user::effective_id() && sudo != Some(owner) {
        let owner = user::name_of(owner);
        let message = format!("`{shown}` belongs to {owner}, so it cannot be trusted");
        return refuse(
            message,
            "make a clone or a copy of your own, and trust that",
        );
    }
    if fs::mode_of(folder).is_ok_and(|mode| mode & 0o002 != 0) {
        let message = format!("every user can write `{shown}`, so it cannot be trusted");
        return refuse(message, &format!("run `chmod o-w {shown}`"));
    }
    Ok(())
}

fn record(folder: &Path) -> Result<TrustRecord, Failure> {
    let made = TrustRecord::of(folder, TrustReason::Granted);
    made.map_err(|error| StoreError::File(error).into())
}

/// Returns the repositories below a folder.
fn nested_repositories(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    let mut visited = 0;
    while let Some((here, depth)) = folders.pop() {
        visited += 1;
        let Ok(entries) = fs::list(&here) else {
            continue;
        };
        for entry in entries {
            let is_folder = entry.kind == fs::EntryKind::Folder;
            if entry.path.file_name().is_some_and(|name| name == ".git") {
                found.extend((depth > 0).then(|| here.clone()));
            } else if is_folder && depth < MAX_DEPTH && visited < MAX_FOLDERS {
                folders.push((entry.path, depth + 1));
            }
        }
    }
    found.sort();
    found
}
