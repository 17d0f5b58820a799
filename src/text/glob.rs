//! Glob patterns, in which `*` matches any text and `?` any character, including slashes and dots.
//! Constructors select the syntax of Python, OpenSSH or `glob(7)`; this module reads no directories.

/// A parsed glob pattern, which matches complete texts.
#[derive(Debug, Clone)]
pub struct Glob(Vec<GlobToken>);

#[derive(Debug, Clone, PartialEq)]
enum GlobToken {
    Literal(char),
    AnyOne,
    AnyMany,
    /// A character class: matches a character within the ranges, or outside them if `not` is set.
    Class {
        ranges: Vec<(char, char)>,
        not: bool,
    },
}

/// The syntax of a pattern in addition to `*` and `?`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GlobSyntax {
    None,
    /// `[seq]` and `[!seq]`, as in Python.
    Brackets,
    /// `[seq]`, `[!seq]`, `[^seq]`, and a backslash as escape character.
    BracketsAndEscapes,
}

impl Glob {
    /// Parses a pattern as Python's `fnmatch` does. Every text is a valid pattern.
    ///
    /// `[seq]` matches one of the characters, `[!seq]` one of the others.
    pub fn new(pattern: &str) -> Self {
        Self::parse(pattern, GlobSyntax::Brackets)
    }

    /// Parses a pattern as OpenSSH does: a bracket is a literal character.
    pub fn without_brackets(pattern: &str) -> Self {
        Self::parse(pattern, GlobSyntax::None)
    }

    /// Parses a pattern for a file name as `glob(7)` does.
    ///
    /// `[^seq]` means the same as `[!seq]`, and a character after a backslash is literal.
    pub fn for_file_name(pattern: &str) -> Self {
        Self::parse(pattern, GlobSyntax::BracketsAndEscapes)
    }

    fn parse(pattern: &str, syntax: GlobSyntax) -> Self {
        let text: Vec<char> = pattern.chars().collect();
        let mut pieces = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(character) = text.get(at) {
            at += 1;
            pieces.push(match character {
                '*' if pieces.last() == Some(&GlobToken::AnyMany) => continue,
                '*' => GlobToken::AnyMany,
                '?' => GlobToken::AnyOne,
                '[' if syntax != GlobSyntax::None => match parse_class(&text[at..], syntax) {
                    Some((piece, length)) => {
                        at += length;
                        piece
                    }
                    None => GlobToken::Literal('['),
                },
                '\\' if syntax == GlobSyntax::BracketsAndEscapes && at < text.len() => {
                    at += 1;
                    GlobToken::Literal(text[at - 1])
                }
                other => GlobToken::Literal(*other),
            });
        }
        Self(pieces)
    }

    /// Whether a text contains wildcard characters.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// Whether the pattern matches the complete text.
    ///
    /// The time is at most proportional to the product of the lengths.
    pub fn matches(&self, text: &str) -> bool {
        let (mut piece, mut rest) = (0, text.chars());
        // The token after the last `*`, and the text from which it is tried next.
        let mut star: Option<(usize, std::str::Chars<'_>)> = None;
        while let Some(character) = rest.clone().next() {
            match self.0.get(piece) {
                Some(GlobToken::AnyMany) => {
                    piece += 1;
                    star = Some((piece, rest.clone()));
                }
                Some(other) if other.matches(character) => {
                    piece += 1;
                    rest.next();
                }
                _ => {
                    let Some((after, tried)) = &mut star else {
                        return false;
                    };
                    tried.next();
                    (piece, rest) = (*after, tried.clone());
                }
            }
        }
        self.0[piece..]
            .iter()
            .all(|piece| *piece == GlobToken::AnyMany)
    }
}

impl GlobToken {
    fn matches(&self, character: char) -> bool {
        match self {
            Self::Literal(own) => *own == character,
            Self::AnyOne | Self::AnyMany => true,
            Self::Class { ranges, not } => {
                let within = |(low, high): &(char, char)| (*low..=*high).contains(&character);
                ranges.iter().any(within) != *not
            }
        }
    }
}

/// Parses the character class after a `[` and returns its length. None if the class is not closed.
fn parse_class(text: &[char], signs: GlobSyntax) -> Option<(GlobToken, usize)> {
    let first = text.first()?;
    let not = *first == '!' || (*first == '^' && signs == GlobSyntax::BracketsAndEscapes);
    let start = usize::from(not);
    // A bracket in the first position is a member of the class.
    let end = (start + 1..text.len()).find(|place| text[*place] == ']')?;
    let mut ranges = Vec::new();
    let mut inner = &text[start..end];
    while let Some((first, rest)) = inner.split_first() {
        if let ['-', last, after @ ..] = rest {
            ranges.push((*first, *last));
            inner = after;
        } else {
            ranges.push((*first, *first));
            inner = rest;
        }
    }
    Some((GlobToken::Class { ranges, not }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: fn(&str) -> Glob, cases: &[(&str, &str, bool)]) {
        for (pattern, text, expected) in cases {
            assert_eq!(read(pattern).matches(text), *expected, "{pattern} {text}");
        }
    }

    #[test]
    fn patterns_match_as_in_python() {
        let cases = [
            ("w.*", "w.a.b", true),
            ("", "", true),
            ("", "A", false),
            ("a", "A", false),
            ("a?b", "a\u{e9}b", true),
            ("*.r?n", "cmd.run", true),
            ("[a-c]md.[!x]un", "cmd.run", true),
            ("*_KEY", "AWS_KEY_KEY", true),
            ("[]]", "]", true),
            ("[z-a]", "m", false),
            ("[a-]", "-", true),
            ("[^a]", "^", true),
            ("[^a]", "b", false),
            ("\\*", "\\x", true),
            ("test.", "test.nop", false),
            ("[", "[", true),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*/x/*", "a/b/x/c", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("r[0-9]", "r5", true),
            ("r[!0-9]", "r5", false),
            ("[]x]", "]", true),
            ("[x", "[x", true),
            ("[!]", "[!]", true),
            ("x**y", "xy", true),
        ];
        check(Glob::new, &cases);
    }

    #[test]
    fn a_bracket_stands_for_itself_where_there_are_no_sets() {
        let cases = [
            ("[ab]", "a", false),
            ("[ab]", "[ab]", true),
            ("[::?]", "[::1]", true),
            ("w?b.1", "wab.1", true),
            ("w?b.1", "wab-1", false),
            ("web*", "web1", true),
            ("\\*", "\\x", true),
        ];
        check(Glob::without_brackets, &cases);
    }

    #[test]
    fn a_name_in_a_folder_knows_escapes_and_two_signs_for_other_characters() {
        let cases = [
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conf~", false),
            ("[a-c]?", "b1", true),
            ("[!a-c]?", "d1", true),
            ("[^a-c]?", "d1", true),
            ("[^a-c]?", "b1", false),
            ("[]]", "]", true),
            ("[", "[", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("\\[a]", "[a]", true),
            ("a\\", "a\\", true),
        ];
        check(Glob::for_file_name, &cases);
    }

    #[test]
    fn a_pattern_of_many_stars_is_quick() {
        let many = "*a".repeat(300);
        assert!(!Glob::new(&many).matches(&"b".repeat(40_000)));
        assert!(!Glob::new(&(many + "b")).matches(&"a".repeat(5_000)));
    }
}
