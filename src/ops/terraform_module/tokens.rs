//! Splits the text of HCL into tokens, as far as finding blocks needs it: strings, heredocs and comments are skipped
//! as a whole.

/// A part of a text in HCL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// A text in quotes or a heredoc, as written, without its quotes.
    Text(&'a str),
    Open,
    Close,
    Equals,
    Newline,
    Other,
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { text, at: 0 };
    let mut all = Vec::new();
    while let Some(token) = scanner.next_token() {
        all.push(token);
    }
    all
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else if first != '\n' && first.is_whitespace() {
                self.at += first.len_utf8();
            } else {
                return Some(self.token(rest, first));
            }
        }
    }

    fn token(&mut self, rest: &'a str, first: char) -> Token<'a> {
        if rest.starts_with("<<")
            && let Some(token) = self.heredoc(rest)
        {
            return token;
        }
        if first == '"' {
            let length = text_length(rest);
            self.at += length;
            return Token::Text(rest[..length].trim_matches('"'));
        }
        if first.is_alphanumeric() || first == '_' {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            self.at += length;
            return Token::Word(&rest[..length]);
        }
        self.at += first.len_utf8();
        match first {
            '{' | '[' | '(' => Token::Open,
            '}' | ']' | ')' => Token::Close,
            '\n' => Token::Newline,
            // `==`, `=>` and the like are operators.
            '=' if !rest[1..].starts_with(['=', '>']) => Token::Equals,
            '=' | '!' | '<' | '>' => {
                self.at += usize::from(rest[first.len_utf8()..].starts_with(['=', '>']));
                Token::Other
            }
            _ => Token::Other,
        }
    }

    /// Skips a heredoc: `<<END` or `<<-END`, up to a line with that word alone.
    fn heredoc(&mut self, rest: &'a str) -> Option<Token<'a>> {
        let start = rest.trim_start_matches("<<");
        let start = start.strip_prefix('-').unwrap_or(start);
        let line_end = start.find('\n')?;
        let word = start[..line_end].trim_end();
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if word.is_empty() || !word.chars().all(is_word) {
            return None;
        }
        let body = &start[line_end + 1..];
        let mut length = 0;
        for line in body.split_inclusive('\n') {
            if line.trim() == word {
                break;
            }
            length += line.len();
        }
        let skipped = rest.len() - body.len() + length;
        let end = self.text[self.at + skipped..]
            .find(word)
            .map_or(0, |at| at + word.len());
        self.at += skipped + end;
        Some(Token::Text(&body[..length]))
    }
}

/// Returns the length of a text in quotes, with them. Interpolations may contain further texts.
fn text_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    // The open parts: `"` for a text, `{` for an interpolation or a brace in it.
    let mut open: Vec<u8> = vec![b'"'];
    let mut at = 1;
    while at < bytes.len() && !open.is_empty() {
        let in_text = open.last() == Some(&b'"');
        match bytes[at] {
            b'\\' if in_text => at += 1,
            b'"' if in_text => drop(open.pop()),
            b'"' => open.push(b'"'),
            b'$' | b'%' if in_text && bytes.get(at + 1) == Some(&b'{') => {
                open.push(b'{');
                at += 1;
            }
            b'{' if !in_text => open.push(b'{'),
            b'}' if !in_text => drop(open.pop()),
            // A text ends with its line at the latest, so that a missing quote spoils little.
            b'\n' if open.len() == 1 => break,
            _ => {}
        }
        at += 1;
    }
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_with_interpolations_heredocs_and_comments_are_one_part() {
        let text =
            "a = \"x${f(\"}\", {b = 1})}y\" # c = {\n/* } */ d = <<-END\n  } \" {\n  END\ne { }\n";
        let words: Vec<String> = tokens(text).iter().map(|it| format!("{it:?}")).collect();
        insta::assert_snapshot!(words.join(" "), @r#"Word("a") Equals Text("x${f(\"}\", {b = 1})}y") Newline Word("d") Equals Text("  } \" {\n") Newline Word("e") Open Close Newline"#);
    }

    proptest! {
        #[test]
        fn any_text_has_tokens(text in "[a\"${}<=\\-E\n#/*é]{0,60}") {
            let found = tokens(&text);
            prop_assert!(found.len() <= text.len());
        }
    }
}
