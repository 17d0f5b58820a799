//! Compiled regular expressions over the bytes of files.
//!
//! Most expressions run in linear time. Those with look-around or backreferences backtrack, and a search that
//! takes too many steps fails the state.

use crate::states::Halt;

/// The maximum number of backtracking steps of one search.
const MAX_STEPS: usize = 1_000_000;

/// The maximum number of instructions of an expression that backtracks.
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// The options of a regular expression, as Python's flags set them.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each of them is a flag of Python"
)]
pub(super) struct PatternOptions {
    pub(super) ignore_case: bool,
    pub(super) multi_line: bool,
    pub(super) dot_all: bool,
    pub(super) verbose: bool,
}

/// A compiled regular expression.
#[derive(Debug)]
pub(in crate::states::modules) struct FilePattern {
    written: String,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Linear(regex::bytes::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// A match, with the place of the whole match and of each group.
#[derive(Debug)]
pub(super) struct FileMatch<'t> {
    text: &'t [u8],
    places: Vec<Option<(usize, usize)>>,
}

impl FilePattern {
    /// Compiles an expression in the syntax of the crate `regex`. `written` is the one of the user, for messages.
    pub(super) fn new(text: &str, written: &str, options: PatternOptions) -> Result<Self, Halt> {
        let linear = regex::bytes::RegexBuilder::new(text)
            .case_insensitive(options.ignore_case)
            .multi_line(options.multi_line)
            .dot_matches_new_line(options.dot_all)
            .ignore_whitespace(options.verbose)
            .build();
        let backtracking = || {
            fancy_regex::RegexBuilder::new(text)
                .case_insensitive(options.ignore_case)
                .multi_line(options.multi_line)
                .dot_matches_new_line(options.dot_all)
                .ignore_whitespace(options.verbose)
                .backtrack_limit(MAX_STEPS)
                .max_prog_size(MAX_INSTRUCTIONS)
                .build()
        };
        let engine = match linear {
            Ok(regex) => Engine::Linear(regex),
            Err(error) => match (&error, backtracking()) {
                (regex::Error::Syntax(_), Ok(regex)) => Engine::Backtracking(Box::new(regex)),
                (_, second) => {
                    let second = second.err().map(|error| reason_of_second(&error));
                    let why = reason(&error, second);
                    return Err(Halt::Failed(format!(
                        "the regular expression `{written}` cannot be used: {why}"
                    )));
                }
            },
        };
        Ok(Self {
            written: written.to_owned(),
            engine,
        })
    }

    /// Whether the expression matches anywhere in the text.
    pub(in crate::states::modules) fn is_match(&self, text: &[u8]) -> Result<bool, Halt> {
        match &self.engine {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|_| self.too_slow()),
        }
    }

    /// Iterates over the matches that do not overlap.
    pub(super) fn matches<'p, 't: 'p>(
        &'p self,
        text: &'t [u8],
    ) -> Box<dyn Iterator<Item = Result<FileMatch<'t>, Halt>> + 'p> {
        match &self.engine {
            Engine::Linear(regex) => Box::new(regex.captures_iter(text).map(move |found| {
                let places = found.iter().map(|it| it.map(|it| (it.start(), it.end())));
                let places = places.collect();
                Ok(FileMatch { text, places })
            })),
            Engine::Backtracking(regex) => Box::new(regex.captures_iter(text).map(move |found| {
                let found = found.map_err(|_| self.too_slow())?;
                let places = found.iter().map(|it| it.map(|it| (it.start(), it.end())));
                let places = places.collect();
                Ok(FileMatch { text, places })
            })),
        }
    }

    /// Returns the number of groups, with the whole match as the first one.
    pub(super) fn group_count(&self) -> usize {
        match &self.engine {
            Engine::Linear(regex) => regex.captures_len(),
            Engine::Backtracking(regex) => regex.captures_len(),
        }
    }

    /// Returns the number of the group with the name.
    pub(super) fn group_number(&self, name: &str) -> Option<usize> {
        let is_named = |known: Option<&str>| known == Some(name);
        match &self.engine {
            Engine::Linear(regex) => regex.capture_names().position(is_named),
            Engine::Backtracking(regex) => regex.capture_names().position(is_named),
        }
    }

    fn too_slow(&self) -> Halt {
        Halt::Failed(format!(
            "a search for the regular expression `{}` takes more than {MAX_STEPS} steps; write it with less ambiguity",
            self.written
        ))
    }
}

/// Returns the reason why the backtracking engine refuses an expression.
fn reason_of_second(error: &fancy_regex::Error) -> String {
    let text = match error {
        fancy_regex::Error::ParseError(_, error) => error.to_string(),
        fancy_regex::Error::CompileError(error) => error.to_string(),
        other => other.to_string(),
    };
    text.to_lowercase()
}

/// Returns the reason why an expression cannot be used, in one line.
fn reason(error: &regex::Error, second: Option<String>) -> String {
    let regex::Error::Syntax(text) = error else {
        return error.to_string();
    };
    let needs_backtracking = text.contains("look-around") || text.contains("backreferences are");
    let last = text.lines().last().unwrap_or_default();
    let first = last.trim_start_matches("error: ").to_owned();
    second.filter(|_| needs_backtracking).unwrap_or(first)
}

impl<'t> FileMatch<'t> {
    /// Returns the start and the end of the whole match.
    pub(super) fn place(&self) -> (usize, usize) {
        self.places.first().copied().flatten().unwrap_or_default()
    }

    /// Returns the text of a group by its number.
    pub(super) fn group(&self, number: usize) -> Option<&'t [u8]> {
        let (start, end) = self.places.get(number).copied().flatten()?;
        self.text.get(start..end)
    }
}
