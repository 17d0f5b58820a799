//! Shell quoting of words, as Python's `shlex` does it and in the usual style with `'\''`.

/// Quotes a word for a shell if necessary, as Python's `shlex.quote` does. A single quote becomes `'"'"'`.
pub fn shlex_quote(word: &str) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\"'\"'"))
}

/// Quotes words with [`shlex_quote`] and joins them with spaces.
pub fn shlex_join<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    join_quoted(words, shlex_quote)
}

/// Quotes a word for a shell if necessary. A single quote becomes `'\''`.
pub fn quote_word(word: &str) -> String {
    if is_plain(word) {
        return word.to_owned();
    }
    force_quote_word(word)
}

/// Quotes words with [`quote_word`] and joins them with spaces.
pub fn quote_words<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    join_quoted(words, quote_word)
}

/// Quotes a word for a shell even if unnecessary. A single quote becomes `'\''`.
pub fn force_quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Splits a line into words as Python's `shlex.split` does. A word ends before `comment` outside of quotes,
/// and so does the line.
///
/// None if a quote is not closed, or if the line ends with a backslash.
pub fn shlex_split(line: &str, comment: Option<char>) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            c if Some(c) == comment => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        '"' => break,
                        '\\' => match characters.next()? {
                            c @ ('"' | '\\') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether a shell reads a word literally without quotes.
fn is_plain(word: &str) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    !word.is_empty() && word.chars().all(is_safe)
}

fn join_quoted<W: AsRef<str>>(
    words: impl IntoIterator<Item = W>,
    quote: fn(&str) -> String,
) -> String {
    let words: Vec<String> = words.into_iter().map(|word| quote(word.as_ref())).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_need_it_are_quoted() {
        for plain in ["a-b.c", "/etc/x_1", "a=b:c,d", "50%+@"] {
            assert_eq!(shlex_quote(plain), plain);
            assert_eq!(quote_word(plain), plain);
        }
        for (word, expected) in [("", "''"), ("a b", "'a b'"), ("1~2", "'1~2'"), ("é", "'é'")] {
            assert_eq!(shlex_quote(word), expected);
            assert_eq!(quote_word(word), expected);
        }
    }

    #[test]
    fn a_quote_within_a_word_is_quoted_as_python_does_or_escaped() {
        assert_eq!(shlex_quote("it's"), "'it'\"'\"'s'");
        assert_eq!(quote_word("it's"), r"'it'\''s'");
        assert_eq!(force_quote_word("a'; rm x"), r"'a'\''; rm x'");
    }

    #[test]
    fn a_plain_word_is_quoted_where_that_is_wanted() {
        assert_eq!(force_quote_word("a/b"), "'a/b'");
        assert_eq!(force_quote_word(""), "''");
    }

    #[test]
    fn a_line_is_split_into_words_as_python_splits_it() {
        let words = shlex_split(r#"a 'b c' "d \"e" f\ g '' ;"#, None).unwrap();
        assert_eq!(words, ["a", "b c", "d \"e", "f g", "", ";"]);
        assert_eq!(shlex_split("a # b", Some('#')).unwrap(), ["a"]);
        assert_eq!(shlex_split("a # b", None).unwrap(), ["a", "#", "b"]);
        assert_eq!(shlex_split("it's", None), None);
    }

    #[test]
    fn words_are_joined_by_spaces() {
        assert_eq!(shlex_join(["a", "b c", "d'"]), "a 'b c' 'd'\"'\"''");
        assert_eq!(quote_words(["a", "b c", "d'"]), r"a 'b c' 'd'\'''");
        assert_eq!(quote_words(Vec::<String>::new()), "");
    }
}
