//! Installs merge drivers and attribute rules in this clone only (`.git/config`, `.git/info/attributes`),
//! without changing tracked files.

use std::path::{Path, PathBuf};

use super::Error;
use super::lock_file::GitLock;
use super::operation::{FOLDER, OperationRecord};
use super::repository::Repository;
use crate::system::fs::{self, Beneath};
use crate::text::without_logins;

/// A merge driver: a program that git calls to merge files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDriver<'a> {
    /// The name used in attribute rules.
    pub name: &'a str,
    pub description: &'a str,
    /// The shell command that git runs.
    pub command: &'a str,
}

/// A rule that assigns a merge driver to files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRule<'a> {
    /// The attribute pattern of the files, as in `.gitattributes`.
    pub pattern: &'a str,
    /// A path that the pattern matches, to check whether the rule is in effect.
    pub probe: &'a str,
    pub driver: &'a str,
}

/// The maximum size of a file with settings.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;

/// Commands of git that contact no remote.
const LOCAL_COMMANDS: &[&str] = &[
    "add",
    "apply",
    "blame",
    "branch",
    "cat-file",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "commit",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "fsck",
    "gc",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "mv",
    "reflog",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "rm",
    "shortlog",
    "show",
    "stash",
    "status",
    "tag",
];

impl Repository {
    /// Defines a merge driver and adds the rules that are not yet in effect. Returns the files that were changed.
    pub fn ensure_merge_rules(
        &self,
        driver: &MergeDriver<'_>,
        rules: &[MergeRule<'_>],
    ) -> Result<Vec<PathBuf>, Error> {
        self.check_git_folder()?;
        self.repair()?;
        let mut changed = Vec::new();
        if self.merge_driver(driver.name).as_deref() != Some(driver.command) {
            let section = format!("merge.{}", driver.name);
            let settings = [
                (format!("{section}.name"), driver.description),
                (format!("{section}.driver"), driver.command),
            ];
            changed.push(self.change_settings(&settings)?);
        }
        if self.ensure_attributes(rules)? {
            changed.push(self.inner.commondir().join("info/attributes"));
        }
        Ok(changed)
    }

    /// Adds the rules that are not yet in effect, in this clone. Returns whether the file was changed.
    pub fn ensure_attributes(&self, rules: &[MergeRule<'_>]) -> Result<bool, Error> {
        let missing = rules.iter().filter(|rule| !self.has_merge_rule(rule));
        let lines = missing.map(|rule| format!("{} merge={}", rule.pattern, rule.driver));
        self.append_to_info_file("attributes", &lines.collect::<Vec<_>>())
    }

    /// Returns the command of a merge driver.
    pub fn merge_driver(&self, name: &str) -> Option<String> {
        let config = self.inner.config().ok()?;
        config.get_string(&format!("merge.{name}.driver")).ok()
    }

    /// Changes settings of this clone, atomically and durably. Returns the changed file.
    fn change_settings(&self, settings: &[(String, &str)]) -> Result<PathBuf, Error> {
        let file = self.inner.commondir().join("config");
        // A trusted repository may have a link here.
        let target = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
        let lock = self.inner.commondir().join("config.lock");
        let operation = self.begin_operation(OperationRecord::new(), &[&lock])?;
        let lock = GitLock::acquire(&lock, self.root())?;
        let new = operation.path("config");
        let mode = fs::mode_of(&target).ok();
        fs::write_plain(&new, &fs::read_within(&target, MAX_SETTINGS_BYTES)?, mode)?;
        let write = || {
            let mut config = git2::Config::open(&new)?;
            for (key, value) in settings {
                config.set_str(key, value)?;
            }
            Ok(())
        };
        write().map_err(self.failed("write its configuration"))?;
        fs::sync_file(&new)?;
        fs::rename(&new, &target)?;
        fs::sync_parent(&target)?;
        lock.release()?;
        Ok(file)
    }

    /// Returns true for the first call with this name in this clone.
    pub fn is_first_time(&self, name: &str) -> bool {
        let done = || {
            let shared = Beneath::open(self.inner.commondir())?;
            let marker = Path::new(FOLDER).join(name);
            if shared.info(&marker)?.is_some() {
                return Ok(false);
            }
            shared.write_plain(&marker, b"", None)?;
            Ok::<_, fs::Error>(true)
        };
        // If the clone cannot be written, the message comes again.
        done().unwrap_or(true)
    }

    fn has_merge_rule(&self, rule: &MergeRule<'_>) -> bool {
        let flags = git2::AttrCheckFlags::FILE_THEN_INDEX;
        let path = Path::new(rule.probe);
        let value = self.inner.get_attr_bytes(path, "merge", flags);
        value.is_ok_and(|value| value == Some(rule.driver.as_bytes()))
    }

    /// Runs the git program for the user, with any arguments. Every exit code is a success here.
    pub fn run_git(
        &self,
        words: &[String],
        limit: std::time::Duration,
    ) -> Result<crate::system::process::Output, Error> {
        let mut words = words.to_vec();
        let shows_differences = [
            "diff",
            "diff-files",
            "diff-index",
            "diff-tree",
            "log",
            "show",
        ];
        if !self.is_trusted
            && words
                .first()
                .is_some_and(|it| shows_differences.contains(&&**it))
        {
            // Programs of the repository that show differences have no neutral value.
            words.splice(1..1, ["--no-ext-diff", "--no-textconv"].map(str::to_owned));
        }
        let is_local = words
            .first()
            .is_some_and(|it| LOCAL_COMMANDS.contains(&&**it));
        let fixed = self.isolation()?.fixed_setting().filter(|_| !is_local);
        if let Some(key) = fixed {
            return Err(Error::UntrustedRedirect {
                path: self.root().to_owned(),
                key: without_logins(key).escape_debug().to_string(),
            });
        }
        self.git(words)?.time_limit(limit).run()
    }
}
