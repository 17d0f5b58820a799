//! A mail server on this machine that keeps the mails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A mail server. The server ends with the test.
pub(super) struct SmtpServer {
    pub(super) port: u16,
    mails: Arc<Mutex<Vec<Mail>>>,
}

/// A mail that the server has accepted.
#[derive(Debug, Clone, Default)]
pub(super) struct Mail {
    pub(super) receivers: Vec<String>,
    pub(super) text: String,
}

impl SmtpServer {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&mails);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                talk(&stream.unwrap(), &kept);
            }
        });
        Self { port, mails }
    }

    pub(super) fn mails(&self) -> Vec<Mail> {
        self.mails.lock().unwrap().clone()
    }
}

/// Talks to a client as RFC 5321 says.
fn talk(mut stream: &TcpStream, mails: &Mutex<Vec<Mail>>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let mut mail = Mail::default();
    stream.write_all(b"220 test ESMTP\r\n").ok()?;
    while let Some(Ok(line)) = lines.next() {
        let command = line.to_ascii_uppercase();
        let mut answer = "250 ok";
        if let Some(receiver) = command.strip_prefix("RCPT TO:") {
            let receiver = receiver.split(' ').next().unwrap_or_default();
            mail.receivers.push(receiver.to_ascii_lowercase());
        } else if command == "DATA" {
            stream.write_all(b"354 go on\r\n").ok()?;
            for line in lines.by_ref().map_while(Result::ok) {
                if line == "." {
                    break;
                }
                mail.text.push_str(line.strip_prefix('.').unwrap_or(&line));
                mail.text.push('\n');
            }
            mails.lock().unwrap().push(std::mem::take(&mut mail));
        } else if command == "QUIT" {
            answer = "221 bye";
        }
        stream.write_all(format!("{answer}\r\n").as_bytes()).ok()?;
    }
    Some(())
}
