//! Removal of logins from URLs, so that messages and records do not reveal passwords.

/// Removes the login, which is the part before `@`, from each URL in a text.
pub fn without_logins(text: &str) -> String {
    let ends = |c: char| c == '/' || c.is_whitespace() || matches!(c, '\'' | '"');
    let mut stripped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        stripped.push_str(before);
        rest = split_login(after, ends).1;
    }
    stripped.push_str(rest);
    stripped
}

/// Replaces a login that has a password by `<redacted>`, as Salt does.
pub fn with_login_redacted(url: &str) -> String {
    let split = url.split_once("://");
    let split = split.map(|(scheme, rest)| (scheme, split_login(rest, |c| c == '/')));
    match split {
        Some((scheme, (Some(login), rest))) if login.contains(':') => {
            format!("{scheme}://<redacted>@{rest}")
        }
        _ => url.to_owned(),
    }
}

/// Splits the login from the text after the `://` of a URL. The remaining text starts after the `@`.
fn split_login(text: &str, ends: impl FnMut(char) -> bool) -> (Option<&str>, &str) {
    let end = text.find(ends).unwrap_or(text.len());
    match text[..end].rfind('@') {
        Some(at) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_in_a_text_are_left_out() {
        let text = "could not reach 'https://me:s3cret@host/a.git' or ssh://git@host:22/b";
        insta::assert_snapshot!(
            without_logins(text),
            @"could not reach 'https://host/a.git' or ssh://host:22/b"
        );
        assert_eq!(without_logins("git@host:a.git"), "git@host:a.git");
    }

    #[test]
    fn a_login_without_a_password_is_shown_where_only_passwords_are_hidden() {
        let cases = [
            ("https://a:b@x.example/r", "https://<redacted>@x.example/r"),
            ("https://a:b@c@x.example", "https://<redacted>@x.example"),
            ("git@x.example:r", "git@x.example:r"),
            ("ssh://git@x.example/r", "ssh://git@x.example/r"),
            ("https://x.example/a:b@c", "https://x.example/a:b@c"),
        ];
        for (url, shown) in cases {
            assert_eq!(with_login_redacted(url), shown);
        }
    }
}
