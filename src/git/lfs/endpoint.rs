//! Determines the address of a repository's git-lfs server from URLs, with the rules of git-lfs.

use super::Error;
use crate::value::decode_percent;

/// The address of a server, by protocol.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum LfsEndpoint {
    /// A server with the HTTP API of git-lfs.
    Http(HttpEndpoint),
    /// A server reached over SSH, which runs `git-lfs-transfer` or `git-lfs-authenticate`.
    Ssh(SshEndpoint),
}

/// A server with the HTTP API of git-lfs.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct HttpEndpoint {
    /// The URL without user, password and trailing `/`.
    pub(super) url: String,
    /// The user and password that the configured URL contained.
    pub(super) login: Option<(String, Option<String>)>,
    /// A second URL to try if the first one responds with 404.
    pub(super) fallback_url: Option<String>,
}

/// A server reached over SSH, which runs `git-lfs-transfer` or `git-lfs-authenticate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SshEndpoint {
    /// The host, with the user if one is configured: `[user@]host`.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// The path of the repository on the server.
    pub(super) path: String,
}

impl std::fmt::Debug for HttpEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpEndpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for LfsEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.display_address())
    }
}

impl HttpEndpoint {
    /// Creates an endpoint whose URL contains no login.
    pub(super) fn without_login(url: String) -> Self {
        Self {
            url,
            login: None,
            fallback_url: None,
        }
    }
}

impl LfsEndpoint {
    /// Returns the address without secrets, for messages.
    pub(super) fn display_address(&self) -> String {
        match self {
            Self::Http(http) => http.url.clone(),
            Self::Ssh(ssh) => ssh.display_address(),
        }
    }

    /// Returns the server of a repository with this URL: the path `.git/info/lfs` below it.
    pub(super) fn of_repository(url: &str) -> Result<Self, Error> {
        match parse_url(url)? {
            Self::Http(mut http) => {
                http.url = api_url(&http.url);
                Ok(Self::Http(http))
            }
            ssh @ Self::Ssh(_) => Ok(ssh),
        }
    }

    /// Returns the server that a setting names. The URL may also be that of a repository.
    pub(super) fn of_setting(url: &str) -> Result<Self, Error> {
        match parse_url(url)? {
            Self::Http(mut http) => {
                if http.url.strip_suffix(".git").is_some() {
                    http.url = api_url(&http.url);
                } else if !http.url.ends_with("/info/lfs") && has_path(&http.url) {
                    http.fallback_url = Some(api_url(&http.url));
                }
                Ok(Self::Http(http))
            }
            ssh @ Self::Ssh(_) => Ok(ssh),
        }
    }
}

impl SshEndpoint {
    /// Returns the address without secrets, for messages.
    pub(super) fn display_address(&self) -> String {
        let slash = if self.path.starts_with('/') { "" } else { "/" };
        let port = self.port.map(|port| format!(":{port}"));
        let port = port.unwrap_or_default();
        format!("ssh://{}{port}{slash}{}", self.host, self.path)
    }

    /// Returns the usual address of the HTTP API for the same repository.
    pub(super) fn http_endpoint(&self) -> HttpEndpoint {
        let host = self.host.rsplit('@').next().unwrap_or(&self.host);
        let path = self.path.trim_start_matches('/').trim_end_matches('/');
        HttpEndpoint::without_login(api_url(&format!("https://{host}/{path}")))
    }
}

/// Refuses a text that is neither the URL of a server or repository nor the name of a remote.
pub fn check_url(url: &str) -> Result<(), Error> {
    if is_name(url) {
        return Ok(());
    }
    parse_url(url).map(|_| ())
}

/// Whether a text has the form of a remote's name.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    !text.starts_with(['-', '.']) && text.chars().all(allowed)
}

/// Returns the URL of the HTTP API for the repository with this URL.
fn api_url(url: &str) -> String {
    format!("{}.git/info/lfs", url.strip_suffix(".git").unwrap_or(url))
}

fn has_path(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.contains('/')
}

/// Parses the URL of a server or of a repository.
fn parse_url(url: &str) -> Result<LfsEndpoint, Error> {
    if url.chars().any(|c| c.is_control() || c.is_whitespace()) || url.starts_with('-') {
        return invalid("the URL of the git-lfs server is not valid");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return parse_scp_like(url);
    };
    match scheme.to_ascii_lowercase().as_str() {
        scheme @ ("http" | "https") => parse_http(scheme, rest),
        "git" => parse_http("https", rest),
        "ssh" | "git+ssh" | "ssh+git" => parse_ssh(rest),
        "file" => invalid("a local repository has no git-lfs server"),
        _ => invalid("the URL of the git-lfs server has an unknown scheme"),
    }
}

fn parse_http(scheme: &str, rest: &str) -> Result<LfsEndpoint, Error> {
    let rest = rest.trim_end_matches('/');
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (login, host) = match authority.rsplit_once('@') {
        Some((login, host)) => (Some(login), host),
        None => (None, authority),
    };
    if host.is_empty() || path.contains(['?', '#']) {
        return invalid("the URL of the git-lfs server has no host, or has a query or a fragment");
    }
    let login = login.map(|login| match login.split_once(':') {
        Some((user, password)) => (decode_percent(user), Some(decode_percent(password))),
        None => (decode_percent(login), None),
    });
    let url = format!("{scheme}://{host}{path}");
    Ok(LfsEndpoint::Http(HttpEndpoint {
        login,
        ..HttpEndpoint::without_login(url)
    }))
}

fn parse_ssh(rest: &str) -> Result<LfsEndpoint, Error> {
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = match authority.rsplit_once('@') {
        // SSH cannot use a password from a URL, so it is dropped.
        Some((login, host)) => (login.split(':').next(), host),
        None => (None, authority),
    };
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => return invalid_ssh(),
        },
        _ => (host, None),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    // A path that starts with `/~` is relative to a home folder, as in git.
    let path = match path.strip_prefix("/~") {
        Some(_) => &path[1..],
        None => path,
    };
    ssh_endpoint(user, host, port, path)
}

/// Parses `[user@]host:path`; refuses the path of a local folder.
fn parse_scp_like(url: &str) -> Result<LfsEndpoint, Error> {
    let colon = url.find(':');
    let Some(colon) = colon.filter(|colon| !url[..*colon].contains('/')) else {
        return invalid("a local repository has no git-lfs server");
    };
    let (host, path) = (&url[..colon], &url[colon + 1..]);
    if path.starts_with(':') {
        // Git's `ext::…` and similar transports run programs.
        return invalid("the URL of the git-lfs server has an unknown scheme");
    }
    let (user, host) = match host.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, host),
    };
    ssh_endpoint(user, host, None, path)
}

fn ssh_endpoint(
    user: Option<&str>,
    host: &str,
    port: Option<u16>,
    path: &str,
) -> Result<LfsEndpoint, Error> {
    let whole = match user {
        Some(user) => format!("{user}@{host}"),
        None => host.to_owned(),
    };
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "._-+%@:~".contains(c);
    let is_bad = host.is_empty()
        || host.starts_with('-')
        || whole.starts_with('-')
        || !whole.chars().all(is_usual);
    if is_bad || path.is_empty() || path.starts_with('-') {
        return invalid_ssh();
    }
    Ok(LfsEndpoint::Ssh(SshEndpoint {
        host: whole,
        port,
        path: path.to_owned(),
    }))
}

fn invalid<T>(why: &str) -> Result<T, Error> {
    Err(Error::NoServer(why.to_owned()))
}

fn invalid_ssh() -> Result<LfsEndpoint, Error> {
    invalid("the SSH address of the git-lfs server has no valid host and path")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn repository(url: &str) -> String {
        LfsEndpoint::of_repository(url)
            .map_or_else(|error| error.to_string(), |it| it.display_address())
    }

    #[test]
    fn the_server_of_a_repository_is_below_it_as_git_lfs_says() {
        for (url, server) in [
            ("https://h/o/r", "https://h/o/r.git/info/lfs"),
            ("https://h/o/r.git/", "https://h/o/r.git/info/lfs"),
            ("http://me:pw@h:8080/r", "http://h:8080/r.git/info/lfs"),
            ("git://h/r.git", "https://h/r.git/info/lfs"),
            ("git@h:o/r.git", "ssh://git@h/o/r.git"),
            ("ssh://git:pw@h:22/o/r", "ssh://git@h:22/o/r"),
            ("ssh://[::1]/r", "ssh://::1/r"),
        ] {
            assert_eq!(repository(url), server, "{url}");
        }
    }

    #[test]
    fn a_server_that_a_setting_names_is_taken_as_it_is() {
        let setting = |url: &str| match LfsEndpoint::of_setting(url).unwrap() {
            LfsEndpoint::Http(http) => (http.url, http.fallback_url),
            LfsEndpoint::Ssh(ssh) => (ssh.display_address(), None),
        };
        let same = |url: &str| (url.to_owned(), None);
        assert_eq!(
            setting("https://h/r.git/info/lfs"),
            same("https://h/r.git/info/lfs")
        );
        assert_eq!(setting("https://h/r.git"), same("https://h/r.git/info/lfs"));
        assert_eq!(setting("http://h:1/"), same("http://h:1"));
        let (url, otherwise) = setting("http://h/o/r");
        assert_eq!(url, "http://h/o/r");
        assert_eq!(otherwise.unwrap(), "http://h/o/r.git/info/lfs");
    }

    #[test]
    fn a_login_in_a_url_is_kept_apart() {
        let Ok(LfsEndpoint::Http(http)) = LfsEndpoint::of_setting("https://me:p%40w@h/x") else {
            panic!("it is no HTTP endpoint");
        };
        let login = Some(("me".to_owned(), Some("p@w".to_owned())));
        assert_eq!(http.login, login);
        assert!(!format!("{http:?}").contains("p@w"));
    }

    #[test]
    fn what_has_no_server_or_is_dangerous_is_refused() {
        for url in [
            "/srv/r.git",
            "../r",
            "file:///srv/r",
            "ext::sh -c x",
            "ext::x",
            "-oProxyCommand=x:y",
            "ssh://-oProxyCommand=x/y",
            "ssh://h:x/y",
            "ssh://h",
            "https://",
            "https:///x",
            "h:-x",
            "https://h/x?y",
            "rsync://h/x",
            "a b",
            "",
            "user@-h:x",
        ] {
            let error = LfsEndpoint::of_repository(url);
            assert!(matches!(error, Err(Error::NoServer(_))), "{url}: {error:?}");
        }
    }

    #[test]
    fn a_server_of_ssh_has_its_http_api_on_the_same_host() {
        let Ok(LfsEndpoint::Ssh(ssh)) = LfsEndpoint::of_repository("git@h:o/r") else {
            panic!("it is no SSH endpoint");
        };
        assert_eq!(ssh.http_endpoint().url, "https://h/o/r.git/info/lfs");
    }

    proptest! {
        /// Any text is either parsed or refused, without a panic.
        #[test]
        fn any_text_is_read_or_refused(url in ".{0,40}") {
            LfsEndpoint::of_repository(&url).ok();
            LfsEndpoint::of_setting(&url).ok();
        }
    }
}
