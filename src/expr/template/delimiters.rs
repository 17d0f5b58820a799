//! The delimiters of tags, and the lengths of expressions and strings between them.

/// The delimiters of blocks, variables and comments, in this order.
#[derive(Debug, Clone)]
pub(super) struct Delimiters(pub(super) [[String; 2]; 3]);

impl Default for Delimiters {
    fn default() -> Self {
        Self([["{%", "%}"], ["{{", "}}"], ["{#", "#}"]].map(|pair| pair.map(str::to_owned)))
    }
}

/// Returns the length of an expression up to its end delimiter, ignoring delimiters in strings and brackets.
pub(super) fn expression_length(text: &str, end: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if depth == 0 && rest.starts_with(end) {
            return at;
        }
        let Some(first) = rest.chars().next() else {
            break;
        };
        at += match first {
            '\'' | '"' => string_length(rest),
            '(' | '[' | '{' => {
                depth += 1;
                1
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            other => other.len_utf8(),
        };
    }
    text.len()
}

/// Returns the length of the string at the start of the text, including its quotes.
pub(super) fn string_length(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, quote)) = characters.next() else {
        return 0;
    };
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            end if end == quote => return at + end.len_utf8(),
            _ => {}
        }
    }
    text.len()
}
