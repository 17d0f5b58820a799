//! Regular expressions that users write, in Python's syntax.
//!
//! Most expressions run in linear time. Only those with look-around or backreferences backtrack, and they end
//! with an error after [`MAX_STEPS`] steps instead of running for ever.

use std::sync::Arc;

/// The maximum number of backtracking steps of one search.
const MAX_STEPS: usize = 1_000_000;

/// The maximum size of a compiled expression in bytes, and the maximum number of its instructions.
const MAX_SIZE: usize = 1 << 22;
const MAX_INSTRUCTIONS: usize = 1 << 16;

/// The flags of a regular expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PatternFlags {
    /// Upper and lower case are equal.
    pub ignore_case: bool,
    /// `^` and `$` match at each line.
    pub multi_line: bool,
}

/// The reason why a regular expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The expression is malformed or too large.
    #[error("{0}")]
    Invalid(String),
    /// The search takes too long.
    #[error(
        "the search takes more than {MAX_STEPS} steps; write the expression with less ambiguity"
    )]
    TooManySteps,
}

impl PatternError {
    /// Returns the reason in one line, without a drawing of the place.
    pub fn reason(&self) -> String {
        let text = self.to_string();
        let last = text.lines().last().unwrap_or_default();
        last.trim_start_matches("error: ").to_owned()
    }
}

/// A compiled regular expression.
#[derive(Debug, Clone)]
pub struct Pattern(Engine);

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// A match of a pattern, with its groups.
#[derive(Debug, Clone)]
pub struct PatternMatch<'t> {
    text: &'t str,
    /// The place of the whole match and of each group.
    places: Vec<Option<(usize, usize)>>,
    names: GroupNames,
}

/// The names of the groups. A group without a name has none.
type GroupNames = Arc<[Option<Arc<str>>]>;

impl Pattern {
    /// Compiles an expression without flags.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        Self::with_flags(text, PatternFlags::default())
    }

    /// Compiles an expression.
    pub fn with_flags(text: &str, flags: PatternFlags) -> Result<Self, PatternError> {
        let text = translate(text);
        let linear = regex::RegexBuilder::new(&text)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .size_limit(MAX_SIZE)
            .build();
        let error = match linear {
            Ok(regex) => return Ok(Self(Engine::Linear(regex))),
            Err(regex::Error::Syntax(error)) => error,
            Err(error) => return Err(PatternError::Invalid(error.to_string())),
        };
        let backtracking = fancy_regex::RegexBuilder::new(&text)
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .backtrack_limit(MAX_STEPS)
            .delegate_size_limit(MAX_SIZE)
            .delegate_dfa_skip_cache_capacity_check(false)
            .max_prog_size(MAX_INSTRUCTIONS)
            .build();
        let needs_backtracking =
            error.contains("look-around") || error.contains("backreferences are not");
        match backtracking {
            Ok(regex) => Ok(Self(Engine::Backtracking(Box::new(regex)))),
            Err(second) if needs_backtracking => Err(PatternError::Invalid(reason_of(&second))),
            Err(_) => Err(PatternError::Invalid(error)),
        }
    }

    /// Whether searches backtrack, so that a long text may take many steps.
    pub fn backtracks(&self) -> bool {
        matches!(self.0, Engine::Backtracking(_))
    }

    /// Whether the expression matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> Result<bool, PatternError> {
        match &self.0 {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => {
                regex.is_match(text).map_err(|_| PatternError::TooManySteps)
            }
        }
    }

    /// Returns the first match.
    pub fn search<'t>(&self, text: &'t str) -> Result<Option<PatternMatch<'t>>, PatternError> {
        self.matches(text).next().transpose()
    }

    /// Iterates over the matches that do not overlap. Ends after an error.
    pub fn matches<'p, 't>(
        &'p self,
        text: &'t str,
    ) -> Box<dyn Iterator<Item = Result<PatternMatch<'t>, PatternError>> + 'p>
    where
        't: 'p,
    {
        match &self.0 {
            Engine::Linear(regex) => {
                let names = owned(regex.capture_names());
                Box::new(regex.captures_iter(text).map(move |found| {
                    let places = found.iter().map(|it| it.map(|it| (it.start(), it.end())));
                    Ok(PatternMatch::new(text, places.collect(), &names))
                }))
            }
            Engine::Backtracking(regex) => {
                let names = owned(regex.capture_names());
                let mut failed = false;
                let found = regex.captures_iter(text).map(move |found| {
                    let found = found.map_err(|_| PatternError::TooManySteps)?;
                    let places = found.iter().map(|it| it.map(|it| (it.start(), it.end())));
                    Ok(PatternMatch::new(text, places.collect(), &names))
                });
                Box::new(found.take_while(move |found| {
                    let goes_on = !failed;
                    failed |= found.is_err();
                    goes_on
                }))
            }
        }
    }
}

/// Returns the reason why the backtracking engine refuses an expression.
fn reason_of(error: &fancy_regex::Error) -> String {
    let text = match error {
        fancy_regex::Error::ParseError(_, error) => error.to_string(),
        fancy_regex::Error::CompileError(error) => error.to_string(),
        other => other.to_string(),
    };
    let mut signs = text.chars();
    let first = signs.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(signs).collect()
}

fn owned<'n>(names: impl Iterator<Item = Option<&'n str>>) -> GroupNames {
    names.map(|name| name.map(Arc::from)).collect()
}

impl<'t> PatternMatch<'t> {
    fn new(text: &'t str, places: Vec<Option<(usize, usize)>>, names: &GroupNames) -> Self {
        Self {
            text,
            places,
            names: Arc::clone(names),
        }
    }

    /// Returns the start and the end of the whole match.
    pub fn place(&self) -> (usize, usize) {
        self.places.first().copied().flatten().unwrap_or_default()
    }

    /// Returns the number of groups, with the whole match as the first one.
    pub fn group_count(&self) -> usize {
        self.places.len()
    }

    /// Returns the text of a group by its number. Group 0 is the whole match.
    pub fn group(&self, number: usize) -> Option<&'t str> {
        let (start, end) = self.places.get(number).copied().flatten()?;
        self.text.get(start..end)
    }

    /// Returns the text of a group by its number or name.
    pub fn group_of(&self, name: &str) -> Option<&'t str> {
        let named = |known: &Option<Arc<str>>| known.as_deref() == Some(name);
        let number = name.parse().ok();
        self.group(number.or_else(|| self.names.iter().position(named))?)
    }

    /// Returns a replacement in the syntax of Python's `re.sub`, with `\1` and `\g<name>` as the groups of the
    /// match.
    pub fn expand(&self, replacement: &str) -> String {
        let mut text = String::new();
        let mut rest = replacement;
        while let Some((before, after)) = rest.split_once('\\') {
            text += before;
            rest = after;
            let named = rest.strip_prefix("g<");
            if let Some((name, after)) = named.and_then(|rest| rest.split_once('>')) {
                text += self.group_of(name).unwrap_or_default();
                rest = after;
                continue;
            }
            let Some(next) = rest.chars().next() else {
                text.push('\\');
                break;
            };
            rest = &rest[next.len_utf8()..];
            match next {
                '0'..='9' => {
                    let mut number = next.to_digit(10).unwrap_or_default() as usize;
                    if let Some(digit) = rest.chars().next().and_then(|next| next.to_digit(10)) {
                        number = number * 10 + digit as usize;
                        rest = &rest[1..];
                    }
                    text += self.group(number).unwrap_or_default();
                }
                'n' => text.push('\n'),
                't' => text.push('\t'),
                '\\' => text.push('\\'),
                other => text.extend(['\\', other]),
            }
        }
        text + rest
    }
}

/// Translates Python's `\Z`, the end of the text.
fn translate(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        text.push(sign);
        if sign == '\\' {
            text.extend(
                signs
                    .next()
                    .map(|next| if next == 'Z' { 'z' } else { next }),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(pattern: &str, text: &str) -> Option<String> {
        let found = Pattern::new(pattern).unwrap();
        let found = found.search(text).unwrap();
        found.map(|found| found.group(0).unwrap_or_default().to_owned())
    }

    #[test]
    fn expressions_of_python_find_the_same_text_as_there() {
        let found = [
            (r"(?<!-)-[a-z]+", "--ab -cd"),
            (r"(?=a)\w+", "xab"),
            (r"(\w)\1", "abccd"),
            (r"(?P<q>['\x22])(.*?)(?P=q)", r#"say "it's" now"#),
            (r"a\Z", "aa"),
            (r"\\Z", r"x\Z"),
            ("(?i)AB", "xab"),
            (r"^(?!-)[a-z0-9-]{1,63}(?<!-)$", "my-name"),
            (r"(?P<a>\w)\1", "abba"),
        ];
        let found: Vec<_> = found.map(|(pattern, text)| first(pattern, text)).into();
        let found: Vec<_> = found
            .iter()
            .map(|it| it.as_deref().unwrap_or("-"))
            .collect();
        insta::assert_snapshot!(found.join("  "), @r#"-cd  ab  cc  "it's"  a  \Z  ab  my-name  bb"#);
    }

    #[test]
    fn only_expressions_that_need_it_backtrack() {
        let backtracks = |text| Pattern::new(text).unwrap().backtracks();
        assert!(!backtracks("(a+)+$b"));
        assert!(backtracks("(?=a)b"));
    }

    #[test]
    fn groups_have_numbers_and_names() {
        let pattern = Pattern::new(r"(?P<a>\d)(?!x)(y)?").unwrap();
        assert!(pattern.backtracks());
        let found = pattern.search("1x2").unwrap().unwrap();
        assert_eq!(found.place(), (2, 3));
        assert_eq!((found.group_count(), found.group(2)), (3, None));
        assert_eq!(found.group_of("a"), Some("2"));
        assert_eq!(found.group_of("b"), None);
    }

    #[test]
    fn a_search_that_takes_too_many_steps_is_an_error() {
        let pattern = Pattern::new(r"^(a|b|ab)*\1d").unwrap();
        let text = "ab".repeat(30) + "xd";
        assert_eq!(pattern.is_match(&text), Err(PatternError::TooManySteps));
        let all: Vec<_> = pattern.matches(&text).collect();
        assert!(
            matches!(&*all, [Err(PatternError::TooManySteps)]),
            "{all:?}"
        );
    }

    #[test]
    fn an_expression_that_cannot_be_used_is_an_error() {
        let reason = |text| match Pattern::new(text) {
            Ok(_) => String::new(),
            Err(error) => error.reason(),
        };
        let texts = ["[a", "(?=a", r"(a)\2", "(((a{1000}){1000}){1000})"];
        let reasons: Vec<String> = texts.map(reason).into();
        insta::assert_snapshot!(reasons.join("\n"), @r"
        unclosed character class
        opening parenthesis without closing parenthesis
        invalid back reference to group 2
        Compiled regex exceeds size limit of 4194304 bytes.
        ");
    }
}
