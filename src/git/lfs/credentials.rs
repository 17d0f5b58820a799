//! Reads logins from the user's git credential helpers. Never prompts, and never puts a secret on a command
//! line.

use super::settings::{GIT_TIME_LIMIT, LfsSettings};
use crate::system::process::{self, Helper};
use crate::text::base64;

/// A user name and a password.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Returns the value of the `Authorization` header.
    pub(super) fn authorization_header(&self) -> String {
        let both = format!("{}:{}", self.user, self.password);
        format!("Basic {}", base64::encode(both.as_bytes()))
    }

    /// Returns the texts that must be redacted in messages.
    pub(super) fn secrets(&self) -> Vec<String> {
        let both = format!("{}:{}", self.user, self.password);
        vec![base64::encode(both.as_bytes()), self.password.clone()]
    }
}

/// Asks git's credential helpers for the login of a URL.
pub(super) fn fill(settings: &LfsSettings, url: &str, user: Option<&str>) -> Option<Credentials> {
    let answer = run_helper(settings, "fill", &format_request(url, user, None)?)?;
    let value = |name: &str| {
        let mut lines = answer.lines().filter_map(|line| line.split_once('='));
        let found = lines.find(|(key, _)| *key == name);
        found.map(|(_, value)| value.to_owned())
    };
    Some(Credentials {
        user: value("username").unwrap_or_default(),
        password: value("password")?,
    })
}

/// Reports to git's credential helpers whether a login was accepted.
pub(super) fn report_result(settings: &LfsSettings, url: &str, login: &Credentials, right: bool) {
    let word = if right { "approve" } else { "reject" };
    if let Some(request) = format_request(url, Some(&login.user), Some(&login.password)) {
        // A helper that cannot store the login must not stop the request.
        run_helper(settings, word, &request);
    }
}

/// Formats a request for git's credential helpers; `None` if a value contains a line end and could inject
/// fields.
fn format_request(url: &str, user: Option<&str>, password: Option<&str>) -> Option<String> {
    let (protocol, rest) = url.split_once("://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let fields = [
        ("protocol", Some(protocol)),
        ("host", Some(host)),
        ("path", Some(path).filter(|path| !path.is_empty())),
        ("username", user),
        ("password", password),
    ];
    let mut text = String::new();
    for (name, value) in fields {
        let Some(value) = value else { continue };
        if value.contains(['\n', '\r', '\0']) {
            return None;
        }
        text.extend([name, "=", value, "\n"]);
    }
    text.push('\n');
    Some(text)
}

fn run_helper(settings: &LfsSettings, word: &str, request: &str) -> Option<String> {
    let words = [
        "git",
        "-c",
        "credential.interactive=false",
        "credential",
        word,
    ];
    let mut variables = settings.git_variables.clone();
    variables.push(("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()));
    let helper = Helper {
        cwd: Some(settings.root.clone()),
        extra_env: variables,
        stdin: request.as_bytes().to_vec(),
        time_limit: GIT_TIME_LIMIT,
        is_remote: true,
        ..Helper::new(words)
    };
    let output = process::run(&helper).ok()?;
    output.is_ok().then(|| output.text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_sent_as_basic_and_not_shown() {
        let login = Credentials {
            user: "Aladdin".into(),
            password: "open sesame".into(),
        };
        assert_eq!(
            login.authorization_header(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        assert!(!format!("{login:?}").contains("sesame"));
    }

    #[test]
    fn a_value_that_could_be_read_as_two_is_not_asked_for() {
        let whole = format_request("https://h:8/a/b", Some("me"), None).unwrap();
        assert_eq!(whole, "protocol=https\nhost=h:8\npath=a/b\nusername=me\n\n");
        assert_eq!(
            format_request("https://h/a", Some("me\nhost=evil"), None),
            None
        );
    }

    #[test]
    fn a_helper_of_git_gives_and_forgets_a_login() {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut helper = Helper::new([&["git"], words].concat());
            helper.cwd = Some(folder.path().to_owned());
            assert!(process::run(&helper).unwrap().is_ok());
        };
        git(&["init", "-q", "."]);
        let helper = "!f() { test $1 = get && echo username=ann && echo password=pw=1; }; f";
        git(&["config", "credential.helper", helper]);
        git(&["remote", "add", "origin", "https://h/x"]);
        let login = |is_trusted| {
            let repository = crate::git::Repository::discover(folder.path()).unwrap();
            let repository = repository.unwrap().trusted_if(|_| is_trusted);
            let env = crate::system::env::Env::default();
            let settings = LfsSettings::discover(&repository, None, &env).unwrap();
            fill(&settings, "https://h/x", None)
        };
        assert!(login(false).is_none());
        let login = login(true).unwrap();
        assert_eq!((&*login.user, &*login.password), ("ann", "pw=1"));
    }
}
