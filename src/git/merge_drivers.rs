//! Installs merge drivers and attribute rules in this clone only (`.git/config`, `.git/info/attributes`),
//! without changing tracked files.

use super::Error;
use super::command::GitCommand;
use super::repository::Repository;

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

impl Repository {
    /// Defines a merge driver and adds the rules that are not yet in effect.
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

    /// Runs the git program for the user, with any arguments. Every exit code is a success here.
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
