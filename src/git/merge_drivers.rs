//! Tells git how records are merged, in this clone alone: no tracked file changes.

use super::Error;
use super::command::GitCommand;
use super::repository::Repository;

/// A program that merges files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDriver<'a> {
    /// Its name in rules.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// The command that git runs.
    pub command: &'a str,
}

/// A way to merge files, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRule<'a> {
    /// The pattern of the files.
    pub pattern: &'a str,
    /// A path that it matches.
    pub probe: &'a str,
    /// The name of the driver.
    pub driver: &'a str,
}

impl Repository {
    /// Defines a merge driver and says which files are merged how, unless that is said already.
    pub fn ensure_merge_rules(
        &self,
        driver: &MergeDriver<'_>,
        rules: &[MergeRule<'_>],
    ) -> Result<(), Error> {
        let failed = || self.failed("write its configuration");
        let config = self.inner.config().map_err(failed())?;
        let section = format!("merge.{}", driver.name);
        let key = format!("{section}.driver");
        if config.get_string(&key).ok().as_deref() != Some(driver.command) {
            let mut own = config
                .open_level(git2::ConfigLevel::Local)
                .map_err(failed())?;
            own.set_str(&format!("{section}.name"), driver.description)
                .map_err(failed())?;
            own.set_str(&key, driver.command).map_err(failed())?;
        }
        let missing = rules.iter().filter(|rule| !self.has_merge_rule(rule));
        let lines = missing.map(|rule| format!("{} merge={}", rule.pattern, rule.driver));
        self.append_to_info_file("attributes", &lines.collect::<Vec<_>>())?;
        Ok(())
    }

    fn has_merge_rule(&self, rule: &MergeRule<'_>) -> bool {
        let flags = git2::AttrCheckFlags::FILE_THEN_INDEX;
        let path = std::path::Path::new(rule.probe);
        let value = self.inner.get_attr_bytes(path, "merge", flags);
        value.is_ok_and(|value| value == Some(rule.driver.as_bytes()))
    }

    /// Runs the git program for a person: any words, any exit code, output as it is.
    pub fn run_git(
        &self,
        words: &[String],
        limit: std::time::Duration,
    ) -> Result<crate::system::process::Output, Error> {
        GitCommand::new(self.root(), words.iter().cloned())
            .time_limit(limit)
            .run()
    }
}
