//! The addresses of git repositories: their parts, and their login.

/// An address of a git repository with the revision and the path of its fragment: `ADDRESS#REVISION:PATH`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceUrl {
    /// The address that git takes.
    pub address: String,
    /// A branch, tag or commit.
    pub revision: Option<String>,
    /// A folder or file in the repository; empty for its root.
    pub path: String,
}

/// The user and the password of an address of HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpLogin {
    pub user: String,
    pub password: Option<String>,
}

impl std::fmt::Debug for HttpLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpLogin(<<REDACTED>>)")
    }
}

impl SourceUrl {
    /// Splits an address from its fragment.
    pub fn parse(text: &str) -> Self {
        let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
        let (revision, path) = fragment.split_once(':').unwrap_or((fragment, ""));
        Self {
            address: address.to_owned(),
            revision: Some(revision.to_owned()).filter(|revision| !revision.is_empty()),
            path: path.trim_matches('/').to_owned(),
        }
    }

    /// Takes the password out of the address, and the user of an address of HTTP.
    ///
    /// Returns them for HTTP; SSH takes no password from an address.
    pub fn take_login(&mut self) -> Option<HttpLogin> {
        let (scheme, rest) = self.address.split_once("://")?;
        let end = rest.find('/').unwrap_or(rest.len());
        let at = rest[..end].rfind('@')?;
        let (login, rest) = (&rest[..at], &rest[at + 1..]);
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let is_http = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        let (user, password) = (user.to_owned(), password.map(str::to_owned));
        self.address = if is_http || user.is_empty() {
            format!("{scheme}://{rest}")
        } else {
            format!("{scheme}://{user}@{rest}")
        };
        is_http.then_some(HttpLogin { user, password })
    }
}

impl std::fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = self.clone();
        shown.take_login();
        f.write_str(&shown.address)?;
        match (&shown.revision, &*shown.path) {
            (None, "") => Ok(()),
            (Some(revision), "") => write!(f, "#{revision}"),
            (revision, path) => write!(f, "#{}:{path}", revision.as_deref().unwrap_or_default()),
        }
    }
}

/// Whether a text is an address for git, and not a path on this machine.
pub fn is_git_address(text: &str) -> bool {
    if text.starts_with('-') {
        return false;
    }
    let (address, fragment) = match text.split_once('#') {
        Some((address, _)) => (address, true),
        None => (text, false),
    };
    let is_url = address.contains("://");
    is_url
        || is_shorthand(address)
        || fragment
        || address.trim_end_matches('/').strip_suffix(".git").is_some()
}

/// Whether the address has the form `user@host:path` or `host:path` of SSH.
pub(super) fn is_shorthand(address: &str) -> bool {
    let parts = address.split_once(':');
    parts.is_some_and(|(host, path)| {
        let is_scheme = path.starts_with("//") || ["file", "git-local"].contains(&host);
        !host.is_empty() && !host.contains('/') && !is_scheme
    })
}

/// Returns a form of an address by which two addresses of the same repository compare as equal: without scheme, login,
/// `.git` and fragment.
pub fn comparable_address(address: &str) -> String {
    let source = SourceUrl::parse(address);
    let address = source.address.as_str();
    let (rest, is_short) = match address.split_once("://") {
        Some((_, rest)) => (rest, false),
        None => match address.strip_prefix("file:") {
            Some(path) => (path, false),
            None => (address, is_shorthand(address)),
        },
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let rest = rest[..end].rfind('@').map_or(rest, |at| &rest[at + 1..]);
    let (host, path) = if is_short {
        rest.split_once(':').unwrap_or((rest, ""))
    } else {
        rest.find('/')
            .map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]))
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    format!("{}/{path}", host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fragment_has_a_revision_and_a_path() {
        let parts = |text: &str| {
            let source = SourceUrl::parse(text);
            format!("{} {:?} {:?}", source.address, source.revision, source.path)
        };
        assert_eq!(parts("https://h/r.git"), r#"https://h/r.git None """#);
        assert_eq!(
            parts("https://h/r.git#v1"),
            r#"https://h/r.git Some("v1") """#
        );
        assert_eq!(parts("g@h:r#:a/b/"), r#"g@h:r None "a/b""#);
        assert_eq!(parts("r.git#main:a"), r#"r.git Some("main") "a""#);
    }

    #[test]
    fn logins_are_taken_out_and_never_shown() {
        let mut source = SourceUrl::parse("https://me:s3cr@t@h/r.git#main");
        assert_eq!(source.to_string(), "https://h/r.git#main");
        let login = source.take_login().unwrap();
        assert_eq!(
            (&*login.user, login.password.as_deref()),
            ("me", Some("s3cr@t"))
        );
        assert_eq!(source.address, "https://h/r.git");
        assert!(!format!("{login:?}").contains("s3cr"));
        let mut ssh = SourceUrl::parse("ssh://git:pw@h:22/r.git");
        assert!(ssh.take_login().is_none());
        assert_eq!(ssh.address, "ssh://git@h:22/r.git");
        assert_eq!(SourceUrl::parse("git@h:r.git").to_string(), "git@h:r.git");
    }

    #[test]
    fn addresses_of_the_same_repository_compare_as_equal() {
        let same = [
            "https://Example.org/a/b.git",
            "http://u:p@example.org/a/b",
            "git@example.org:a/b.git",
            "ssh://git@example.org/a/b.git/",
            "https://example.org/a/b.git#v1:x",
        ];
        for address in same {
            assert_eq!(comparable_address(address), "example.org/a/b", "{address}");
        }
        assert_eq!(comparable_address("file:///srv/b.git"), "/srv/b");
        assert_ne!(
            comparable_address("https://h:1/r"),
            comparable_address("https://h:2/r")
        );
    }

    #[test]
    fn paths_are_no_addresses() {
        for path in [
            "proj",
            "./proj",
            "/srv/proj",
            "a/b.csar",
            "../x",
            "-uhttp://x",
            "--upload-pack=x.git",
        ] {
            assert!(!is_git_address(path), "{path}");
        }
        for address in [
            "https://h/r",
            "file:///r",
            "git@h:r",
            "h:r/s",
            "x/y.git",
            "x#main",
        ] {
            assert!(is_git_address(address), "{address}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split_without_a_panic(text in ".*", password in "[a-z]{6}Q[a-z]{6}") {
            let mut source = SourceUrl::parse(&text);
            drop((source.to_string(), comparable_address(&text)));
            is_git_address(&text);
            source.take_login();
            let shown = SourceUrl::parse(&format!("https://u:{password}@h/r")).to_string();
            prop_assert!(!shown.contains(&password));
        }
    }
}
