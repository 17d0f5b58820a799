//! Interactive sessions: a shell at a terminal, and port forwarding.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use unfurl::testing::host::{Exit, Forward, ForwardEndpoint, Terminal};

use super::sshd::{Sshd, greeter, pooled};

#[test]
fn a_shell_shows_what_is_typed_and_knows_how_large_it_is() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let (mut keyboard, input) = tokio::io::duplex(1000);
        let (output, mut screen) = tokio::io::duplex(100_000);
        let (size, sizes) = watch::channel((90, 30));
        let terminal = Terminal {
            kind: Some("dumb".into()),
            size: sizes,
            input: Box::new(input),
            output: Box::new(output),
            errors: None,
            command: Some("exec sh".into()),
        };
        let host = Arc::new(sshd.host());
        let working = async {
            keyboard
                .write_all(b"stty size; echo is''first\n")
                .await
                .unwrap();
            let mut seen = String::new();
            let mut piece = [0; 1000];
            while !seen.contains("isfirst") {
                let count = screen.read(&mut piece).await.unwrap();
                seen.push_str(&String::from_utf8_lossy(&piece[..count]));
            }
            assert!(seen.contains("30 90"), "{seen}");
            size.send_replace((120, 40));
            // Let the new size go out before the next input.
            tokio::task::yield_now().await;
            keyboard
                .write_all(b"while [ \"$(stty size)\" != '40 120' ]; do :; done; exit 7\n")
                .await
                .unwrap();
            keyboard
        };
        let (exit, _keyboard) = tokio::join!(pool.shell(&host, terminal), working);
        assert_eq!(exit, Exit::Code(7));
    });
}

fn endpoint(port: u16) -> ForwardEndpoint {
    ForwardEndpoint {
        host: "127.0.0.1".into(),
        port,
    }
}

#[test]
fn ports_of_this_machine_and_of_a_host_lead_elsewhere() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let target = endpoint(greeter(b"hello"));
        let host = Arc::new(sshd.host());
        let listen = endpoint(0);
        let forwards = [
            Forward::Local {
                listen: listen.clone(),
                target: target.clone(),
            },
            Forward::Remote { listen, target },
        ];
        for forward in forwards {
            let forwarding = pool.forward(&host, &forward).await.unwrap();
            for _ in 0..2 {
                let mut socket = TcpStream::connect(("127.0.0.1", forwarding.port))
                    .await
                    .unwrap();
                let mut text = String::new();
                socket.read_to_string(&mut text).await.unwrap();
                assert_eq!(text, "hello");
            }
        }
    });
}
