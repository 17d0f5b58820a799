//! Python regular expressions, replacements and path patterns for the `file` states.
//!
//! States are written for Python's `re`: [`compile`] translates an expression to the syntax of the
//! `regex` crate, and [`Replacement`] implements the template of `re.sub`.

use super::file_pattern::{FileMatch, FilePattern, PatternOptions};
use crate::states::{Halt, StateCall, refuse};
use crate::text::Glob;
use crate::value::Value;

/// The flags of a regular expression, with the bit values of Python's `re` module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::states::modules) struct Flags(u32);

const IGNORE_CASE: u32 = 2;
const MULTI_LINE: u32 = 8;
const DOT_ALL: u32 = 16;
const VERBOSE: u32 = 64;

/// The flag names with their bits. A flag without a constant here is accepted and has no effect.
const FLAG_NAMES: [(&str, u32); 12] = [
    ("IGNORECASE", IGNORE_CASE),
    ("I", IGNORE_CASE),
    ("LOCALE", 4),
    ("L", 4),
    ("MULTILINE", MULTI_LINE),
    ("M", MULTI_LINE),
    ("DOTALL", DOT_ALL),
    ("S", DOT_ALL),
    ("UNICODE", 32),
    ("U", 32),
    ("VERBOSE", VERBOSE),
    ("X", VERBOSE),
];

impl Flags {
    /// `^` and `$` match at each line.
    pub(super) const MULTI_LINE: Self = Self(MULTI_LINE);
    /// A dot also matches a newline.
    pub(super) const DOT_ALL: Self = Self(DOT_ALL);
    pub(in crate::states::modules) const NONE: Self = Self(0);

    /// Reads flags from an argument: a number, a name or a list of names. `MULTILINE` is the default.
    pub(super) fn from_call(call: &StateCall<'_>, key: &str) -> Result<Self, Halt> {
        let Some(value) = call.arg(key) else {
            return Ok(Self::MULTI_LINE);
        };
        if let Value::Int(bits) = value {
            return Ok(Self(u32::try_from(*bits).unwrap_or(MULTI_LINE)));
        }
        let mut bits = 0;
        for name in call.texts(key)? {
            let upper = name.to_uppercase();
            let Some((_, bit)) = FLAG_NAMES
                .iter()
                .chain(&[("ASCII", 256), ("A", 256)])
                .find(|(known, _)| *known == upper)
            else {
                return refuse(format!("Invalid re flag given: {name}"));
            };
            bits |= bit;
        }
        Ok(Self(bits))
    }
}

/// Compiles an expression written for Python's `re`.
pub(in crate::states::modules) fn compile(
    pattern: &str,
    flags: Flags,
) -> Result<FilePattern, Halt> {
    let has = |bit: u32| flags.0 & bit != 0;
    let options = PatternOptions {
        ignore_case: has(IGNORE_CASE),
        multi_line: has(MULTI_LINE),
        dot_all: has(DOT_ALL),
        verbose: has(VERBOSE),
    };
    FilePattern::new(&translate_python_regex(pattern), pattern, options)
}

/// Translates Python's syntax to that of the `regex` crate where the two differ.
fn translate_python_regex(pattern: &str) -> String {
    let signs: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut class: Option<usize> = None;
    let mut at = 0;
    while let Some(&sign) = signs.get(at) {
        let next = signs.get(at + 1).copied();
        match (sign, next) {
            ('\\', Some('Z')) => out.push_str("\\z"),
            ('\\', Some(escaped)) if !escaped.is_ascii_alphanumeric() => {
                out.push_str(&regex::escape(&escaped.to_string()));
            }
            ('\\', Some(escaped)) => out.extend(['\\', escaped]),
            ('[', _) if class.is_none() => {
                out.push('[');
                class = Some(at);
            }
            (']', _) if class.is_some_and(|start| is_class_end(&signs, start, at)) => {
                out.push(']');
                class = None;
            }
            ('[' | ']' | '&' | '~', _) if class.is_some() => out.extend(['\\', sign]),
            ('{', _) if class.is_none() && !is_repetition(&signs[at + 1..]) => out.push_str("\\{"),
            ('}', _)
                if class.is_none()
                    && !out.ends_with(|it: char| it.is_ascii_digit() || it == ',') =>
            {
                out.push_str("\\}");
            }
            _ => out.push(sign),
        }
        at += if sign == '\\' { 2 } else { 1 };
    }
    out
}

/// Whether a closing bracket ends the character class. Directly after the opening it is a member of the
/// class.
fn is_class_end(signs: &[char], start: usize, at: usize) -> bool {
    let first = start + 1 + usize::from(signs.get(start + 1) == Some(&'^'));
    at != first
}

/// Whether the text after an opening brace is a repetition such as `2,3}`; otherwise the brace is
/// literal.
fn is_repetition(rest: &[char]) -> bool {
    let Some(end) = rest.iter().position(|sign| *sign == '}') else {
        return false;
    };
    let inner = &rest[..end];
    inner.iter().any(char::is_ascii_digit)
        && inner
            .iter()
            .all(|sign| sign.is_ascii_digit() || *sign == ',')
        && inner.iter().filter(|sign| **sign == ',').count() <= 1
}

/// A part of a replacement template.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReplacementPart {
    Text(Vec<u8>),
    Group(usize),
    Named(String),
}

/// A replacement template in the syntax of Python's `re.sub`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement(Vec<ReplacementPart>);

impl Replacement {
    /// Creates a replacement that inserts a text literally.
    pub(super) fn literal(text: &str) -> Self {
        Self(vec![ReplacementPart::Text(text.as_bytes().to_vec())])
    }

    /// Parses a template with `\1`, `\g<name>` and escapes.
    pub(super) fn parse(text: &str) -> Result<Self, Halt> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('\\') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some(sign) = rest.chars().next() else {
                return refuse("bad escape (end of pattern)");
            };
            let after = &rest[sign.len_utf8()..];
            let mut piece = None;
            rest = after;
            match sign {
                'g' => {
                    let name = after.strip_prefix('<').and_then(|it| it.split_once('>'));
                    let Some((name, after)) = name else {
                        return refuse("missing < or > after \\g in the replacement");
                    };
                    piece = Some(name.parse().map_or_else(
                        |_| ReplacementPart::Named(name.to_owned()),
                        ReplacementPart::Group,
                    ));
                    rest = after;
                }
                '1'..='9' => {
                    let digits = 1 + usize::from(after.starts_with(|it: char| it.is_ascii_digit()));
                    let number = &text[text.len() - after.len() - 1..][..digits];
                    piece = number.parse().ok().map(ReplacementPart::Group);
                    rest = &after[digits - 1..];
                }
                'n' => plain.push('\n'),
                't' => plain.push('\t'),
                'r' => plain.push('\r'),
                'f' => plain.push('\u{c}'),
                'v' => plain.push('\u{b}'),
                'a' => plain.push('\u{7}'),
                'b' => plain.push('\u{8}'),
                '0' => plain.push('\0'),
                '\\' => plain.push('\\'),
                other if other.is_ascii_alphabetic() => {
                    return refuse(format!("bad escape \\{other} in the replacement `{text}`"));
                }
                other => plain.extend(['\\', other]),
            }
            if let Some(piece) = piece {
                pieces.push(ReplacementPart::Text(
                    std::mem::take(&mut plain).into_bytes(),
                ));
                pieces.push(piece);
            }
        }
        plain.push_str(rest);
        pieces.push(ReplacementPart::Text(plain.into_bytes()));
        Ok(Self(pieces))
    }

    /// Fails if the template refers to a group that the expression does not have.
    pub(super) fn check(&self, pattern: &FilePattern) -> Result<(), Halt> {
        for piece in &self.0 {
            let (is_there, name) = match piece {
                ReplacementPart::Text(_) => continue,
                ReplacementPart::Group(number) => {
                    (*number < pattern.group_count(), number.to_string())
                }
                ReplacementPart::Named(name) => {
                    (pattern.group_number(name).is_some(), name.clone())
                }
            };
            if !is_there {
                return refuse(format!("invalid group reference {name} in the replacement"));
            }
        }
        Ok(())
    }

    /// Appends the replacement of one match to `out`.
    pub(super) fn expand(&self, pattern: &FilePattern, found: &FileMatch<'_>, out: &mut Vec<u8>) {
        for piece in &self.0 {
            let group = match piece {
                ReplacementPart::Text(text) => {
                    out.extend_from_slice(text);
                    continue;
                }
                ReplacementPart::Group(number) => found.group(*number),
                ReplacementPart::Named(name) => pattern
                    .group_number(name)
                    .and_then(|number| found.group(number)),
            };
            out.extend_from_slice(group.unwrap_or_default());
        }
    }
}

/// Whether a line matches, with or without its newline: Python's `$` also matches before the last
/// newline.
pub(super) fn matches_line(pattern: &FilePattern, line: &str) -> Result<bool, Halt> {
    let bare = line.strip_suffix('\n').unwrap_or(line);
    Ok(pattern.is_match(line.as_bytes())? || pattern.is_match(bare.as_bytes())?)
}

/// A pattern for paths. Its wildcards also match slashes.
#[derive(Debug)]
enum PathPattern {
    Glob(Glob),
    Regex(FilePattern),
}

impl PathPattern {
    /// Whether the path matches. A path on which a search takes too many steps does not.
    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Glob(glob) => glob.matches(path),
            Self::Regex(regex) => regex.is_match(path.as_bytes()).unwrap_or(false),
        }
    }
}

/// A filter of paths by patterns to include and to exclude.
#[derive(Debug)]
pub(super) struct PathFilter {
    include: Option<Vec<PathPattern>>,
    exclude: Option<Vec<PathPattern>>,
}

impl PathFilter {
    /// Reads the filter from the arguments `include_pat` and `exclude_pat`.
    pub(super) fn from_call(call: &StateCall<'_>) -> Result<Self, Halt> {
        Ok(Self {
            include: parse_patterns(call, "include_pat")?,
            ..Self::excluding(call)?
        })
    }

    /// Reads the filter from the argument `exclude_pat` alone.
    pub(super) fn excluding(call: &StateCall<'_>) -> Result<Self, Halt> {
        Ok(Self {
            include: None,
            exclude: parse_patterns(call, "exclude_pat")?,
        })
    }

    /// Whether a path is included and not excluded.
    pub(super) fn passes(&self, path: &str) -> bool {
        let any = |all: &[PathPattern]| all.iter().any(|one| one.matches(path));
        self.include.as_deref().is_none_or(any) && !self.exclude.as_deref().is_some_and(any)
    }
}

/// Parses the patterns of an argument: regular expressions after `E@`, else globs.
fn parse_patterns(call: &StateCall<'_>, key: &str) -> Result<Option<Vec<PathPattern>>, Halt> {
    if !call.flag(key, false) {
        return Ok(None);
    }
    let compiled = call
        .texts(key)?
        .into_iter()
        .map(|pattern| match pattern.strip_prefix("E@") {
            Some(expression) => compile(expression, Flags::NONE).map(PathPattern::Regex),
            None => Ok(PathPattern::Glob(Glob::new(&pattern))),
        });
    compiled
        .collect::<Result<Vec<PathPattern>, Halt>>()
        .map(Some)
}
