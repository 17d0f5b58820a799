//! URLs: relative addresses, and the removal of logins, so that messages and records do not reveal passwords.

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

/// Whether the text is an address on the web.
pub fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// Returns the address of the folder that a file on the web lies in, without a final slash.
pub fn folder_of_url(url: &str) -> &str {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (start, _) = split_origin(url);
    match url.rfind('/') {
        Some(end) if end >= start => &url[..end],
        _ => url,
    }
}

/// Returns the address of a file, which is relative to a folder on the web.
pub fn join_url(folder: &str, file: &str) -> String {
    if is_url(file) {
        return file.to_owned();
    }
    let (start, path) = split_origin(folder);
    let base = if file.starts_with('/') { "" } else { path };
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("{}/{}", &folder[..start], parts.join("/"))
}

/// Returns the length of the scheme and the host of a URL, and the path behind them.
fn split_origin(url: &str) -> (usize, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let start = url[host..].find('/').map_or(url.len(), |at| host + at);
    (start, &url[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_address_starts_at_the_folder_of_the_file() {
        let join = |file| join_url(folder_of_url("https://x.example:1/a/b.yaml?ref=v/1"), file);
        let joined = [
            "c.yaml",
            "../c.yaml",
            "../../../c.yaml",
            "/c/./d.yaml",
            "http://y/z",
        ]
        .map(join);
        insta::assert_snapshot!(joined.join("\n"), @"
        https://x.example:1/a/c.yaml
        https://x.example:1/c.yaml
        https://x.example:1/c.yaml
        https://x.example:1/c/d.yaml
        http://y/z
        ");
        assert_eq!(folder_of_url("https://x.example"), "https://x.example");
        assert_eq!(
            folder_of_url("https://x.example/a.yaml"),
            "https://x.example"
        );
    }

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
