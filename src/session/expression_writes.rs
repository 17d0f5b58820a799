//! The places at which expressions may write, and the writes themselves.
//!
//! Trust and permissions change nothing here: a task that must write elsewhere does so with its own command.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::drift::DRIFT_FILE;
use crate::ensemble::JobTemporaryFolder;
use crate::expr::{Effect, EffectError, EffectOutput};
use crate::project::{MANIFEST, PROJECT_FILE, PROJECT_FOLDER};
use crate::system::fs::{self, Beneath};

/// The folders of an ensemble with its records, into which only jobs themselves write.
const RECORD_FOLDERS: [&str; 3] = ["changes", "failed", "jobs"];

/// The files of an ensemble that describe or record it. Names that add an extension to one of these, as those
/// of locks do, are protected too.
const RECORD_FILES: [&str; 5] = [MANIFEST, PROJECT_FILE, "jobs.tsv", DRIFT_FILE, "digest.key"];

/// Writes the files of expressions, in the folder of the ensemble and in the temporary folder of the job.
#[derive(Debug, Clone)]
pub(crate) struct ExpressionWrites {
    base: PathBuf,
    /// The file name of the manifest.
    manifest: String,
    temporary: Arc<JobTemporaryFolder>,
}

/// A place at which expressions may write.
enum WritePlace {
    /// A path below the ensemble's folder.
    Ensemble(PathBuf),
    /// A path below the job's temporary folder.
    Temporary(PathBuf),
    /// A folder that exists whenever the ensemble exists.
    Existing,
}

impl ExpressionWrites {
    pub(crate) fn new(manifest: &Path, temporary: Arc<JobTemporaryFolder>) -> Self {
        let name = manifest.file_name().unwrap_or_default().to_string_lossy();
        Self {
            base: manifest.parent().unwrap_or(Path::new(".")).to_owned(),
            manifest: name.to_lowercase(),
            temporary,
        }
    }

    /// Returns the path of the temporary folder, which may not exist yet.
    pub(crate) fn temporary_folder(&self) -> &Path {
        self.temporary.path()
    }

    /// Returns an error if expressions must not write to the path of the effect.
    pub(crate) fn check(&self, effect: &Effect) -> Result<(), EffectError> {
        self.place(effect).map(drop)
    }

    /// Writes a file or creates a folder. Symbolic links are not followed.
    pub(crate) fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError> {
        let (folder, path) = match self.place(effect)? {
            WritePlace::Existing => return Ok(EffectOutput::default()),
            WritePlace::Ensemble(path) => (Beneath::open(&self.base), path),
            WritePlace::Temporary(path) => (self.temporary.open(), path),
        };
        let folder = folder.map_err(EffectError::of)?;
        let written = match effect {
            _ if path.as_os_str().is_empty() => Ok(()),
            Effect::WriteFile {
                contents,
                sensitive,
                ..
            } => folder.write_plain(&path, contents, sensitive.then_some(0o600)),
            _ => folder.create_dir_all(&path),
        };
        let written = written.map(|()| EffectOutput::default());
        written.map_err(EffectError::of)
    }

    fn place(&self, effect: &Effect) -> Result<WritePlace, EffectError> {
        let is_folder = matches!(effect, Effect::MakeDir { .. });
        let path = effect.written_path().unwrap_or(Path::new(""));
        let path = fs::absolute(path, &self.base);
        if let Ok(inside) = path.strip_prefix(self.temporary.path())
            && (is_folder || !inside.as_os_str().is_empty())
        {
            return Ok(WritePlace::Temporary(inside.to_owned()));
        }
        if is_folder && self.base.starts_with(&path) {
            return Ok(WritePlace::Existing);
        }
        let inside = path.strip_prefix(&self.base).map(Path::to_owned);
        let inside = inside.or_else(|_| {
            let real = fs::canonicalize(&self.base).unwrap_or_else(|_| self.base.clone());
            path.strip_prefix(real).map(Path::to_owned)
        });
        let reason = match &inside {
            Err(_) => Some("it lies outside of the ensemble"),
            Ok(inside) => self.protection(inside),
        };
        match (reason, inside) {
            (None, Ok(inside)) => Ok(WritePlace::Ensemble(inside)),
            (reason, _) => Err(EffectError::Misplaced {
                reason: self.explain(reason.unwrap_or_default()),
                path,
            }),
        }
    }

    fn explain(&self, reason: &str) -> String {
        format!(
            "{reason}; allowed are files below `{}`, except its records and those of git, and the \
             temporary folder of the job (`tempfile`, or `get_dir` with `tmp`)",
            self.base.display()
        )
    }

    /// Returns the reason why a path below the ensemble's folder is protected. None if it is not.
    fn protection(&self, inside: &Path) -> Option<&'static str> {
        let mut folder = self.base.clone();
        let parts: Vec<_> = inside.components().collect();
        for (place, part) in parts.iter().enumerate() {
            let Component::Normal(name) = part else {
                return Some("it is no file below the ensemble");
            };
            let name = name.to_string_lossy().to_lowercase();
            if name.starts_with(".git") {
                return Some("it belongs to git");
            }
            if name == PROJECT_FOLDER || (place == 0 && RECORD_FOLDERS.contains(&&*name)) {
                return Some("it is part of the project's records");
            }
            let mut protected = RECORD_FILES.iter().copied().chain([&*self.manifest]);
            if protected.any(|file| is_or_extends(&name, file)) {
                return Some("it is a file of the ensemble or project itself");
            }
            folder.push(part);
            if place + 1 < parts.len() && fs::exists(&folder.join(MANIFEST)) {
                return Some("it lies in another ensemble");
            }
        }
        parts.is_empty().then_some("it is a folder")
    }
}

/// Whether a name is that of a file, or that of a file beside it such as its lock.
fn is_or_extends(name: &str, file: &str) -> bool {
    let rest = name.strip_prefix(file);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ensemble with links, and files beside it.
    struct EnsembleFixture {
        _place: tempfile::TempDir,
        root: PathBuf,
        temporary: Arc<JobTemporaryFolder>,
        writes: ExpressionWrites,
    }

    impl EnsembleFixture {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().canonicalize().unwrap();
            let base = root.join("e");
            for file in ["e/ensemble.yaml", "e/other/ensemble.yaml", "out/x"] {
                fs::write_plain(&root.join(file), b"old", None).unwrap();
            }
            std::os::unix::fs::symlink("../out", base.join("link")).unwrap();
            std::os::unix::fs::symlink("../out/x", base.join("file")).unwrap();
            let temporary = Arc::new(JobTemporaryFolder::without_ensemble());
            let writes = ExpressionWrites::new(&base.join("ensemble.yaml"), Arc::clone(&temporary));
            Self {
                _place: place,
                root,
                temporary,
                writes,
            }
        }

        fn outcome(&self, path: &Path) -> String {
            let effect = Effect::WriteFile {
                path: path.to_owned(),
                contents: b"new".to_vec(),
                sensitive: false,
            };
            let root = self.root.to_string_lossy();
            match self.writes.perform(&effect) {
                Ok(_) => "written".to_owned(),
                Err(error) => error.to_string().replace(&*root, ""),
            }
        }

        /// A line for each path with the outcome of a write.
        fn table(&self, paths: &[&str]) -> String {
            let lines = paths.iter().map(|path| {
                let outcome = self.outcome(Path::new(path));
                let outcome = outcome.split("; allowed are").next().unwrap_or_default();
                format!("{path} => {outcome}")
            });
            lines.collect::<Vec<_>>().join("\n")
        }
    }

    #[test]
    fn writes_stay_below_the_ensemble() {
        let ensemble = EnsembleFixture::new();
        let paths = [
            "a.txt",
            "planned/x/y",
            "secrets/db/key",
            "a/../b",
            "../a.txt",
            "../out/x",
            "/etc/x",
            "/dev/null",
        ];
        insta::assert_snapshot!(ensemble.table(&paths), @r"
        a.txt => written
        planned/x/y => written
        secrets/db/key => written
        a/../b => written
        ../a.txt => expressions must not write to `/a.txt`: it lies outside of the ensemble
        ../out/x => expressions must not write to `/out/x`: it lies outside of the ensemble
        /etc/x => expressions must not write to `/etc/x`: it lies outside of the ensemble
        /dev/null => expressions must not write to `/dev/null`: it lies outside of the ensemble
        ");
    }

    #[test]
    fn the_records_of_the_ensemble_are_protected() {
        let ensemble = EnsembleFixture::new();
        let paths = [
            "ensemble.yaml",
            "Ensemble.YAML.lock",
            "unfurl.yaml",
            "jobs.tsv",
            "drift.tsv",
            "jobs/x",
            "changes/x",
            "x/../jobs/../jobs/x",
            "failed/x",
            ".git/hooks/post-checkout",
            "a/.GIT/x",
            ".gitattributes",
            "sub/.gitmodules",
            ".unfurl/unfurl.yaml",
            "other/x",
            "other/jobs/x",
        ];
        insta::assert_snapshot!(ensemble.table(&paths), @r"
        ensemble.yaml => expressions must not write to `/e/ensemble.yaml`: it is a file of the ensemble or project itself
        Ensemble.YAML.lock => expressions must not write to `/e/Ensemble.YAML.lock`: it is a file of the ensemble or project itself
        unfurl.yaml => expressions must not write to `/e/unfurl.yaml`: it is a file of the ensemble or project itself
        jobs.tsv => expressions must not write to `/e/jobs.tsv`: it is a file of the ensemble or project itself
        drift.tsv => expressions must not write to `/e/drift.tsv`: it is a file of the ensemble or project itself
        jobs/x => expressions must not write to `/e/jobs/x`: it is part of the project's records
        changes/x => expressions must not write to `/e/changes/x`: it is part of the project's records
        x/../jobs/../jobs/x => expressions must not write to `/e/jobs/x`: it is part of the project's records
        failed/x => expressions must not write to `/e/failed/x`: it is part of the project's records
        .git/hooks/post-checkout => expressions must not write to `/e/.git/hooks/post-checkout`: it belongs to git
        a/.GIT/x => expressions must not write to `/e/a/.GIT/x`: it belongs to git
        .gitattributes => expressions must not write to `/e/.gitattributes`: it belongs to git
        sub/.gitmodules => expressions must not write to `/e/sub/.gitmodules`: it belongs to git
        .unfurl/unfurl.yaml => expressions must not write to `/e/.unfurl/unfurl.yaml`: it is part of the project's records
        other/x => expressions must not write to `/e/other/x`: it lies in another ensemble
        other/jobs/x => expressions must not write to `/e/other/jobs/x`: it lies in another ensemble
        ");
    }

    #[test]
    fn links_are_not_followed() {
        let ensemble = EnsembleFixture::new();
        let paths = ["link/x", "link", "file", ".", ""];
        insta::assert_snapshot!(ensemble.table(&paths), @r"
        link/x => could not create folder `/e/link`: `/e/link` is a symbolic link to `../out`, and links are not followed there
        link => could not write `/e/link`: `/e/link` is a symbolic link to `../out`, and links are not followed there
        file => could not write `/e/file`: `/e/file` is a symbolic link to `../out/x`, and links are not followed there
        . => expressions must not write to `/e`: it is a folder
         => expressions must not write to `/e`: it is a folder
        ");
        let outside = fs::read_to_string(&ensemble.root.join("out/x"));
        assert_eq!(outside.unwrap(), "old");
    }

    #[test]
    fn the_temporary_folder_is_made_for_its_first_file() {
        let ensemble = EnsembleFixture::new();
        let folder = ensemble.temporary.path().to_owned();
        assert!(!fs::exists(&folder));
        assert_eq!(ensemble.outcome(&folder.join("t")), "written");
        assert!(
            ensemble
                .outcome(&folder.join("../t"))
                .contains("must not write")
        );
    }
}
