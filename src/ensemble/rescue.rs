//! Rescue files: a job's record that could not be saved is stored completely in one file, until `unfurl
//! recover` applies it.
//!
//! [`RescueFile::write`] puts it beside the manifest or in the first other folder that is writable.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use super::record::Record;
use crate::name::ChangeId;
use crate::system::env;
use crate::system::fs::{self, Beneath};
use crate::value::{Value, canonical_sha256};
use crate::yaml;

/// The end of the name of a rescue file.
const EXTENSION: &str = ".rescue";
/// The version of the file format that this program writes.
const FORMAT_VERSION: u32 = 1;

/// The record of one job in a separate file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RescueFile {
    /// The version of the file format.
    #[serde(rename = "form")]
    format_version: u32,
    /// The absolute path of the manifest.
    pub manifest: PathBuf,
    /// The digest of the manifest's text at the start of the job.
    #[serde(rename = "text")]
    manifest_digest: String,
    /// The last recorded job at the start of this job.
    pub previous: Option<String>,
    pub job: String,
    files: Vec<(String, String)>,
    lines: String,
    /// Manifest sections with their new values as YAML.
    sections: Vec<(String, String)>,
}

/// An error while reading a rescue file.
#[derive(Debug, thiserror::Error)]
pub enum RescueError {
    #[error(transparent)]
    File(#[from] fs::Error),
    /// The file is not a rescue file, or a later version wrote it.
    #[error("`{}` is not a valid rescue file: {why}", path.display())]
    Malformed { path: PathBuf, why: String },
}

/// An error in the order of jobs: a record can only follow the job that was last when its own job started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordOrderError {
    /// A later job is already recorded.
    #[error("a later job, {last}, has been recorded since job {job}")]
    Later { job: String, last: String },
    /// The recorded last job is not the one that was last when this job started.
    #[error("job {job} must follow job {seen}, but the last recorded job is {last}")]
    NotNext {
        job: String,
        /// The job that was last when this job started.
        seen: String,
        /// The job that is last now.
        last: String,
    },
}

impl RescueFile {
    /// Checks that the record can follow the last recorded job.
    ///
    /// # Errors
    ///
    /// Another job was last when this job started.
    pub fn follows(&self, last: Option<&str>) -> Result<(), RecordOrderError> {
        let previous = self.previous.as_deref();
        if last == previous || last == Some(&*self.job) {
            return Ok(());
        }
        let job = self.job.clone();
        let is_later = last > Some(&*self.job);
        let last = last.unwrap_or("none").to_owned();
        Err(if is_later {
            RecordOrderError::Later { job, last }
        } else {
            let seen = previous.unwrap_or("none").to_owned();
            RecordOrderError::NotNext { job, seen, last }
        })
    }

    /// Creates the rescue data of a record that cannot be saved.
    pub fn of(record: &Record, manifest: &Manifest, previous: Option<String>) -> Self {
        let section = |(name, value): &(String, Value)| {
            (name.clone(), yaml::emit(&manifest.sealed(value), 0))
        };
        Self {
            format_version: FORMAT_VERSION,
            manifest: absolute(manifest.path()),
            manifest_digest: sha256(manifest.text()),
            previous,
            job: record.job.to_string(),
            files: record.files.clone(),
            lines: record.lines.clone(),
            sections: record.sections.iter().map(section).collect(),
        }
    }

    /// Writes the file to the first writable candidate folder and returns its path.
    pub fn write(&self) -> Result<PathBuf, fs::Error> {
        let text = serde_json::to_vec_pretty(self)
            .map_err(std::io::Error::other)
            .map_err(|source| fs::Error::new(fs::FileAction::Write, &self.manifest, source))?;
        let mut first = None;
        for folder in candidate_folders(&self.manifest) {
            let name = self.file_name();
            // The record contains the output of tasks, so other users must not read it. In a folder that others
            // can write, the name may be a link that they made.
            let written = Beneath::open(&folder).and_then(|it| {
                it.write_atomic(Path::new(&name), &text, Some(fs::SECRET_MODE))?;
                Ok(it.path().join(&name))
            });
            match written {
                Ok(path) => return Ok(path),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| {
            let source = std::io::Error::other("no folder is writable");
            fs::Error::new(fs::FileAction::Write, &self.manifest, source)
        }))
    }

    fn file_name(&self) -> String {
        let name = self.manifest.file_name().unwrap_or_default();
        format!("{}.{}{EXTENSION}", name.to_string_lossy(), self.job)
    }

    pub fn read(path: &Path) -> Result<Self, RescueError> {
        let bytes = fs::read(path)?;
        let form = |why: String| RescueError::Malformed {
            path: path.to_owned(),
            why,
        };
        let rescue: Self =
            serde_json::from_slice(&bytes).map_err(|error| form(error.to_string()))?;
        if rescue.format_version != FORMAT_VERSION {
            return Err(form(format!(
                "it has format version {}, but this program supports version {FORMAT_VERSION}",
                rescue.format_version
            )));
        }
        Ok(rescue)
    }

    /// Lists the rescue files of an ensemble in all candidate folders, oldest job first.
    ///
    /// Files of other users are skipped, because the temporary folder is shared.
    pub fn list_for(manifest: &Path) -> Vec<(PathBuf, Self)> {
        let manifest = absolute(manifest);
        let mut found: Vec<(PathBuf, Self)> = Vec::new();
        for folder in candidate_folders(&manifest) {
            for entry in fs::list(&folder).unwrap_or_default() {
                let is_file = entry.kind == fs::EntryKind::File;
                let named = entry.path.to_string_lossy().ends_with(EXTENSION);
                if !is_file || !named || !fs::is_own(&entry.path) {
                    continue;
                }
                if let Ok(rescue) = Self::read(&entry.path)
                    && rescue.manifest == manifest
                    && !found.iter().any(|(path, _)| *path == entry.path)
                {
                    found.push((entry.path, rescue));
                }
            }
        }
        found.sort_by(|one, other| one.1.job.cmp(&other.1.job));
        found
    }

    /// Whether the file belongs to this ensemble: the path is equal, or the moved manifest is unchanged since
    /// the job started.
    pub fn is_of(&self, manifest: &Manifest) -> bool {
        self.manifest == absolute(manifest.path())
            || self.manifest_digest == sha256(manifest.text())
    }

    /// Returns the record in the file. `path` is used in errors.
    ///
    /// # Errors
    ///
    /// The content is damaged, or a file path leaves the ensemble's folder.
    pub fn record(&self, path: &Path) -> Result<Record, RescueError> {
        let form = |why: String| RescueError::Malformed {
            path: path.to_owned(),
            why,
        };
        let section = |(name, text): &(String, String)| {
            let node = yaml::parse_text(yaml::Schema::Core, text);
            let node = node.map_err(|_| form(format!("its section `{name}` cannot be read")))?;
            Ok((name.clone(), node.to_value()))
        };
        for (file, _) in &self.files {
            if !fs::is_within(Path::new(file)) {
                return Err(form(format!(
                    "`{file}` is outside of the ensemble's folder"
                )));
            }
        }
        Ok(Record {
            job: ChangeId::parse(&self.job).map_err(|error| form(error.to_string()))?,
            files: self.files.clone(),
            lines: self.lines.clone(),
            sections: self
                .sections
                .iter()
                .map(section)
                .collect::<Result<_, RescueError>>()?,
            copy: None,
        })
    }
}

impl Record {
    /// Whether the complete record is already saved.
    pub fn is_saved(&self, manifest: &Manifest) -> bool {
        let Ok(folder) = Beneath::open(manifest.base_dir()) else {
            return false;
        };
        let same = |(path, text): &(String, String)| {
            let read = folder.read(Path::new(path), fs::MAX_READ_BYTES);
            read.is_ok_and(|bytes| bytes == text.as_bytes())
        };
        let lines = folder.read(Path::new("jobs.tsv"), fs::MAX_READ_BYTES);
        let lines = String::from_utf8(lines.unwrap_or_default()).unwrap_or_default();
        let there: std::collections::HashSet<&str> = lines.lines().collect();
        self.files.iter().all(same)
            && self.lines.lines().all(|line| there.contains(line))
            && manifest
                .with_sections(&self.sections)
                .is_ok_and(|text| text == manifest.text())
    }
}

/// Returns the folders where a record may be rescued to, the best first.
fn candidate_folders(manifest: &Path) -> Vec<PathBuf> {
    let env = env::Env::of_this_process();
    let own = env.non_empty("UNFURL_TMPDIR").map(PathBuf::from);
    let home = env.non_empty("HOME").map(PathBuf::from);
    let beside = manifest.parent().map(Path::to_path_buf);
    let places = [beside, own, Some(env::temporary_dir()), home];
    let mut distinct: Vec<PathBuf> = Vec::new();
    for place in places.into_iter().flatten() {
        if !distinct.contains(&place) {
            distinct.push(place);
        }
    }
    distinct
}

/// Returns the absolute path of a manifest. A task may have put a link in its place, which is not followed.
fn absolute(manifest: &Path) -> PathBuf {
    let real = fs::canonicalize(fs::parent_of(manifest)).ok();
    real.zip(manifest.file_name())
        .map_or_else(|| manifest.to_owned(), |(folder, name)| folder.join(name))
}

fn sha256(text: &str) -> String {
    canonical_sha256(&Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_follows_the_one_that_its_job_saw() {
        let rescue = RescueFile {
            format_version: FORMAT_VERSION,
            manifest: PathBuf::new(),
            manifest_digest: String::new(),
            previous: Some("A1".to_owned()),
            job: "A2".to_owned(),
            files: Vec::new(),
            lines: String::new(),
            sections: Vec::new(),
        };
        assert_eq!(rescue.follows(Some("A1")), Ok(()));
        assert_eq!(rescue.follows(Some("A2")), Ok(()));
        let refusal = |last: Option<&str>| rescue.follows(last).unwrap_err().to_string();
        assert_eq!(
            refusal(Some("A3")),
            "a later job, A3, has been recorded since job A2"
        );
        assert_eq!(
            refusal(None),
            "job A2 must follow job A1, but the last recorded job is none"
        );
    }
}
