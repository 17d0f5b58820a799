//! Globs as Python's `fnmatch` reads them: `*`, `?` and `[seq]` match over slashes and dots.

/// A pattern.
#[derive(Debug, Clone)]
pub struct Glob(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// This character.
    Is(char),
    /// Any one character.
    One,
    /// Any number of characters.
    Many,
    /// One character that is in these ranges, or is not.
    Class {
        ranges: Vec<(char, char)>,
        not: bool,
    },
}

impl Glob {
    /// Reads a pattern; every text is one.
    pub fn new(pattern: &str) -> Self {
        let text: Vec<char> = pattern.chars().collect();
        let mut pieces = Vec::with_capacity(text.len());
        let mut at = 0;
        while let Some(character) = text.get(at) {
            at += 1;
            pieces.push(match character {
                '*' if pieces.last() == Some(&Piece::Many) => continue,
                '*' => Piece::Many,
                '?' => Piece::One,
                '[' => match class(&text[at..]) {
                    Some((piece, length)) => {
                        at += length;
                        piece
                    }
                    None => Piece::Is('['),
                },
                other => Piece::Is(*other),
            });
        }
        Self(pieces)
    }

    /// Whether a text has characters that make it more than itself.
    pub fn is_pattern(text: &str) -> bool {
        text.contains(['*', '?', '['])
    }

    /// Whether all of a text fits.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut piece, mut at) = (0, 0);
        // Where the last `*` is, and how far it reached.
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            match self.0.get(piece) {
                Some(Piece::Many) => {
                    star = Some((piece, at));
                    piece += 1;
                }
                Some(other) if other.fits(text[at]) => {
                    piece += 1;
                    at += 1;
                }
                _ => match star {
                    Some((many, reached)) => {
                        star = Some((many, reached + 1));
                        piece = many + 1;
                        at = reached + 1;
                    }
                    None => return false,
                },
            }
        }
        self.0[piece..].iter().all(|piece| *piece == Piece::Many)
    }
}

impl Piece {
    fn fits(&self, character: char) -> bool {
        match self {
            Self::Is(own) => *own == character,
            Self::One | Self::Many => true,
            Self::Class { ranges, not } => {
                let within = |(low, high): &(char, char)| (*low..=*high).contains(&character);
                ranges.iter().any(within) != *not
            }
        }
    }
}

/// The class that begins behind a `[`, and its length; none if nothing ends it.
fn class(text: &[char]) -> Option<(Piece, usize)> {
    let not = text.first() == Some(&'!');
    let start = usize::from(not);
    // A bracket that comes first is one of the characters.
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
    Some((Piece::Class { ranges, not }, end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_python() {
        let cases = [
            ("w.*", "w.a.b", true),
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
        for (pattern, text, expected) in cases {
            assert_eq!(
                Glob::new(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }
}
