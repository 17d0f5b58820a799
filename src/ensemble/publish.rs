//! Saves a job's record to disk. New files are written, synced and renamed; `ensemble.yaml` is written last,
//! because it makes the record valid.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::own_files::open_folder;
use super::record::Record;
use crate::name::ChangeId;
use crate::system::fs::{self, Beneath, Replacement};
use crate::value::Value;
use crate::yaml;

/// An error that prevents a job's record from being saved.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    #[error(transparent)]
    File(#[from] fs::Error),
    /// The sections cannot be inserted into the manifest's text.
    #[error("the record cannot be inserted into `{}`: {source}", path.display())]
    Patch {
        path: PathBuf,
        source: yaml::PatchError,
    },
    /// The manifest changed on disk while the job ran, and the record does not fit into the new text.
    #[error("`{}` was edited while the job ran, and the record cannot be inserted into the new text; it is saved in `{}`", path.display(), kept.display())]
    Changed {
        path: PathBuf,
        /// The path of the file with the new text.
        kept: PathBuf,
    },
    /// Another program saved the manifest at the moment when the record was written.
    #[error("another program saved `{}` at the same moment; its version is in place, and the record is not", path.display())]
    Overtaken { path: PathBuf },
}

impl Record {
    /// Saves the record. Saving again after a crash in the middle replaces the first attempt, so that no line
    /// is duplicated.
    pub(super) fn publish(&self, manifest: &Manifest) -> Result<(), PublishError> {
        let folder = open_folder(manifest.path())?;
        for (path, text) in &self.files {
            write_file(&folder, Path::new(path), text)?;
        }
        if !self.lines.is_empty() {
            add_lines(&folder, &self.lines, self.job)?;
        }
        save(manifest, &folder, &self.sections, self.copy.as_deref())
    }
}

/// Replaces a file in the ensemble's folder atomically. Its own folder is created if needed.
fn write_file(folder: &Beneath, path: &Path, text: &str) -> Result<(), fs::Error> {
    if let Some(parent) = path.parent() {
        folder.create_dir_all(parent)?;
    }
    folder.write_atomic(path, text.as_bytes(), None)
}

/// Adds a job's lines to `jobs.tsv`. Completes a last line that a crash left without a line end, and replaces
/// lines of the same job, which an interrupted attempt wrote.
fn add_lines(folder: &Beneath, lines: &str, job: ChangeId) -> Result<(), PublishError> {
    let path = Path::new("jobs.tsv");
    let old = match folder.read(path, fs::MAX_READ_BYTES) {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let ids: HashSet<&[u8]> = lines.lines().map(id_of).collect();
    let prefix = job.prefix().as_bytes();
    let ours = |line: &[u8]| match line.strip_suffix(b"\n") {
        Some(whole) => whole.starts_with(prefix) || ids.contains(id_of_bytes(whole)),
        // The file may end in the middle of a line, even within the id.
        None => {
            ids.contains(id_of_bytes(line))
                || lines
                    .lines()
                    .any(|whole| whole.as_bytes().starts_with(line))
        }
    };
    if old.split_inclusive(|byte| *byte == b'\n').any(ours) {
        let kept = old.split_inclusive(|byte| *byte == b'\n');
        let mut text: Vec<u8> = kept.filter(|line| !ours(line)).flatten().copied().collect();
        end_last_line(&mut text);
        text.extend_from_slice(lines.as_bytes());
        folder.write_atomic(path, &text, None)?;
        return Ok(());
    }
    let unfinished = old.last().is_some_and(|byte| *byte != b'\n');
    let lead = if unfinished { "\n" } else { "" };
    folder.append_durable(path, format!("{lead}{lines}").as_bytes())?;
    Ok(())
}

/// Returns the id at the beginning of a line.
fn id_of(line: &str) -> &[u8] {
    id_of_bytes(line.as_bytes())
}

fn id_of_bytes(line: &[u8]) -> &[u8] {
    let end = line.iter().position(|byte| *byte == b'\t');
    &line[..end.unwrap_or(line.len())]
}

fn end_last_line(text: &mut Vec<u8>) {
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
}

/// Writes new section values into the manifest; all other bytes stay unchanged.
///
/// A version that another program saves between the comparison and the replacement stays in place. File systems
/// that cannot exchange files atomically (`RENAME_EXCHANGE`) replace such a version.
fn save(
    manifest: &Manifest,
    folder: &Beneath,
    sections: &[(String, Value)],
    copy: Option<&str>,
) -> Result<(), PublishError> {
    let path = manifest.path();
    let text = manifest
        .with_sections(sections)
        .map_err(|source| PublishError::Patch {
            path: path.to_path_buf(),
            source,
        })?;
    if let Some(copy) = copy {
        return Ok(write_file(folder, Path::new(copy), &text)?);
    }
    if text == manifest.text() {
        return Ok(());
    }
    let now = fs::read_to_string(path)?;
    if now != manifest.text() {
        // The user edited the manifest while the job ran: insert the record into the edited text.
        if let Some(text) = manifest.with_sections_in(&now, sections) {
            return replace(folder, path, &text, &now);
        }
        let kept = path.with_extension("yaml.rescued");
        write_file(folder, kept.file_name().unwrap_or_default().as_ref(), &text)?;
        return Err(PublishError::Changed {
            path: path.to_path_buf(),
            kept,
        });
    }
    replace(folder, path, &text, &now)
}

/// Replaces the manifest, unless its text is no longer the one that was compared.
fn replace(folder: &Beneath, path: &Path, text: &str, compared: &str) -> Result<(), PublishError> {
    let name = Path::new(path.file_name().unwrap_or_default());
    match folder.replace_if_unchanged(name, text.as_bytes(), compared.as_bytes())? {
        Replacement::Done => Ok(()),
        Replacement::Overtaken => Err(PublishError::Overtaken {
            path: path.to_path_buf(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str =
        "A6BL7ntS0000\tstatus=ok\nA6BL7ntS0001\ttarget=::a\nA6BL7ntT0000\ttarget=::b\n";

    /// Returns the content of `jobs.tsv` after a job's lines were added to `old`.
    fn after(old: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.tsv");
        fs::write_plain(&path, old.as_bytes(), None).unwrap();
        let folder = Beneath::open(folder.path()).unwrap();
        add_lines(&folder, JOB, ChangeId::parse("A6BL7ntS0000").unwrap()).unwrap();
        fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn what_a_crash_left_of_a_jobs_lines_is_replaced_wherever_it_was_cut_off() {
        let before = "A6BL7ntR0000\tstatus=ok\n";
        for cut in 0..=JOB.len() {
            let old = format!("{before}{}", &JOB[..cut]);
            assert_eq!(after(&old), format!("{before}{JOB}"), "{old}");
        }
    }

    #[test]
    fn a_line_of_another_job_without_its_end_is_ended() {
        assert_eq!(
            after("A6BL7ntR0000\tsta"),
            format!("A6BL7ntR0000\tsta\n{JOB}")
        );
    }
}
