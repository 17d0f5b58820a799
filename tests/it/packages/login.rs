//! Users and passwords in addresses.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{ALLOWED, deploy, publish, said, types, use_library, world};

/// The word `me:s3cret` in base64.
const LOGIN: &str = "Basic bWU6czNjcmV0";

/// Serves the files of a folder to callers with a password. The thread ends with the process of the test.
fn serve(folder: PathBuf) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let logins = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&logins);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            drop(answer(&folder, stream, &seen));
        }
    });
    (port, logins)
}

fn answer(folder: &Path, mut stream: TcpStream, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line
        .split_whitespace()
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut login = String::new();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("authorization:") {
            let start = header.len() - value.len();
            header[start..].trim().clone_into(&mut login);
        }
    }
    let path = path.split('?').next().unwrap_or_default();
    let body = fs::read(folder.join(path.trim_start_matches('/')));
    if login.is_empty() {
        return write!(
            stream,
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    seen.lock().unwrap().push(login);
    match body {
        Ok(body) => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            )?;
            stream.write_all(&body)
        }
        Err(_) => write!(
            stream,
            "HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
    }
}

#[test]
fn a_password_reaches_the_server_and_nothing_else() {
    let env = world();
    publish(&env, "lib", &[("types.yaml", &types("one"))], "v1.0.0");
    env.git(&["clone", "-q", "--bare", "origins/lib.git", "served/lib.git"]);
    env.git(&["--git-dir", "served/lib.git", "update-server-info"]);
    let (port, logins) = serve(env.work().join("served"));
    use_library(
        &env,
        &format!("'http://me:s3cret@127.0.0.1:{port}/lib.git'"),
    );
    let trace = env.work().join("trace");
    let env = env.variable("GIT_TRACE2_EVENT", trace.to_str().unwrap());
    let run = deploy(&env, &ALLOWED)
        .succeeds()
        .says(&["the password of its address is not stored"]);
    assert_eq!(said(&env), "one");
    assert!(logins.lock().unwrap().iter().all(|login| login == LOGIN));
    assert!(!run.all().contains("s3cret"), "{run}");
    // The model itself names the password; nothing else may.
    let mut folders = vec![env.work(), env.work().parent().unwrap().join("home")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert!(!path.to_string_lossy().contains("s3cret"));
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if path.is_file() && !path.ends_with("proj/ensemble/ensemble.yaml") {
                let bytes = fs::read(&path).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("s3cret"), "{}", path.display());
            }
        }
    }
    let lock = super::locked_entry(&env).to_string();
    assert!(!lock.contains("s3cret") && !lock.contains("me:"), "{lock}");
}
