//! A server on this machine whose answers were written after the documentation of `HashiCorp` Vault.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A server with answers by path. It ends with the test.
pub(super) struct VaultServer {
    pub(super) url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl VaultServer {
    /// Starts a server with paths, statuses and bodies. All other paths have no answer but 404.
    pub(super) fn start(answers: &[(&str, u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answers: Vec<(String, u16, String)> = answers
            .iter()
            .map(|(path, status, body)| ((*path).to_owned(), *status, (*body).to_owned()))
            .collect();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> = lines
                    .by_ref()
                    .map_while(Result::ok)
                    .take_while(|line| !line.is_empty())
                    .collect();
                let path = head.first().and_then(|line| line.split(' ').nth(1));
                let path = path.unwrap_or_default().to_owned();
                seen.lock().unwrap().push(head.join("\n"));
                let found = answers.iter().find(|(known, ..)| *known == path);
                let (status, body) = found.map_or((404, "{\"errors\":[]}"), |(_, status, body)| {
                    (*status, body)
                });
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(format!("{head}{body}").as_bytes()).ok();
            }
        });
        Self { url, requests }
    }

    /// Returns the requests so far: the lines of their heads.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}
