//! An HTTP server for tests, whose answers are prepared by the test.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A request that the server received.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    /// The value of a header. `name` is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The reaction of the server to a request.
pub(crate) enum Answer {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends no data for this time, then closes the connection.
    Silence(Duration),
}

/// An HTTP answer with a status and a body.
pub(crate) fn answer(status: u16, body: &str) -> Answer {
    let text = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: application/vnd.git-lfs+json\r\nContent-Length: \
         {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    Answer::Bytes(text.into_bytes())
}

/// A lock as a JSON object, without an envelope.
pub(crate) fn bare(id: &str, path: &str, owner: &str) -> String {
    format!(
        "{{\"id\": \"{id}\", \"path\": \"{path}\", \"locked_at\": \"2026-11-21T19:00:00Z\", \
         \"owner\": {{\"name\": \"{owner}\"}}}}"
    )
}

/// The body of an answer with one lock.
pub(crate) fn lock(id: &str, path: &str, owner: &str) -> String {
    format!("{{\"lock\": {}}}", bare(id, path, owner))
}

/// The body of an answer with a list of locks, and the cursor of the next page.
pub(crate) fn locks(locks: &[&str], next: Option<&str>) -> String {
    let next = next.map_or(String::new(), |next| {
        format!(", \"next_cursor\": \"{next}\"")
    });
    format!("{{\"locks\": [{}]{next}}}", locks.join(", "))
}

/// A running HTTP server that records its requests.
pub(crate) struct HttpServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    /// Starts a server on a free port. `answers` decides the answer to each request.
    pub(crate) fn start(answers: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (all, stopped) = (Arc::clone(&asked), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let mut stream = stream.unwrap();
                let Some(asked) = read(&mut stream) else {
                    continue;
                };
                all.lock().unwrap().push(asked.clone());
                match answers(&asked) {
                    Answer::Bytes(bytes) => drop(stream.write_all(&bytes)),
                    Answer::Silence(time) => std::thread::sleep(time),
                }
            }
        });
        Self {
            address,
            asked,
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        TcpStream::connect(self.address).ok();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut asked = Request {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        ..Request::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim().to_owned();
        asked.headers.push((name.to_ascii_lowercase(), value));
    }
    let length = asked.header("content-length");
    let length = length.and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    asked.body = String::from_utf8(body).unwrap();
    Some(asked)
}
