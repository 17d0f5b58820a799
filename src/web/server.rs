//! The server: one thread with its own runtime, which ends with the process or when its handle is dropped.

use std::net::{SocketAddr, TcpListener};
use std::sync::PoisonError;
use std::thread::JoinHandle;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST};
use axum::http::{HeaderMap, Method, Response, StatusCode, Uri};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use super::address::{MetricsAddress, is_local_host};
use super::connection::LimitedListener;
use super::process::ProcessFigures;
use super::prometheus::{self, exposition};
use crate::schedule::{MetricsSnapshot, SharedMetrics};
use crate::system::clock;

/// The time without a look at the schedules after which the process counts as ill. The server looks every 2 s.
const MAX_BEAT_AGE: SignedDuration = SignedDuration::from_mins(2);

/// A running server. Dropping this value ends it.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Starts the server. Port 0 takes any free port.
    pub fn start(address: MetricsAddress, metrics: SharedMetrics) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address.socket())?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                return;
            };
            let router = Router::new().fallback(answer).with_state(metrics);
            let serve = axum::serve(LimitedListener::new(listener), router);
            tokio::select! {
                // The server has no end of its own.
                _ = serve.into_future() => {}
                // The handle was dropped.
                _ = stopped => {}
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || runtime.block_on(serve))?;
        Ok(Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the address with the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server ends nothing else.
            thread.join().ok();
        }
    }
}

async fn answer(
    State(metrics): State<SharedMetrics>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    let plain = |status, text: &str| response(status, "text/plain; charset=utf-8", text.to_owned());
    if !is_for_this_server(&uri, &headers) {
        let text = "this server answers requests for localhost only\n";
        return plain(StatusCode::MISDIRECTED_REQUEST, text);
    }
    if method != Method::GET && method != Method::HEAD {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "this server only reads\n");
        let allowed = axum::http::HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        return refusal;
    }
    match uri.path() {
        "/metrics" => {
            let snapshot = metrics
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let text = exposition(&snapshot, ProcessFigures::now());
            response(StatusCode::OK, prometheus::CONTENT_TYPE, text)
        }
        "/healthz" => {
            let snapshot = metrics.lock().unwrap_or_else(PoisonError::into_inner);
            match problem_of(&snapshot, clock::now()) {
                None => plain(StatusCode::OK, "ok\n"),
                Some(problem) => plain(StatusCode::SERVICE_UNAVAILABLE, &format!("{problem}\n")),
            }
        }
        _ => plain(StatusCode::NOT_FOUND, "see /metrics and /healthz\n"),
    }
}

/// Returns the reason why schedules do not run.
fn problem_of(snapshot: &MetricsSnapshot, now: Timestamp) -> Option<String> {
    let age = snapshot.last_beat.map(|beat| now.duration_since(beat));
    if age.is_some_and(|age| age > MAX_BEAT_AGE) {
        return Some("the server does not look at its schedules any more".to_owned());
    }
    let broken = snapshot.schedules.iter().find(|it| it.is_broken)?;
    let name = &broken.name;
    Some(format!(
        "the log of the schedule `{name}` cannot be written"
    ))
}

/// Returns true if the request names this machine as its host, once.
fn is_for_this_server(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let authority = uri.authority().is_none_or(|it| is_local_host(it.as_str()));
    authority && host.to_str().is_ok_and(is_local_host)
}

fn response(status: StatusCode, content_type: &str, text: String) -> Response<Body> {
    let builder = Response::builder()
        .status(status)
        .header(CONTENT_TYPE, content_type)
        .header(CACHE_CONTROL, "no-store")
        .header(CONNECTION, "close")
        .header("X-Content-Type-Options", "nosniff");
    // Headers that are constants are always valid.
    builder.body(Body::from(text)).unwrap_or_default()
}
