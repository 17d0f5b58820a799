//! Patterns with `*` and `?`, and lists of them.

/// Whether a text is like a pattern: `*` stands for any characters, `?` for one.
pub(super) fn matches(text: &str, pattern: &str) -> bool {
    let (text, pattern) = (text.as_bytes(), pattern.as_bytes());
    let (mut at, mut on) = (0, 0);
    // Where the last star is, and the text that it stands for begins after.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(on) {
            Some(b'*') => {
                star = Some((on, at));
                on += 1;
            }
            Some(b'?') => (at, on) = (at + 1, on + 1),
            Some(byte) if *byte == text[at] => (at, on) = (at + 1, on + 1),
            _ => {
                let Some((place, taken)) = star else {
                    return false;
                };
                star = Some((place, taken + 1));
                (at, on) = (taken + 1, place + 1);
            }
        }
    }
    pattern[on..].iter().all(|byte| *byte == b'*')
}

/// Whether a text is like one of the patterns between commas, and like none that begins with `!`.
pub(super) fn matches_list(text: &str, patterns: &str) -> bool {
    let mut found = false;
    for pattern in patterns.split(',') {
        match pattern.strip_prefix('!') {
            Some(unwanted) if matches(text, unwanted) => return false,
            Some(_) => {}
            None => found |= matches(text, pattern),
        }
    }
    found
}

/// As [`matches_list`] for names of hosts, in which case does not count.
pub(super) fn matches_host(host: &str, patterns: &str) -> bool {
    matches_list(&host.to_ascii_lowercase(), &patterns.to_ascii_lowercase())
}

/// Whether a host is meant by the words of a `Host` line, in which case counts.
pub(super) fn is_meant(host: &str, words: &[String]) -> bool {
    let mut found = false;
    for word in words {
        match word.strip_prefix('!') {
            Some(unwanted) if matches(host, unwanted) => return false,
            Some(_) => {}
            None => found |= matches(host, word),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        assert!(matches("web1.example", "web?.*"));
        assert!(matches("", "*"));
        assert!(matches("aXbXc", "a*b*c"));
        assert!(!matches("web", "web?"));
        assert!(!matches("web", "?"));
        assert!(!matches("", "?"));
        assert!(!matches(&"a".repeat(3000), &("*a".repeat(300) + "b")));
    }

    #[test]
    fn an_unwanted_pattern_counts_more_than_all_others() {
        assert!(matches_list("a", "b,a"));
        assert!(!matches_list("a", "a,!a"));
        assert!(!matches_list("a", "!b"));
        assert!(matches_host("WEB", "web"));
        assert!(!is_meant("WEB", &["web".to_owned()]));
        assert!(!is_meant("a", &["*".to_owned(), "!a".to_owned()]));
    }
}
