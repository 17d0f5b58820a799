//! Reads `ssh_config` files and the files that they include.
//!
//! [`SshConfig::read`] parses them once; `evaluate` applies them to each host.

use std::path::{Path, PathBuf};

use super::context::LocalUser;
use super::error::{ConfigProblem, Error, RejectedConfig};
use super::glob;
use super::keyword;
use super::line::{ConfigLine, words};
use super::matching::{Criteria, Criterion, CriterionKind};
use super::setting::OptionSetting;
use super::tokens::with_home;
use crate::diagnostic::{SourceId, SourcePosition, Sources, Span};
use crate::host::pattern;
use crate::system::fs;

/// The maximum depth of nested includes.
const MAX_DEPTH: usize = 16;
/// The maximum number of files. Files that include each other twice would otherwise take very long.
const MAX_FILES: usize = 4096;
/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 16 << 20;
const SYSTEM_FILE: &str = "/etc/ssh/ssh_config";

/// The choice of files to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SshConfigFiles {
    /// Reads the user's file `~/.ssh/config`, then the system-wide file. Missing files are skipped.
    #[default]
    Default,
    /// Reads only this file, which must exist.
    Only(PathBuf),
    None,
}

/// The parsed files, which serve any number of hosts.
#[derive(Debug, Clone, Default)]
pub struct SshConfig {
    pub(super) files: Vec<ConfigFile>,
    warnings: Vec<Error>,
    /// The options that have no effect here.
    notes: Vec<Error>,
    sources: Sources,
}

/// The parsed blocks of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct ConfigFile {
    pub(super) blocks: Vec<ConfigBlock>,
}

impl ConfigFile {
    /// Whether the file, or a file that it includes, contains `Match final`.
    ///
    /// OpenSSH then evaluates everything a second time, even if the line is in a block that does
    /// not apply.
    pub(super) fn has_match_final(&self) -> bool {
        let is_final = |criterion: &Criterion| criterion.kind == CriterionKind::Final;
        self.blocks.iter().any(|block| {
            let has_final = match &block.condition {
                BlockCondition::Match(criteria) => criteria.iter().any(is_final),
                BlockCondition::Inherited | BlockCondition::Host(_) => false,
            };
            has_final
                || block.items.iter().any(|item| match item {
                    ConfigItem::Set(_) => false,
                    ConfigItem::Include(included) => included.has_match_final,
                })
        })
    }
}

/// The files that one `Include` line names.
#[derive(Debug, Clone, Default)]
pub(super) struct IncludedFiles {
    pub(super) files: Vec<ConfigFile>,
    /// Whether one of the files contains `Match final`.
    pub(super) has_match_final: bool,
}

/// A block of lines with a common condition.
#[derive(Debug, Clone)]
pub(super) struct ConfigBlock {
    pub(super) condition: BlockCondition,
    pub(super) items: Vec<ConfigItem>,
}

/// The condition under which a block applies.
#[derive(Debug, Clone)]
pub(super) enum BlockCondition {
    /// The block applies whenever the line that includes the file applies.
    Inherited,
    /// The host matches these `Host` patterns.
    Host(Vec<String>),
    /// The criteria of a `Match` line, which must hold together.
    Match(Vec<Criterion>),
}

/// The parsed content of a line within a block.
#[derive(Debug, Clone)]
pub(super) enum ConfigItem {
    Set(OptionSetting),
    Include(IncludedFiles),
}

/// The owner of a file, which decides how relative includes are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigOwner {
    User,
    System,
}

impl SshConfig {
    /// Reads and parses the files.
    ///
    /// Errors are the same as in OpenSSH, with two exceptions that are only warnings: unknown
    /// options, and default files that cannot be read.
    pub fn read(files: &SshConfigFiles, local: &LocalUser) -> Result<Self, RejectedConfig> {
        let mut reader = ConfigReader {
            local,
            config: Self::default(),
            errors: Vec::new(),
            ignored: None,
            count: 0,
        };
        match files {
            SshConfigFiles::None => {}
            SshConfigFiles::Only(path) => reader.read_top_level(path, ConfigOwner::User, false),
            SshConfigFiles::Default => {
                let user = local.home.join(".ssh/config");
                reader.read_top_level(&user, ConfigOwner::User, true);
                reader.read_top_level(Path::new(SYSTEM_FILE), ConfigOwner::System, true);
            }
        }
        let ConfigReader { config, errors, .. } = reader;
        if errors.is_empty() {
            return Ok(config);
        }
        Err(RejectedConfig {
            errors,
            sources: config.sources,
        })
    }

    /// Returns the warnings about the files.
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// Returns the places of options that OpenSSH has and that have no effect here.
    pub fn notes(&self) -> &[Error] {
        &self.notes
    }

    /// Returns the texts of the files, for diagnostics.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }
}

struct ConfigReader<'a> {
    local: &'a LocalUser,
    config: SshConfig,
    errors: Vec<Error>,
    /// The value of `IgnoreUnknown`, a list of patterns.
    ignored: Option<String>,
    count: usize,
}

/// The position of a line, with the context of its file.
#[derive(Clone, Copy)]
struct LineContext<'a> {
    path: &'a Path,
    line: usize,
    span: Span,
    owner: ConfigOwner,
    depth: usize,
}

impl LineContext<'_> {
    fn error(&self, problem: ConfigProblem) -> Error {
        Error {
            problem,
            location: SourcePosition {
                path: self.path.to_path_buf(),
                line: self.line,
                column: 1,
            },
            span: self.span,
        }
    }
}

impl ConfigReader<'_> {
    fn read_top_level(&mut self, path: &Path, owner: ConfigOwner, is_default: bool) {
        if is_default && !fs::exists(path) {
            return;
        }
        let at = LineContext {
            path,
            line: 0,
            span: Span::NONE,
            owner,
            depth: 0,
        };
        match self.file(at, is_default) {
            Ok(file) => self.config.files.push(file),
            Err(error) if is_default && matches!(error.problem, ConfigProblem::Unreadable(_)) => {
                self.config.warnings.push(error);
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Reads a file.
    ///
    /// Problems in lines are collected; an error is returned if the file as a whole cannot be read.
    fn file(&mut self, at: LineContext<'_>, is_checked: bool) -> Result<ConfigFile, Error> {
        self.count += 1;
        let unreadable = |error: fs::Error| at.error(ConfigProblem::Unreadable(error.to_string()));
        if is_checked
            && let Ok(mode) = fs::mode_of(at.path)
            && mode & 0o022 != 0
        {
            return Err(at.error(ConfigProblem::Writable(mode)));
        }
        let bytes = fs::read_within(at.path, MAX_BYTES).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        if let std::borrow::Cow::Owned(_) = text {
            self.config.warnings.push(at.error(ConfigProblem::NotText));
        }
        let source = self.config.sources.add(at.path, text.as_ref(), None);
        Ok(self.lines(&text, source, at))
    }

    fn lines(&mut self, text: &str, source: SourceId, file: LineContext<'_>) -> ConfigFile {
        let mut blocks = vec![ConfigBlock {
            condition: BlockCondition::Inherited,
            items: Vec::new(),
        }];
        let mut start = 0;
        for (number, text) in text.split_inclusive('\n').enumerate() {
            let line = text.trim_end();
            let begin = start + (line.len() - line.trim_start().len());
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let at = LineContext {
                line: number + 1,
                span: Span::new(source, place(begin), place(start + line.len())),
                ..file
            };
            start += text.len();
            match self.line(line, at) {
                Ok(Some(ParsedLine::Block(condition))) => blocks.push(ConfigBlock {
                    condition,
                    items: Vec::new(),
                }),
                Ok(Some(ParsedLine::Item(item))) => {
                    if let Some(block) = blocks.last_mut() {
                        block.items.push(item);
                    }
                }
                Ok(None) => {}
                Err(problem) => self.errors.push(at.error(problem)),
            }
            if self.has_too_many_errors() {
                break;
            }
        }
        ConfigFile { blocks }
    }

    /// Whether to stop, because of an endless include or more than 100 errors.
    fn has_too_many_errors(&self) -> bool {
        let ends = |error: &Error| {
            matches!(
                error.problem,
                ConfigProblem::TooDeep | ConfigProblem::TooMany(_)
            )
        };
        self.errors.iter().rev().take(1).any(ends) || self.errors.len() > 100
    }

    fn line(
        &mut self,
        text: &str,
        at: LineContext<'_>,
    ) -> Result<Option<ParsedLine>, ConfigProblem> {
        let Some(line) = ConfigLine::read(text) else {
            return Ok(None);
        };
        if text.contains('\0') {
            return Err(ConfigProblem::Nul);
        }
        if line.rest.is_empty() {
            return Err(ConfigProblem::NoArgument(line.keyword.to_owned()));
        }
        let keyword = line.keyword.to_ascii_lowercase();
        match keyword.as_str() {
            "host" => {
                return hosts(line)
                    .map(|hosts| Some(ParsedLine::Block(BlockCondition::Host(hosts))));
            }
            "match" => {
                let criteria = Criteria::read(line.rest)?;
                let warnings = criteria.warnings.into_iter();
                let warnings = warnings.map(|problem| at.error(problem));
                self.config.warnings.extend(warnings);
                return Ok(Some(ParsedLine::Block(BlockCondition::Match(criteria.all))));
            }
            "include" => {
                return self.include(line, at).map(|files| {
                    let has_final = files.iter().any(ConfigFile::has_match_final);
                    Some(ParsedLine::Item(ConfigItem::Include(IncludedFiles {
                        files,
                        has_match_final: has_final,
                    })))
                });
            }
            "ignoreunknown" if self.ignored.is_none() => {
                let words = words(line.rest).ok_or(ConfigProblem::Quotes)?;
                self.ignored = words.into_iter().next();
                return Ok(None);
            }
            _ => {}
        }
        if let Some(setting) = OptionSetting::read(&keyword, line) {
            if keyword == "stricthostkeychecking" && is_lax(line.rest) {
                let problem = ConfigProblem::NotStrict(line.rest.to_owned());
                self.config.warnings.push(at.error(problem));
            }
            return setting.map(|setting| Some(ParsedLine::Item(ConfigItem::Set(setting))));
        }
        self.report_unread(&keyword, line, at);
        Ok(None)
    }

    /// Reports an option that has no effect: in verbose output if OpenSSH has it, else in a warning.
    fn report_unread(&mut self, keyword: &str, line: ConfigLine<'_>, at: LineContext<'_>) {
        let name = line.keyword.to_owned();
        if keyword == "canonicalizepermittedcnames" && !line.rest.eq_ignore_ascii_case("none") {
            let problem = ConfigProblem::Unsupported(name);
            self.config.warnings.push(at.error(problem));
            return;
        }
        let ignored = self.ignored.as_deref();
        let is_ignored = ignored.is_some_and(|names| pattern::matches_host(keyword, names));
        if keyword::is_known(keyword) {
            let problem = ConfigProblem::NoEffect(name);
            self.config.notes.push(at.error(problem));
        } else if !is_ignored {
            let problem = ConfigProblem::Unknown(name);
            self.config.warnings.push(at.error(problem));
        }
    }

    /// Reads the files that an `Include` line names.
    fn include(
        &mut self,
        line: ConfigLine<'_>,
        at: LineContext<'_>,
    ) -> Result<Vec<ConfigFile>, ConfigProblem> {
        let words = words(line.rest).ok_or(ConfigProblem::Quotes)?;
        let mut files = Vec::new();
        for word in words {
            if word.is_empty() {
                return Err(ConfigProblem::EmptyArgument(line.keyword.to_owned()));
            }
            if word.starts_with('~') && at.owner == ConfigOwner::System {
                return Err(ConfigProblem::HomeInclude(word));
            }
            let word = if word.starts_with(['/', '~']) {
                word
            } else if at.owner == ConfigOwner::User {
                format!("~/.ssh/{word}")
            } else {
                format!("/etc/ssh/{word}")
            };
            // The home of an unknown user has no files to include.
            let pattern = with_home(&word, self.local).unwrap_or_default();
            let found = glob::paths(&pattern).into_iter();
            for path in found.filter(|path| !fs::is_dir(path)) {
                if at.depth >= MAX_DEPTH {
                    return Err(ConfigProblem::TooDeep);
                }
                if self.count >= MAX_FILES {
                    return Err(ConfigProblem::TooMany(MAX_FILES));
                }
                let inner = LineContext {
                    path: &path,
                    line: 0,
                    span: Span::NONE,
                    depth: at.depth + 1,
                    ..at
                };
                match self.file(inner, true) {
                    Ok(file) => files.push(file),
                    Err(error) => self.errors.push(error),
                }
                if self.has_too_many_errors() {
                    return Ok(files);
                }
            }
        }
        Ok(files)
    }
}

/// Returns true if a value of `StrictHostKeyChecking` accepts any key.
fn is_lax(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    ["no", "off", "false"].contains(&value.as_str())
}

/// The parsed content of any line.
enum ParsedLine {
    Block(BlockCondition),
    Item(ConfigItem),
}

fn hosts(line: ConfigLine<'_>) -> Result<Vec<String>, ConfigProblem> {
    let words = words(line.rest).ok_or(ConfigProblem::Quotes)?;
    if words.iter().any(String::is_empty) {
        return Err(ConfigProblem::EmptyArgument(line.keyword.to_owned()));
    }
    Ok(words)
}
