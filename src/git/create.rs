//! Creates repositories, without the git program.

use std::path::{Path, PathBuf};

use super::Error;
use super::repository::Repository;
use crate::system::fs;

/// The tag of the first commit, which Unfurl looks up to tell repositories apart.
const FIRST_COMMIT_TAG: &str = "INITIAL";

impl Repository {
    /// Creates an empty repository in an existing folder. The name of its branch is the user's `init.defaultBranch`.
    ///
    /// `excluded` are patterns for files that only this clone leaves out.
    pub fn create(folder: &Path, excluded: &[String]) -> Result<Self, Error> {
        let mut options = git2::RepositoryInitOptions::new();
        options
            .no_reinit(true)
            .external_template(false)
            .mkdir(false);
        let made = git2::Repository::init_opts(folder, &options);
        let made = made.map_err(|error| Error::failed("create a repository", folder, &error))?;
        let text = "# Patterns of files that only this clone leaves out.\n\n".to_owned();
        let lines: Vec<&str> = excluded
            .iter()
            .flat_map(|line| [line.as_str(), "\n"])
            .collect();
        fs::write_plain(
            &made.path().join("info/exclude"),
            (text + &lines.concat()).as_bytes(),
            None,
        )?;
        drop(made);
        Self::discover(folder)?.ok_or_else(|| {
            Error::refused(
                "create a repository",
                folder,
                "it is not found after its creation",
            )
        })
    }

    /// Returns the file with patterns for this clone.
    pub fn exclude_file(&self) -> PathBuf {
        self.inner.commondir().join("info/exclude")
    }

    /// Declares the repository in a folder, relative to the root, as a submodule. Nothing is committed.
    ///
    /// Its URL is relative, so that a clone of this repository finds it.
    pub fn declare_submodule(&self, folder: &Path) -> Result<(), Error> {
        let failed = || self.failed("declare a submodule");
        let name = folder.display().to_string();
        let key = |variable: &str| format!("submodule.{name}.{variable}");
        let url = format!("./{name}");
        let file = self.root().join(".gitmodules");
        fs::write_plain(&file, b"", None)?;
        let set = |config: &mut git2::Config, pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .try_for_each(|(variable, value)| config.set_str(&key(variable), value))
        };
        let mut modules = git2::Config::open(&file).map_err(failed())?;
        set(&mut modules, &[("path", &name), ("url", &url)]).map_err(failed())?;
        let path = self.inner.path().join("config");
        let mut config = git2::Config::open(&path).map_err(failed())?;
        set(&mut config, &[("active", "true")]).map_err(failed())
    }

    /// Marks the first commit with the tag that Unfurl looks up.
    pub fn tag_first_commit(&self) -> Result<(), Error> {
        let Some(tip) = self.tip()? else {
            return Ok(());
        };
        let tagged = self
            .inner
            .tag_lightweight(FIRST_COMMIT_TAG, tip.as_object(), false);
        tagged
            .map_err(self.failed("tag the first commit"))
            .map(drop)
    }
}
