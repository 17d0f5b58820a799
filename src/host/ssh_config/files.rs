//! Reads the files of a configuration, and those that they include.

use std::path::{Path, PathBuf};

use super::error::{Error, Problem, Refused};
use super::glob;
use super::keyword;
use super::line::{Line, words};
use super::local::Local;
use super::matching::{Criteria, Criterion, What};
use super::setting::Setting;
use super::tokens::with_home;
use crate::diagnostic::{Place, SourceId, Sources, Span};
use crate::host::pattern;
use crate::system::fs;

/// How deep files may include each other.
const MAX_DEPTH: usize = 16;
/// How many files may be read; two files that include the next one twice would go on for long.
const MAX_FILES: usize = 4096;
/// The largest file.
const MAX_BYTES: u64 = 16 << 20;
/// The configuration of all users.
const SYSTEM_FILE: &str = "/etc/ssh/ssh_config";

/// Which files are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Files {
    /// That of the user, `~/.ssh/config`, then that of all users. Those that are missing are passed over.
    #[default]
    Usual,
    /// This one instead of both, which must be there.
    Only(PathBuf),
    /// None.
    Nothing,
}

/// All that the files say, read once for any number of hosts.
#[derive(Debug, Clone, Default)]
pub struct Config {
    pub(super) files: Vec<File>,
    warnings: Vec<Error>,
    sources: Sources,
}

/// One file.
#[derive(Debug, Clone, Default)]
pub(super) struct File {
    pub(super) blocks: Vec<Block>,
}

impl File {
    /// Whether it, or a file that it includes, has a `Match final`. That is enough for OpenSSH to
    /// read everything again, even where it does not count.
    pub(super) fn asks_for_final(&self) -> bool {
        let is_final = |criterion: &Criterion| criterion.what == What::Final;
        self.blocks.iter().any(|block| {
            let asks = match &block.condition {
                Condition::Match(criteria) => criteria.iter().any(is_final),
                Condition::Outer | Condition::Host(_) => false,
            };
            asks || block.items.iter().any(|item| match item {
                Item::Set(_) => false,
                Item::Include(included) => included.asks,
            })
        })
    }
}

/// Files that one line includes.
#[derive(Debug, Clone, Default)]
pub(super) struct Included {
    pub(super) files: Vec<File>,
    /// Whether one of them has a `Match final`.
    pub(super) asks: bool,
}

/// Lines that count under one condition.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) condition: Condition,
    pub(super) items: Vec<Item>,
}

/// When lines count.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// Whenever the line counts that includes the file.
    Outer,
    /// If the host is like these.
    Host(Vec<String>),
    /// If all of these hold.
    Match(Vec<Criterion>),
}

/// What a line says.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Set(Setting),
    Include(Included),
}

/// Whose file it is that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    System,
}

impl Config {
    /// Reads the files. What OpenSSH refuses is refused, except for options that it does not know
    /// and files of the usual places that cannot be read: those are warnings.
    pub fn read(files: &Files, local: &Local) -> Result<Self, Refused> {
        let mut reader = Reader {
            local,
            config: Self::default(),
            errors: Vec::new(),
            ignored: None,
            count: 0,
        };
        match files {
            Files::Nothing => {}
            Files::Only(path) => reader.top(path, Owner::User, false),
            Files::Usual => {
                let user = local.home.join(".ssh/config");
                reader.top(&user, Owner::User, true);
                reader.top(Path::new(SYSTEM_FILE), Owner::System, true);
            }
        }
        let Reader { config, errors, .. } = reader;
        if errors.is_empty() {
            return Ok(config);
        }
        Err(Refused {
            errors,
            sources: config.sources,
        })
    }

    /// What is doubtful in the files.
    pub fn warnings(&self) -> &[Error] {
        &self.warnings
    }

    /// The texts of the files.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }
}

struct Reader<'a> {
    local: &'a Local,
    config: Config,
    errors: Vec<Error>,
    /// What `IgnoreUnknown` says.
    ignored: Option<String>,
    count: usize,
}

/// Where a line is.
#[derive(Clone, Copy)]
struct At<'a> {
    path: &'a Path,
    line: usize,
    span: Span,
    owner: Owner,
    depth: usize,
}

impl At<'_> {
    fn error(&self, problem: Problem) -> Error {
        Error {
            problem,
            place: Place {
                path: self.path.to_path_buf(),
                line: self.line,
                column: 1,
            },
            span: self.span,
        }
    }
}

impl Reader<'_> {
    fn top(&mut self, path: &Path, owner: Owner, is_usual: bool) {
        if is_usual && !fs::exists(path) {
            return;
        }
        let at = At {
            path,
            line: 0,
            span: Span::NONE,
            owner,
            depth: 0,
        };
        match self.file(at, is_usual) {
            Ok(file) => self.config.files.push(file),
            Err(error) if is_usual && matches!(error.problem, Problem::Unreadable(_)) => {
                self.config.warnings.push(error);
            }
            Err(error) => self.errors.push(error),
        }
    }

    /// Reads one file. Problems of its lines are kept; what is returned ends the reading of it.
    fn file(&mut self, at: At<'_>, is_checked: bool) -> Result<File, Error> {
        self.count += 1;
        let unreadable = |error: fs::Error| at.error(Problem::Unreadable(error.to_string()));
        if is_checked
            && let Ok(mode) = fs::mode_of(at.path)
            && mode & 0o022 != 0
        {
            return Err(at.error(Problem::Writable(mode)));
        }
        let bytes = fs::read_within(at.path, MAX_BYTES).map_err(unreadable)?;
        let text = String::from_utf8_lossy(&bytes);
        if let std::borrow::Cow::Owned(_) = text {
            self.config.warnings.push(at.error(Problem::NotText));
        }
        let source = self.config.sources.add(at.path, text.as_ref(), None);
        Ok(self.lines(&text, source, at))
    }

    fn lines(&mut self, text: &str, source: SourceId, file: At<'_>) -> File {
        let mut blocks = vec![Block {
            condition: Condition::Outer,
            items: Vec::new(),
        }];
        let mut start = 0;
        for (number, text) in text.split_inclusive('\n').enumerate() {
            let line = text.trim_end();
            let begin = start + (line.len() - line.trim_start().len());
            let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            let at = At {
                line: number + 1,
                span: Span::new(source, place(begin), place(start + line.len())),
                ..file
            };
            start += text.len();
            match self.line(line, at) {
                Ok(Some(Said::Block(condition))) => blocks.push(Block {
                    condition,
                    items: Vec::new(),
                }),
                Ok(Some(Said::Item(item))) => {
                    if let Some(block) = blocks.last_mut() {
                        block.items.push(item);
                    }
                }
                Ok(None) => {}
                Err(problem) => self.errors.push(at.error(problem)),
            }
            if self.is_lost() {
                break;
            }
        }
        File { blocks }
    }

    /// Whether going on makes no sense.
    fn is_lost(&self) -> bool {
        let ends = |error: &Error| matches!(error.problem, Problem::TooDeep | Problem::TooMany(_));
        self.errors.iter().rev().take(1).any(ends) || self.errors.len() > 100
    }

    fn line(&mut self, text: &str, at: At<'_>) -> Result<Option<Said>, Problem> {
        let Some(line) = Line::read(text) else {
            return Ok(None);
        };
        if text.contains('\0') {
            return Err(Problem::Nul);
        }
        if line.rest.is_empty() {
            return Err(Problem::NoArgument(line.keyword.to_owned()));
        }
        let keyword = line.keyword.to_ascii_lowercase();
        match keyword.as_str() {
            "host" => return hosts(line).map(|hosts| Some(Said::Block(Condition::Host(hosts)))),
            "match" => {
                let criteria = Criteria::read(line.rest)?;
                let warnings = criteria.warnings.into_iter();
                let warnings = warnings.map(|problem| at.error(problem));
                self.config.warnings.extend(warnings);
                return Ok(Some(Said::Block(Condition::Match(criteria.all))));
            }
            "include" => {
                return self.include(line, at).map(|files| {
                    let asks = files.iter().any(File::asks_for_final);
                    Some(Said::Item(Item::Include(Included { files, asks })))
                });
            }
            "ignoreunknown" if self.ignored.is_none() => {
                let words = words(line.rest).ok_or(Problem::Quotes)?;
                self.ignored = words.into_iter().next();
                return Ok(None);
            }
            _ => {}
        }
        if let Some(setting) = Setting::read(&keyword, line) {
            return setting.map(|setting| Some(Said::Item(Item::Set(setting))));
        }
        if keyword == "canonicalizepermittedcnames" && !line.rest.eq_ignore_ascii_case("none") {
            let problem = Problem::Unsupported(line.keyword.to_owned());
            self.config.warnings.push(at.error(problem));
        }
        let ignored = self.ignored.as_deref();
        let is_ignored = ignored.is_some_and(|names| pattern::matches_host(&keyword, names));
        if !keyword::is_known(&keyword) && !is_ignored {
            let problem = Problem::Unknown(line.keyword.to_owned());
            self.config.warnings.push(at.error(problem));
        }
        Ok(None)
    }

    /// Reads the files that a line includes.
    fn include(&mut self, line: Line<'_>, at: At<'_>) -> Result<Vec<File>, Problem> {
        let words = words(line.rest).ok_or(Problem::Quotes)?;
        let mut files = Vec::new();
        for word in words {
            if word.is_empty() {
                return Err(Problem::EmptyArgument(line.keyword.to_owned()));
            }
            if word.starts_with('~') && at.owner == Owner::System {
                return Err(Problem::HomeInclude(word));
            }
            let word = if word.starts_with(['/', '~']) {
                word
            } else if at.owner == Owner::User {
                format!("~/.ssh/{word}")
            } else {
                format!("/etc/ssh/{word}")
            };
            // A user that is not there has no files to include.
            let pattern = with_home(&word, self.local).unwrap_or_default();
            let found = glob::paths(&pattern).into_iter();
            for path in found.filter(|path| !fs::is_dir(path)) {
                if at.depth >= MAX_DEPTH {
                    return Err(Problem::TooDeep);
                }
                if self.count >= MAX_FILES {
                    return Err(Problem::TooMany(MAX_FILES));
                }
                let inner = At {
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
                if self.is_lost() {
                    return Ok(files);
                }
            }
        }
        Ok(files)
    }
}

/// What a line gives.
enum Said {
    Block(Condition),
    Item(Item),
}

fn hosts(line: Line<'_>) -> Result<Vec<String>, Problem> {
    let words = words(line.rest).ok_or(Problem::Quotes)?;
    if words.iter().any(String::is_empty) {
        return Err(Problem::EmptyArgument(line.keyword.to_owned()));
    }
    Ok(words)
}
