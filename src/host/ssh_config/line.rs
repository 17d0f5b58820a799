//! Splits a line into its keyword and its words, as OpenSSH does.

/// A line that is neither empty nor a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConfigLine<'a> {
    /// The keyword as written, without quotes.
    pub(super) keyword: &'a str,
    /// The text after the keyword and its `=`; may be empty.
    pub(super) rest: &'a str,
}

/// The characters that may separate words.
const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

impl<'a> ConfigLine<'a> {
    /// Parses a line; none if it is empty or a comment.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let text = text.trim_end_matches([' ', '\t', '\r', '\n', '\u{c}']);
        let (mut keyword, mut rest) = first_word(text)?;
        if keyword.is_empty() {
            (keyword, rest) = first_word(rest)?;
        }
        if keyword.is_empty() || keyword.starts_with('#') {
            return None;
        }
        let rest = rest.trim_start_matches(SPACE);
        Some(Self { keyword, rest })
    }
}

/// Splits off the first word and one `=` after it.
///
/// A quoted word ends with its closing quote. None if that is missing.
fn first_word(text: &str) -> Option<(&str, &str)> {
    let ends = |c: char| SPACE.contains(&c) || c == '"' || c == '=';
    let Some(end) = text.find(ends) else {
        return Some((text, ""));
    };
    let after = &text[end + 1..];
    if text[end..].starts_with('"') {
        let (inner, rest) = after.split_once('"')?;
        // In OpenSSH, text before and within the quotes is one word. No keyword looks like that.
        let word = if end == 0 { inner } else { &text[..end] };
        return Some((word, rest.trim_start_matches(SPACE)));
    }
    let skipped = text[end..].starts_with('=');
    let mut rest = after.trim_start_matches(SPACE);
    if !skipped && let Some(behind) = rest.strip_prefix('=') {
        rest = behind.trim_start_matches(SPACE);
    }
    Some((&text[..end], rest))
}

/// Splits a text into words.
///
/// Single and double quotes group characters. A backslash escapes quotes and itself and, outside of
/// quotes, a space. A `#` at the start of a word begins a comment. None if a quote is not closed.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(&first) = characters.peek() {
        match first {
            ' ' | '\t' => {
                characters.next();
                continue;
            }
            '#' => break,
            _ => {}
        }
        let mut word = String::new();
        let mut quote = None;
        while let Some(c) = characters.next() {
            match (c, quote) {
                ('\\', _) => {
                    let escaped = characters.next_if(|next| {
                        matches!(next, '\'' | '"' | '\\') || quote.is_none() && *next == ' '
                    });
                    word.push(escaped.unwrap_or('\\'));
                }
                (' ' | '\t', None) => break,
                ('"' | '\'', None) => quote = Some(c),
                (_, Some(open)) if open == c => quote = None,
                _ => word.push(c),
            }
        }
        if quote.is_some() {
            return None;
        }
        words.push(word);
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(&str, &str)> {
        ConfigLine::read(text).map(|line| (line.keyword, line.rest))
    }

    #[test]
    fn a_keyword_ends_at_a_space_or_one_equals_sign() {
        assert_eq!(read("Port 22"), Some(("Port", "22")));
        assert_eq!(read("\tPort=22 \r"), Some(("Port", "22")));
        assert_eq!(read("Port = 22"), Some(("Port", "22")));
        assert_eq!(read("Port = = 22"), Some(("Port", "= 22")));
        assert_eq!(read("\"Port\" 22"), Some(("Port", "22")));
        assert_eq!(read("Port"), Some(("Port", "")));
        assert_eq!(read("  # Port 22"), None);
        assert_eq!(read("   "), None);
    }

    #[test]
    fn words_are_joined_by_quotes_and_ended_by_a_comment() {
        let some = |words: &[&str]| Some(words.iter().map(ToString::to_string).collect());
        assert_eq!(words("a \"b c\" d'e f'"), some(&["a", "b c", "de f"]));
        assert_eq!(
            words(r#"a\ b "c\"d\ e" \n"#),
            some(&["a b", "c\"d\\ e", "\\n"])
        );
        assert_eq!(words("a # b"), some(&["a"]));
        assert_eq!(words("a#b \"\""), some(&["a#b", ""]));
        assert_eq!(words("a \"b"), None);
    }
}
