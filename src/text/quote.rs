//! Words as a shell reads them.

/// Quotes a word for a shell, where it needs that.
pub fn quote_for_shell(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\"'\"'"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote_for_shell as quote;

    #[test]
    fn words_that_need_it_are_quoted() {
        assert_eq!(quote("a-b.c"), "a-b.c");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\"'\"'s'");
    }
}
