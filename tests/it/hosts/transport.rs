//! Commands on hosts: output, exit codes, shared connections, and the secrecy of their text and input.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use unfurl::testing::host::{
    Action, ActionResult, CallControl, Exit, PoolLimits, Program, PromptAnswer, Question, Secret,
    StopLevel, Stream,
};

use super::sshd::{Sshd, perform, pooled, run, run_once, sh, with_pool};

#[test]
fn a_command_gives_its_outputs_and_exit_code() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let mut command = sh("echo out; echo err >&2; pwd; echo $A; cat; exit 3");
        command.cwd = "/tmp".into();
        command.env.add("A", "b 'c'");
        command.stdin = Some(b"from here".to_vec());
        let output = run(&pool, &sshd.host(), command).await;
        assert_eq!(output.exit, Exit::Code(3), "{output:?}\n{}", sshd.log());
        assert_eq!(output.stdout.text(), "out\n/tmp\nb 'c'\nfrom here");
        assert_eq!(output.stderr.text(), "err\n");
        let output = run(&pool, &sshd.host(), sh("kill -USR1 $$")).await;
        assert_eq!(output.exit, Exit::Signal(10));
        let start = Instant::now();
        for _ in 0..20 {
            let output = run(&pool, &sshd.host(), sh("true")).await;
            assert!(output.exit.is_ok(), "{output:?}");
        }
        println!("20 commands took {:?}", start.elapsed());
    });
    assert_eq!(sshd.log().matches("Accepted publickey").count(), 1);
}

#[test]
fn a_command_that_cannot_start_is_reported() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut command = sh("true");
    command.cwd = "/no/such".into();
    let host = sshd.host();
    let shown = |exit: Exit| exit.to_string().replace(&sshd.port.to_string(), "PORT");
    insta::assert_snapshot!(shown(run_once(&host, command).exit), @"the folder `/no/such` cannot be entered on host1 (127.0.0.1) port PORT");
    let mut command = sh("true");
    command.program = Program::Argv(vec!["no-such-program".into(), "x".into()]);
    let output = run_once(&host, command);
    assert!(matches!(output.exit, Exit::NotFound(_)), "{output:?}");
    insta::assert_snapshot!(shown(output.exit), @"`no-such-program` was not found on host1 (127.0.0.1) port PORT");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_hundred_hosts_answer_at_the_same_time() {
    requires!("sshd");
    let sshd = Sshd::with(100, &[]);
    let start = Instant::now();
    pooled(async |pool| {
        let mut running = JoinSet::new();
        for last in 1..=100 {
            let (pool, host) = (pool.clone(), sshd.nth(last));
            let text = "sleep 1; echo ${SSH_CONNECTION}";
            running.spawn(async move { (last, run(&pool, &host, sh(text)).await) });
        }
        while let Some(ended) = running.join_next().await {
            let (last, output) = ended.unwrap();
            let text = output.stdout.text();
            assert!(text.contains(&format!(" 127.0.0.{last} ")), "{output:?}");
        }
    });
    println!("100 hosts, 1 s each: {:?}", start.elapsed());
}

#[test]
fn a_thousand_commands_share_few_connections() {
    requires!("sshd");
    let sshd = Sshd::with(1, &["MaxSessions 10"]);
    let start = Instant::now();
    pooled(async |pool| {
        let mut running = JoinSet::new();
        for number in 0..1000 {
            let (pool, host) = (pool.clone(), sshd.host());
            running.spawn(async move {
                let output = run(&pool, &host, sh(&format!("echo {number}"))).await;
                assert_eq!(output.stdout.text(), format!("{number}\n"), "{output:?}");
            });
        }
        while let Some(ended) = running.join_next().await {
            ended.unwrap();
        }
    });
    println!("1000 commands: {:?}", start.elapsed());
    let connections = sshd.log().matches("Accepted publickey").count();
    assert!((1..=4).contains(&connections), "{connections}");
}

#[test]
fn a_host_that_allows_fewer_sessions_gets_fewer() {
    requires!("sshd");
    let sshd = Sshd::with(1, &["MaxSessions 1"]);
    let limits = PoolLimits {
        sessions: 10,
        handshakes: 5,
    };
    with_pool(limits, async |pool| {
        let mut running = JoinSet::new();
        for _ in 0..20 {
            let (pool, host) = (pool.clone(), sshd.host());
            running.spawn(async move { run(&pool, &host, sh("echo x")).await });
        }
        while let Some(ended) = running.join_next().await {
            let output = ended.unwrap();
            assert_eq!(output.stdout.text(), "x\n", "{output:?}");
        }
    });
}

#[test]
fn secrets_are_in_no_list_of_processes() {
    requires!("sshd");
    let sshd = Sshd::start();
    let secret = "s3cr3t-of-mine";
    let text = format!(
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]{}'; \
         echo $TOKEN; : {secret}",
        &secret[1..]
    );
    let mut command = sh("");
    command.program = Program::Shell {
        text,
        shell: None,
        secret: true,
    };
    command.env.add_secret("TOKEN", secret);
    let output = run_once(&sshd.host(), command);
    assert_eq!(output.stdout.text(), format!("0\n{secret}\n"), "{output:?}");
    assert!(!sshd.log().contains(secret));
}

#[test]
fn output_is_handed_on_while_the_command_runs() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let (stop, stopped) = watch::channel(StopLevel::No);
        let (pieces, mut heard) = mpsc::channel(8);
        let call = CallControl {
            program_input: None,
            stop: stopped,
            output_sender: Some(pieces),
            progress_sender: None,
        };
        let mut command = sh("echo first; read x; echo got $x >&2");
        command.answers = vec![answer("first\n", Some("it"))];
        let action = Action::Run(command);
        let host = sshd.host();
        let running = perform(&pool, &host, &action, call);
        let hearing = async {
            let mut all = Vec::new();
            while let Some(piece) = heard.recv().await {
                all.push(piece);
            }
            all
        };
        let (result, all) = tokio::join!(running, hearing);
        drop(stop);
        assert!(result.exit().is_ok(), "{result:?}");
        let expected = [
            (Stream::Stdout, b"first\n".to_vec()),
            (Stream::Stderr, b"got it\n".to_vec()),
        ];
        assert_eq!(all, expected);
    });
}

fn answer(prompt: &str, reply: Option<&str>) -> PromptAnswer {
    PromptAnswer {
        prompt: prompt.to_owned(),
        reply: reply.map(Secret::new),
        question: Question::Prompt(prompt.to_owned()),
        ends_login: false,
    }
}

#[test]
fn questions_are_answered_once_and_else_end_the_command() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        let ask = "printf 'name? ' >&2; read n; printf 'again? '; read m; echo \"$n $m\"";
        let mut command = sh(ask);
        command.answers = vec![
            answer("name? ", Some("ann")),
            answer("again? ", Some("bob")),
        ];
        let output = run(&pool, &host, command).await;
        assert_eq!(output.stdout.text(), "again? ann bob\n", "{output:?}");
        let mut command = sh("while :; do printf 'name? '; read n || exit 1; done");
        command.answers = vec![answer("name? ", Some("ann"))];
        let output = run(&pool, &host, command.clone()).await;
        let asked = |refused| Exit::NeedsAnswer {
            question: Question::Prompt("name? ".to_owned()),
            refused,
        };
        assert_eq!(output.exit, asked(true));
        command.answers = vec![answer("name? ", None)];
        assert_eq!(run(&pool, &host, command).await.exit, asked(false));
        // The command's standard input follows the answer.
        let mut command = sh("printf 'name? '; read n; echo $n; cat");
        command.answers = vec![answer("name? ", Some("ann"))];
        command.stdin = Some(b"rest".to_vec());
        let output = run(&pool, &host, command).await;
        assert_eq!(output.stdout.text(), "name? ann\nrest", "{output:?}");
    });
}

#[test]
fn a_terminal_joins_the_outputs_and_shows_no_input() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut command = sh("test -t 0 && test -t 2 && echo tty; echo err >&2; cat");
    command.pty = true;
    command.stdin = Some(b"typed\n".to_vec());
    command.env.add("LONG", "x".repeat(20_000));
    let output = run_once(&sshd.host(), command);
    assert_eq!(output.stdout.text(), "tty\nerr\ntyped\n", "{output:?}");
    assert!(output.exit.is_ok() && output.stderr.is_empty());
}

#[test]
fn much_input_and_output_goes_through() {
    requires!("sshd");
    let sshd = Sshd::start();
    let mut command = sh("cat | tee /dev/stderr");
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|it| it.to_le_bytes()[0]).collect();
    command.stdin = Some(bytes.clone());
    command.capture_limit = 20 << 20;
    let output = run_once(&sshd.host(), command);
    assert!(output.stdout.bytes() == bytes && output.stderr.bytes() == bytes);
}

#[test]
fn a_lost_connection_is_reported_and_the_next_command_opens_another() {
    requires!("sshd");
    let sshd = Sshd::start();
    pooled(async |pool| {
        let host = sshd.host();
        assert!(run(&pool, &host, sh("true")).await.exit.is_ok());
        // The parent of the shell is the process of the server that serves this connection.
        let action = Action::Run(sh("kill -KILL $PPID; sleep 60"));
        let (_stop, call) = super::sshd::call();
        let ActionResult::Run(output) = perform(&pool, &host, &action, call).await else {
            panic!("no command");
        };
        let Exit::Failed(why) = &output.exit else {
            panic!("{output:?}");
        };
        assert!(why.contains("was lost while `/bin/sh` ran"), "{why}");
        assert!(output.elapsed < Duration::from_secs(20));
        let output = run(&pool, &host, sh("echo again")).await;
        assert_eq!(output.stdout.text(), "again\n", "{output:?}");
    });
}
