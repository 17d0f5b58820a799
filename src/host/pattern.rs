//! Pattern lists of OpenSSH, with the wildcards `*` and `?`.

use crate::text::Glob;

/// Whether a text matches the comma-separated patterns, and none of those negated with `!`.
pub(super) fn matches_list(text: &str, patterns: &str) -> bool {
    let mut found = false;
    for pattern in patterns.split(',') {
        match pattern.strip_prefix('!') {
            Some(unwanted) if matches_glob(text, unwanted) => return false,
            Some(_) => {}
            None => found |= matches_glob(text, pattern),
        }
    }
    found
}

/// Whether a host name matches the comma-separated patterns, ignoring case.
pub(super) fn matches_host(host: &str, patterns: &str) -> bool {
    matches_list(&host.to_ascii_lowercase(), &patterns.to_ascii_lowercase())
}

/// Whether a host name matches the patterns of a `Host` line, which are case-sensitive.
pub(super) fn matches_host_line(host: &str, words: &[String]) -> bool {
    let mut found = false;
    for word in words {
        match word.strip_prefix('!') {
            Some(unwanted) if matches_glob(host, unwanted) => return false,
            Some(_) => {}
            None => found |= matches_glob(host, word),
        }
    }
    found
}

fn matches_glob(text: &str, pattern: &str) -> bool {
    Glob::without_brackets(pattern).matches(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwanted_pattern_counts_more_than_all_others() {
        assert!(matches_list("a", "b,a"));
        assert!(!matches_list("a", "a,!a"));
        assert!(!matches_list("a", "!b"));
        assert!(matches_host("WEB", "web"));
        assert!(!matches_host_line("WEB", &["web".to_owned()]));
        assert!(!matches_host_line("a", &["*".to_owned(), "!a".to_owned()]));
    }
}
