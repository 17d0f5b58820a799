//! Installs merge drivers and attribute rules in this clone only (`.git/config`, `.git/info/attributes`),
//! without changing tracked files.

use super::Error;
use super::repository::Repository;
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
