//! A receiver of webhooks on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A server that keeps the requests. The server ends with the test.
pub(super) struct Receiver {
    /// The host and port.
    pub(super) address: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Received {
    /// The first line and the headers.
    pub(super) head: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Received {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        let mut headers = self.head.iter().filter_map(|line| line.split_once(": "));
        let found = headers.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    }
}

impl Receiver {
    /// Starts a server that gives these statuses in turn, the last one to all further requests. The status 0 stands for
    /// no answer.
    pub(super) fn start(statuses: &'static [u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for (place, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let status = statuses[place.min(statuses.len() - 1)];
                let Some(received) = read(&stream) else {
                    continue;
                };
                seen.lock().unwrap().push(received);
                if status == 0 {
                    silent.push(stream);
                    continue;
                }
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).ok();
            }
        });
        Self { address, requests }
    }

    pub(super) fn requests(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let mut received = Received {
        head,
        body: Vec::new(),
    };
    let length = received.header("content-length")?.parse().ok()?;
    received.body = vec![0; length];
    reader.read_exact(&mut received.body).ok()?;
    Some(received)
}
