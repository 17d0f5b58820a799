//! Asks a server over SSH (`git-lfs-authenticate`) for the URL of its HTTP API and for access headers.

use serde_json::Value;

use super::Error;
use super::endpoint::{HttpEndpoint, SshEndpoint};
use super::error::sanitize;
use super::settings::LfsSettings;
use super::ssh::run_remote_command;
use crate::text::force_quote_word;
use crate::value::Secrets;

/// The HTTP API's endpoint with access headers, which are secret.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ApiAccess {
    pub(super) endpoint: HttpEndpoint,
    /// The names and values of headers that each request needs.
    pub(super) headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ApiAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiAccess")
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}

/// Runs `git-lfs-authenticate` on the server.
///
/// # Errors
///
/// The server lacks the program, or its response is invalid.
pub(super) fn authenticate(settings: &LfsSettings, to: &SshEndpoint) -> Result<ApiAccess, Error> {
    let words = format!("git-lfs-authenticate {} upload", force_quote_word(&to.path));
    let output = run_remote_command(settings, to, &words, Vec::new())?;
    let usual = to.http_endpoint();
    if !output.is_ok() {
        let response = sanitize(
            &String::from_utf8_lossy(&output.stderr),
            &Secrets::default(),
        );
        return Err(Error::NoServer(format!(
            "`{}` has neither `git-lfs-transfer` nor `git-lfs-authenticate`: {response}",
            to.display_address()
        )));
    }
    parse_access(&output.stdout, usual).ok_or_else(|| Error::InvalidResponse {
        server: to.display_address(),
        reason: "`git-lfs-authenticate` returned no valid URL".to_owned(),
    })
}

fn parse_access(bytes: &[u8], usual: HttpEndpoint) -> Option<ApiAccess> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let href = value
        .get("href")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let url = href.trim_end_matches('/');
    let endpoint = match url.split_once("://") {
        Some(("http" | "https", rest)) if !rest.split('/').next()?.contains('@') => {
            HttpEndpoint::without_login(url.to_owned())
        }
        None if url.is_empty() => usual,
        _ => return None,
    };
    let headers = match value.get("header") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(headers)) => headers
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()?,
        Some(_) => return None,
    };
    Some(ApiAccess { endpoint, headers })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usual() -> HttpEndpoint {
        HttpEndpoint {
            url: "https://h/r.git/info/lfs".into(),
            login: None,
            fallback_url: None,
        }
    }

    #[test]
    fn the_server_says_where_to_go_and_with_what() {
        let text = br#"{"href": "https://lfs/x/", "header": {"Authorization": "t0ken"}}"#;
        let granted = parse_access(text, usual()).unwrap();
        assert_eq!(granted.endpoint.url, "https://lfs/x");
        assert_eq!(granted.headers[0].1, "t0ken");
        assert!(!format!("{granted:?}").contains("t0ken"));
        assert_eq!(parse_access(b"{}", usual()).unwrap().endpoint, usual());
        for text in [
            &br#"{"href": "file:///x"}"#[..],
            br#"{"header": 1}"#,
            b"welcome",
        ] {
            assert_eq!(parse_access(text, usual()), None);
        }
    }

    proptest! {
        /// No bytes from a server make the parser panic.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            parse_access(&bytes, usual());
        }
    }
}
