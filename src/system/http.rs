//! A small HTTP client: one request and its response, within limits of time and size.
//!
//! Redirects are followed only on the same server. Messages contain no headers and bodies, because they may
//! contain secrets.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use jiff::Timestamp;
use ureq::http::header::{DATE, LOCATION};
use ureq::http::uri::Authority;
use ureq::http::{Uri, request};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use super::limit_hints::start_problem;
use super::signals::AnswerWait;

/// The interval for checking whether a signal has arrived.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The maximum number of redirects of a request.
const MAX_REDIRECTS: usize = 3;

/// The maximum size of a certificate bundle, in bytes.
const MAX_CA_BUNDLE_BYTES: u64 = 4 << 20;

/// The usual locations of the system's trusted certificates.
const CA_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// An HTTP request: `GET`, or `POST` if it has a body.
#[derive(Clone, Default)]
pub struct Request {
    /// The URL, without user and password.
    pub url: String,
    /// The header names and values, which may be secret.
    pub headers: Vec<(String, String)>,
    /// The body of a `POST` request; `None` makes it a `GET`.
    pub body: Option<Vec<u8>>,
}

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The limits of a request in time and size, and its trusted certificates.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The time limit for establishing the connection.
    pub connect: Duration,
    /// The time limit of the whole request.
    pub total: Duration,
    /// The maximum size of the response body.
    pub max_bytes: u64,
    /// A file of certificates to trust instead of those of the system.
    pub roots: Option<PathBuf>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            total: Duration::from_mins(1),
            max_bytes: 4 << 20,
            roots: None,
        }
    }
}

/// A response, whatever its HTTP status is.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status, such as 200.
    pub status: u16,
    pub body: Vec<u8>,
    /// The server's time when it sent the response.
    pub server_time: Option<Timestamp>,
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// An error that prevents a response.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL or a header is invalid.
    #[error("the request is not valid: {0}")]
    Invalid(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    TimedOut(Duration),
    /// The server redirects to another server, which may not be trustworthy.
    #[error("the server redirects the request to {0}")]
    Redirected(String),
    /// The response body is too large.
    #[error("the response is larger than {0} bytes")]
    TooLarge(u64),
    /// No connection could be established, so nothing was sent.
    #[error("{0}")]
    NotConnected(String),
    /// The connection failed after it was established.
    #[error("{0}")]
    ConnectionLost(String),
    /// The user interrupted this program before the response came.
    #[error("the wait for its answer was interrupted")]
    Interrupted,
}

/// Sends a request and returns the response. A signal ends the wait for it, even while the name of the host is
/// looked up.
pub fn send(request: &Request, limits: &Limits) -> Result<Response, Error> {
    let (sender, receiver) = sync_channel(1);
    let request = request.clone();
    let limits = Limits {
        connect: AnswerWait::limit(limits.connect),
        total: AnswerWait::limit(limits.total),
        ..limits.clone()
    };
    let thread = std::thread::Builder::new().name("http".to_owned());
    let work = move || sender.send(send_and_wait(&request, &limits)).ok();
    if let Err(error) = thread.spawn(work) {
        return Err(Error::NotConnected(start_problem("a thread", &error)));
    }
    let mut wait = AnswerWait::begin();
    loop {
        match receiver.recv_timeout(POLL_INTERVAL) {
            Ok(response) => return response,
            Err(RecvTimeoutError::Timeout) if wait.is_over() => return Err(Error::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let message = "the request ended without a response".to_owned();
                return Err(Error::ConnectionLost(message));
            }
        }
    }
}

fn send_and_wait(request: &Request, limits: &Limits) -> Result<Response, Error> {
    let agent = agent(limits);
    let mut uri = parse(&request.url)?;
    for _ in 0..=MAX_REDIRECTS {
        let (response, next) = send_once(&agent, &uri, request, limits)?;
        match next {
            Some(next) => uri = same_server_redirect(&uri, &next)?,
            None => return Ok(response),
        }
    }
    Err(Error::Redirected("itself, repeatedly".to_owned()))
}

fn agent(limits: &Limits) -> ureq::Agent {
    let roots = match &limits.roots {
        Some(file) => load_certificates(file).unwrap_or_default(),
        None => CA_BUNDLES
            .iter()
            .find_map(|file| load_certificates(Path::new(file)))
            .unwrap_or_default(),
    };
    // If the configured file contains no certificates, no server is trusted.
    let roots = match (roots.is_empty(), &limits.roots) {
        (true, None) => RootCerts::WebPki,
        _ => RootCerts::new_with_certs(&roots),
    };
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("unfurl/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(limits.connect))
        .timeout_resolve(Some(limits.connect))
        .timeout_global(Some(limits.total))
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .build()
        .into()
}

fn load_certificates(file: &Path) -> Option<Vec<Certificate<'static>>> {
    let bytes = super::fs::read_within(file, MAX_CA_BUNDLE_BYTES).ok()?;
    let certificates = parse_pem(&bytes).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    Some(certificates.collect())
}

fn parse(url: &str) -> Result<Uri, Error> {
    let uri: Uri = url
        .parse()
        .map_err(|_| Error::Invalid("it has no valid URL".to_owned()))?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let plain = |authority: &Authority| !authority.as_str().contains('@');
    if known && uri.authority().is_some_and(plain) {
        return Ok(uri);
    }
    Err(Error::Invalid(
        "its URL does not begin with `http://` or `https://` and a host".to_owned(),
    ))
}

/// Sends the request once. Returns the response and the redirect target, if there is one.
fn send_once(
    agent: &ureq::Agent,
    uri: &Uri,
    original: &Request,
    limits: &Limits,
) -> Result<(Response, Option<String>), Error> {
    let mut builder = request::Builder::new().uri(uri.clone());
    for (name, value) in &original.headers {
        builder = builder.header(name, value);
    }
    let invalid = |_| Error::Invalid("a header is not valid".to_owned());
    let sent = match &original.body {
        Some(body) => {
            let request = builder.method("POST").body(body.as_slice());
            agent.run(request.map_err(invalid)?)
        }
        None => agent.run(builder.method("GET").body(()).map_err(invalid)?),
    };
    let mut response = sent.map_err(|error| transport_error(&error, limits))?;
    let status = response.status().as_u16();
    let next = matches!(status, 301 | 302 | 307 | 308)
        .then(|| response.headers().get(LOCATION)?.to_str().ok())
        .flatten()
        .map(str::to_owned);
    let date = response.headers().get(DATE);
    let server_time = date.and_then(|date| {
        let date = jiff::fmt::rfc2822::parse(date.to_str().ok()?).ok()?;
        Some(date.timestamp())
    });
    let body = response
        .body_mut()
        .with_config()
        .limit(limits.max_bytes)
        .read_to_vec()
        .map_err(|error| transport_error(&error, limits))?;
    let response = Response {
        status,
        body,
        server_time,
    };
    Ok((response, next))
}

/// Resolves a redirect target and refuses other servers.
fn same_server_redirect(from: &Uri, location: &str) -> Result<Uri, Error> {
    let origin = |uri: &Uri| {
        let authority = uri.authority().map(|it| it.as_str().to_lowercase());
        (uri.scheme_str().map(str::to_owned), authority)
    };
    if location.starts_with('/') && !location.starts_with("//") {
        let (scheme, authority) = origin(from);
        let scheme = scheme.unwrap_or_default();
        let authority = authority.unwrap_or_default();
        return parse(&format!("{scheme}://{authority}{location}"));
    }
    let to = parse(location)?;
    if origin(&to) == origin(from) {
        return Ok(to);
    }
    Err(Error::Redirected(format!(
        "`{}`",
        to.host().unwrap_or_default()
    )))
}

fn transport_error(error: &ureq::Error, limits: &Limits) -> Error {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Error::TimedOut(limits.connect)
        }
        ureq::Error::Timeout(_) => Error::TimedOut(limits.total),
        ureq::Error::BodyExceedsLimit(_) => Error::TooLarge(limits.max_bytes),
        ureq::Error::HostNotFound => Error::NotConnected("the host name is unknown".to_owned()),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Error::NotConnected("the connection was refused".to_owned())
        }
        ureq::Error::Io(error) => Error::ConnectionLost(error.to_string()),
        ureq::Error::Protocol(_) => {
            Error::ConnectionLost("the response is not valid HTTP".to_owned())
        }
        other => Error::ConnectionLost(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    /// Starts a server that gives each connection one of `answers`; its thread returns the requests.
    fn server(answers: &[&str]) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers: Vec<String> = answers.iter().map(|&text| text.to_owned()).collect();
        let thread = std::thread::spawn(move || {
            let mut original = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).unwrap();
                original.push(String::from_utf8_lossy(&bytes[..count]).into_owned());
                stream.write_all(answer.as_bytes()).unwrap();
            }
            original
        });
        (url, thread)
    }

    fn get(url: &str) -> Request {
        Request {
            url: url.to_owned(),
            ..Request::default()
        }
    }

    fn short() -> Limits {
        Limits {
            total: Duration::from_millis(300),
            max_bytes: 100,
            ..Limits::default()
        }
    }

    #[test]
    fn an_answer_is_given_whatever_its_status() {
        let (url, thread) = server(&["HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno"]);
        let response = send(&get(&url), &short()).unwrap();
        assert_eq!((response.status, &*response.body), (409, &b"no"[..]));
        assert!(thread.join().unwrap()[0].starts_with("GET / HTTP/1.1\r\n"));
    }

    #[test]
    fn a_request_is_sent_on_within_a_server_and_to_no_other() {
        let moved =
            "HTTP/1.1 308 x\r\nLocation: /b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let done = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        let (url, thread) = server(&[moved, done]);
        let request = Request {
            body: Some(b"{}".to_vec()),
            ..get(&url)
        };
        assert_eq!(send(&request, &short()).unwrap().status, 200);
        assert!(thread.join().unwrap()[1].starts_with("POST /b HTTP/1.1\r\n"));
        let away =
            "HTTP/1.1 302 x\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n";
        let (url, _thread) = server(&[away]);
        let error = send(&get(&url), &short()).unwrap_err();
        insta::assert_snapshot!(error, @"the server redirects the request to `elsewhere.example`");
    }

    #[test]
    fn a_server_that_says_nothing_or_too_much_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let began = Instant::now();
        let error = send(&get(&url), &short()).unwrap_err();
        insta::assert_snapshot!(error, @"no answer within 0.3 s");
        assert!(began.elapsed() < Duration::from_secs(10));
        let large = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{}",
            "x".repeat(200)
        );
        let (url, _thread) = server(&[&large]);
        let error = send(&get(&url), &short()).unwrap_err();
        insta::assert_snapshot!(error, @"the response is larger than 100 bytes");
    }

    #[test]
    fn a_failed_connection_is_reported_in_words() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        let error = send(&get(&url), &short()).unwrap_err();
        insta::assert_snapshot!(error, @"the connection was refused");
        let (url, _thread) = server(&["nonsense\r\n\r\n"]);
        let error = send(&get(&url), &short()).unwrap_err();
        insta::assert_snapshot!(error, @"the response is not valid HTTP");
        for url in ["ftp://x/", "x", "http://", "http://me:secret@x/"] {
            let error = send(&get(url), &short()).unwrap_err();
            assert!(matches!(error, Error::Invalid(_)), "{url}: {error}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
