//! An SSH server whose SFTP answers are hostile. The path that a client asks for chooses the attack.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use russh::keys::load_secret_key;
use russh::server::{Auth, ChannelOpenHandle, Config, Msg, Server as _, Session};
use russh::{Channel, ChannelId};
use russh_sftp::protocol::{
    Attrs, Data, File, FileAttributes, Handle, Name, OpenFlags, Status, StatusCode,
};
use tokio::sync::oneshot;

use crate::hosts::sshd::make_key;

/// Names with control characters, each the only entry of the folder `/name-<index>`.
pub(super) const HOSTILE_NAMES: [&str; 10] = [
    "\u{1b}]0;owned\u{7}",
    "a\u{1b}[2Jb",
    "a\nb",
    "a\rb",
    "\u{7f}",
    "a\u{9b}31m",
    "a\u{85}b",
    "../up",
    "sub/../../up",
    "",
];

/// A running server. It ends when it is dropped.
#[derive(Debug)]
pub(super) struct HostileHost {
    pub(super) port: u16,
    _stop: oneshot::Sender<()>,
}

impl HostileHost {
    /// Starts the server on 127.0.0.1, with a new host key in this folder.
    pub(super) fn start(folder: &Path) -> Self {
        let key = folder.join("hostile_key");
        make_key(&key, "ed25519", "");
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            keys: vec![load_secret_key(&key, None).unwrap()],
            ..Config::default()
        };
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let mut server = Server;
                let running = server.run_on_socket(Arc::new(config), &listener);
                tokio::select! {
                    ended = running => ended.unwrap(),
                    // The sender is only ever dropped.
                    _ = stopped => {}
                }
            });
        });
        Self { port, _stop: stop }
    }
}

struct Server;

impl russh::server::Server for Server {
    type Handler = Connection;

    fn new_client(&mut self, _: Option<SocketAddr>) -> Connection {
        Connection::default()
    }
}

#[derive(Default)]
struct Connection {
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl russh::server::Handler for Connection {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, Self::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        match self.channels.remove(&id) {
            Some(channel) if name == "sftp" => {
                session.channel_success(id)?;
                russh_sftp::server::run(channel.into_stream(), HostileFiles::default()).await;
            }
            _ => session.channel_failure(id)?,
        }
        Ok(())
    }
}

/// The hostile file system.
#[derive(Default)]
struct HostileFiles {
    /// The folders whose entries were sent already.
    listed: HashSet<String>,
    count: u64,
}

const FOLDER: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

fn attributes(path: &str) -> FileAttributes {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_folder = name.starts_with("dir") || name.starts_with("name");
    let size = match name {
        "suid" => 3,
        "more" => 10,
        "huge" | "lie" => 1 << 62,
        // The host says that the file is empty.
        _ => 0,
    };
    FileAttributes {
        size: Some(size),
        permissions: Some(if is_folder {
            FOLDER | 0o7777
        } else {
            REGULAR | 0o6777
        }),
        ..FileAttributes::empty()
    }
}

fn entries(folder: &str, names: impl IntoIterator<Item = String>) -> Vec<File> {
    let file = |name: String| File {
        attrs: attributes(&format!("{folder}/{name}")),
        longname: String::new(),
        filename: name,
    };
    names.into_iter().map(file).collect()
}

impl HostileFiles {
    /// The next part of the listing of a folder; none at its end.
    fn next_entries(&mut self, folder: &str) -> Option<Vec<File>> {
        let top = folder.split('/').nth(1).unwrap_or_default();
        match top {
            "dir-endless" => {
                let first = self.count;
                self.count += 1000;
                let names = (first..self.count).map(|number| format!("f{number}"));
                return Some(entries(folder, names));
            }
            "dir-dots" => {
                let names = (0..1000).map(|number| if number % 2 == 0 { "." } else { ".." });
                return Some(entries(folder, names.map(str::to_owned)));
            }
            "dir-empty" => return Some(Vec::new()),
            _ => {}
        }
        if !self.listed.insert(folder.to_owned()) {
            return None;
        }
        let names: Vec<String> = match top {
            "dir-suid" if folder == "/dir-suid" => vec!["suid".into(), "dir".into()],
            "dir-suid" => vec!["suid".into()],
            "dir-deep" => vec!["dir".into()],
            "dir-long" => vec![format!("dir{}", "x".repeat(240))],
            "dir-name-long" => vec!["x".repeat(100_000)],
            "dir-many" => (0..20).map(|number| format!("endless{number}")).collect(),
            "dir-lie" => vec!["suid".into(), "lie".into()],
            other => {
                let index = other.strip_prefix("name-").and_then(|it| it.parse().ok());
                let index: usize = index.unwrap_or_default();
                vec!["suid".to_owned(), HOSTILE_NAMES[index].to_owned()]
            }
        };
        Some(entries(folder, names))
    }
}

impl russh_sftp::server::Handler for HostileFiles {
    type Error = StatusCode;

    fn unimplemented(&self) -> Self::Error {
        StatusCode::OpUnsupported
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, Self::Error> {
        let attrs = attributes(&path);
        Ok(Attrs { id, attrs })
    }

    async fn fstat(&mut self, id: u32, handle: String) -> Result<Attrs, Self::Error> {
        self.stat(id, handle).await
    }

    async fn open(
        &mut self,
        id: u32,
        path: String,
        _flags: OpenFlags,
        _attributes: FileAttributes,
    ) -> Result<Handle, Self::Error> {
        Ok(Handle { id, handle: path })
    }

    async fn read(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        length: u32,
    ) -> Result<Data, Self::Error> {
        let name = handle.rsplit('/').next().unwrap_or_default();
        let data = match name {
            "suid" if offset == 0 => b"abc".to_vec(),
            "suid" | "huge" => return Err(StatusCode::Eof),
            "more" => vec![b'x'; length as usize + 1000],
            _ => vec![b'x'; length as usize],
        };
        Ok(Data { id, data })
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, Self::Error> {
        Ok(Handle { id, handle: path })
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, Self::Error> {
        let files = self.next_entries(&handle).ok_or(StatusCode::Eof)?;
        Ok(Name { id, files })
    }

    async fn close(&mut self, id: u32, _handle: String) -> Result<Status, Self::Error> {
        Ok(Status {
            id,
            status_code: StatusCode::Ok,
            error_message: "Ok".to_owned(),
            language_tag: String::new(),
        })
    }
}
