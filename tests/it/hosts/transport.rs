//! Commands on hosts: what they give, how they end, and how they share connections.

use std::time::{Duration, Instant};

use unfurl::host::{Exit, Program};

use super::sshd::{Sshd, pooled, run, run_once, sh};

#[test]
fn a_command_gives_its_outputs_and_exit_code() {
    let sshd = Sshd::start();
    pooled(async |pool| {
        let mut command = sh("echo out; echo err >&2; pwd; echo $A; cat; exit 3");
        command.cwd = "/tmp".into();
        command.env = vec![("A".into(), "b 'c'".into())];
        command.stdin = Some(b"from here".to_vec());
        let output = run(&pool, &sshd.host(), command).await;
        assert_eq!(output.exit, Exit::Code(3), "{output:?}\n{}", sshd.log());
        assert_eq!(output.stdout.text(), "out\n/tmp\nb 'c'\nfrom here");
        assert_eq!(output.stderr.text(), "err\n");
        let start = Instant::now();
        for _ in 0..20 {
            let output = run(&pool, &sshd.host(), sh("true")).await;
            assert!(output.exit.is_ok(), "{output:?}");
        }
        println!("20 commands took {:?}", start.elapsed());
    });
}
