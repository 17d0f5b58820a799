//! Fetches the files on the web that imports and includes name.
//!
//! Each address is fetched at most once, only with the permission of the user, and within limits of time, size
//! and number.

use std::collections::HashMap;

use super::repository_lookup::NETWORK_PERMISSION;
use crate::diagnostic::{Check, Diagnostic, Diagnostics, SourceId, Span};
use crate::system::http::{self, Limits, Request};
use crate::text::without_logins;
use crate::yaml::Node;

/// The maximum number of files that one command fetches.
const MAX_FILES: usize = 500;

/// The maximum size of a fetched file, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The files on the web, by address.
#[derive(Debug, Default)]
pub(super) struct WebFiles {
    /// Whether the user permits to fetch files.
    pub(super) permitted: bool,
    /// The parsed files, and the problems of those that cannot be read.
    pub(super) known: HashMap<String, Result<(SourceId, Node), Diagnostics>>,
}

impl WebFiles {
    /// Fetches the text of a file that is not known yet.
    pub(super) fn fetch(&self, url: &str, span: Span, limit: u64) -> Result<String, Diagnostic> {
        let failed = |why: String| {
            let message = format!("`{}` cannot be fetched: {why}", without_logins(url));
            Diagnostic::error(message)
                .check(Check::Import)
                .label(span, "imported here")
        };
        if !self.permitted {
            return Err(not_fetched(url, span));
        }
        if self.known.len() >= MAX_FILES {
            let why = format!("more than {MAX_FILES} files on the web are imported");
            return Err(failed(why));
        }
        let request = Request {
            url: url.to_owned(),
            ..Request::default()
        };
        let limits = Limits {
            max_bytes: MAX_BYTES.min(limit),
            ..Limits::default()
        };
        let response = http::send(&request, &limits).map_err(|error| failed(error.to_string()))?;
        if response.status != 200 {
            let problem = failed(format!(
                "the server answers with status {}",
                response.status
            ));
            return Err(problem.help("check the address"));
        }
        String::from_utf8(response.body)
            .map_err(|_| failed("the answer is not UTF-8 text".to_owned()))
    }
}

/// Returns the problem of a file on the web that the user does not permit to fetch.
fn not_fetched(url: &str, span: Span) -> Diagnostic {
    Diagnostic::error(format!("`{}` was not fetched", without_logins(url)))
        .check(Check::ImportNotFetched)
        .label(span, "imported here")
        .help(format!(
            "fetch it with `--allow {NETWORK_PERMISSION}`, or save a copy next to this file and import the copy"
        ))
}
