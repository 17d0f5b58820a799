//! The state module `file` beyond Salt's recorded cases: downloads, secrets, backups, and hints of other
//! tools.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;

use unfurl::testing::host::change::Change;
use unfurl::testing::states::{
    FactCache, Halt, Mode, StateCall, StateDecision, StateOutcome, find,
};
use unfurl::testing::value::{Map, Value};

use super::{local_executor, to_value, with_facts, world};

/// Decides a state on this machine. Returns the outcome and the planned changes.
fn decide(
    fun: &str,
    name: &Path,
    args: &Map,
    mode: Mode,
) -> Result<(StateOutcome, Vec<Change>), String> {
    let world = world();
    let call = StateCall {
        state: "file",
        fun,
        name: name.to_str().unwrap(),
        id: "s0",
        sls: "main",
        args,
        mode,
        context: &world,
        chunk: None,
    };
    let function = find("file", fun).1.unwrap();
    let mut facts = FactCache::default();
    Ok(
        match with_facts(&mut facts, |facts| (function.run)(&call, facts))? {
            StateDecision::Done(outcome) => (outcome, Vec::new()),
            StateDecision::Change(deed) => {
                let outcome = match deed.finish {
                    unfurl::testing::states::ChangeOutcome::Fixed(outcome)
                        if mode == Mode::Apply =>
                    {
                        outcome
                    }
                    _ => deed.predicted,
                };
                (outcome, deed.steps)
            }
        },
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is called with what is written there"
)]
fn args(json: serde_json::Value) -> Map {
    match to_value(&json) {
        Value::Map(map) => (*map).clone(),
        other => panic!("{other:?} is no map"),
    }
}

/// Serves a text over HTTP for a number of requests. Returns the URL and the server's thread.
fn served(text: &'static str, times: usize) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/file.txt", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        for _ in 0..times {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut part = [0; 1024];
            while !asked.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut part).unwrap();
                asked.extend_from_slice(&part[..count]);
            }
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                text.len()
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
        }
    });
    (address, thread)
}

const SUM: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

#[test]
fn a_download_is_checked_before_it_is_there() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    let (address, server) = served("hello\n", 2);
    let wrong = SUM.replace('5', "6");
    let asked = args(serde_json::json!({"source": address, "source_hash": wrong}));
    let (_, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    let outputs = local_executor::make(&steps);
    let said = outputs.last().unwrap().stderr.text();
    assert!(said.contains("does not match actual checksum"), "{said}");
    assert_eq!(
        fs::read_dir(tmp.path()).unwrap().count(),
        0,
        "nothing is left"
    );
    let asked = args(
        serde_json::json!({"source": address, "source_hash": format!("sha256={SUM}"), "mode": "0600"}),
    );
    let (outcome, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        local_executor::make(&steps)
            .iter()
            .all(|output| output.exit.is_ok())
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "hello\n");
    assert_eq!(outcome.comment, format!("File {} updated", path.display()));
    let (outcome, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        outcome.changes.is_empty() && steps.is_empty(),
        "{outcome:?}"
    );
    server.join().unwrap();
}

#[test]
fn a_download_without_a_checksum_is_compared_by_downloading_it() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "hello\n").unwrap();
    let (address, server) = served("hello\n", 1);
    let asked = args(serde_json::json!({"source": address, "skip_verify": true}));
    let (outcome, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        outcome.changes.is_empty() && steps.is_empty(),
        "{outcome:?}"
    );
    server.join().unwrap();
}

#[test]
fn a_checksum_may_be_in_a_file_and_of_another_kind() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("file.txt");
    fs::write(&path, "hello\n").unwrap();
    let sums = tmp.path().join("SUMS");
    let text = "d41d8cd98f00b204e9800998ecf8427e  other.txt\n\
                b1946ac92492d2347c6235b4d2611184  ./file.txt\n";
    fs::write(&sums, text).unwrap();
    let asked = args(serde_json::json!({
        "source": "http://127.0.0.1:1/file.txt", "source_hash": sums.to_str().unwrap(),
    }));
    let (outcome, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        outcome.changes.is_empty() && steps.is_empty(),
        "{outcome:?}"
    );
}

#[test]
fn a_secret_is_never_shown() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "old\n").unwrap();
    let secret = || Value::str("hunter2").sensitive();
    let asked = |key: &str, value: Value, more: serde_json::Value| {
        let mut all = args(more);
        all.insert(key.into(), value);
        all
    };
    let none = serde_json::json!({});
    let repl = serde_json::json!({"pattern": "old"});
    let key = serde_json::json!({"key": "a", "append_if_not_found": true});
    let place = serde_json::json!({"mode": "insert", "location": "end"});
    let words = Value::map([("a", secret())]);
    for (fun, all) in [
        ("managed", asked("contents", secret(), none.clone())),
        (
            "managed",
            asked(
                "contents",
                secret(),
                serde_json::json!({"check_cmd": "cat"}),
            ),
        ),
        ("serialize", asked("dataset", words, none.clone())),
        ("replace", asked("repl", secret(), repl)),
        ("keyvalue", asked("value", secret(), key)),
        ("append", asked("text", secret(), none.clone())),
        ("prepend", asked("text", secret(), none.clone())),
        ("line", asked("content", secret(), place)),
        (
            "blockreplace",
            asked(
                "content",
                secret(),
                serde_json::json!({"append_if_not_found": true}),
            ),
        ),
    ] {
        for mode in [Mode::Test, Mode::Apply] {
            let (outcome, steps) = decide(fun, &path, &all, mode).unwrap();
            let said = format!("{outcome:?} {steps:?}");
            assert!(!said.contains("hunter2"), "{fun}: {said}");
            assert!(!outcome.changes.is_empty(), "{fun}: {outcome:?}");
        }
    }
}

#[test]
fn what_is_assumed_is_written_whatever_is_there() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "x\n").unwrap();
    let asked = args(serde_json::json!({"contents": "x", "assume_present": true}));
    let (outcome, _) = decide("managed", &path, &asked, Mode::Test).unwrap();
    assert_eq!(outcome.result, None);
    let (_, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(matches!(steps.as_slice(), [Change::Write(_)]), "{steps:?}");
}

#[test]
fn a_file_is_decided_by_one_reading_of_facts() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "x\n").unwrap();
    for (asked, readings) in [
        (
            serde_json::json!({"contents": "x", "user": "root", "mode": "0644"}),
            1,
        ),
        (serde_json::json!({"contents": "y"}), 2),
        (
            serde_json::json!({"contents": "y", "assume_present": true}),
            0,
        ),
    ] {
        let (world, args) = (world(), args(asked));
        let call = StateCall {
            state: "file",
            fun: "managed",
            name: path.to_str().unwrap(),
            id: "s0",
            sls: "main",
            args: &args,
            mode: Mode::Apply,
            context: &world,
            chunk: None,
        };
        let function = find("file", "managed").1.unwrap();
        let mut facts = FactCache::default();
        let mut count = 0;
        while let Err(Halt::Needs(wanted)) = (function.run)(&call, &facts) {
            count += 1;
            for fact in wanted {
                let reading = local_executor::read(&fact);
                facts.learn(fact, reading);
            }
        }
        assert_eq!(count, readings, "{args:?}");
    }
}

#[test]
fn a_large_file_of_the_machine_is_copied_there() {
    let tmp = tempfile::tempdir().unwrap();
    let (source, path) = (tmp.path().join("s"), tmp.path().join("f"));
    fs::write(&source, vec![b'x'; 2 << 20]).unwrap();
    let asked = args(serde_json::json!({"source": source.to_str().unwrap(), "mode": "0640"}));
    let (_, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        matches!(steps[0], Change::Run(_)),
        "the content is not sent"
    );
    assert!(
        local_executor::make(&steps)
            .iter()
            .all(|output| output.exit.is_ok())
    );
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 << 20);
    let (outcome, steps) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert!(
        outcome.changes.is_empty() && steps.is_empty(),
        "{outcome:?}"
    );
    fs::write(&source, vec![b'y'; 2 << 20]).unwrap();
    let (outcome, _) = decide("managed", &path, &asked, Mode::Apply).unwrap();
    assert_eq!(outcome.changes["diff"].as_str(), Some("Replace large file"));
}

#[test]
fn expressions_that_cannot_be_read_are_named() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "a\n").unwrap();
    let said = |pattern: &str, repl: &str| {
        let asked = args(serde_json::json!({"pattern": pattern, "repl": repl}));
        decide("replace", &path, &asked, Mode::Apply).unwrap_err()
    };
    insta::assert_snapshot!(said("(?!a", "c"), @"the regular expression `(?!a` cannot be used: opening parenthesis without closing parenthesis");
    insta::assert_snapshot!(said("a", r"\2"), @"invalid group reference 2 in the replacement");
    insta::assert_snapshot!(said("a", r"\q"), @r"bad escape \q in the replacement `\q`");
    insta::assert_snapshot!(said("(a", "c"), @"the regular expression `(a` cannot be used: unclosed group");
}

#[test]
fn python_reads_expressions_in_its_own_way() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    for (before, pattern, after) in [
        ("a{b}\n", "a{b}", "X\n"),
        ("a[b]\n", r"a[[]b[]]", "X\n"),
        ("a]&~\n", r"a[]&~]+", "X\n"),
        ("a<b>'c'\n", r"a\<b\>\'c\'", "X\n"),
        ("aaa\n", "a{2,3}", "X\n"),
        ("a,b\n", r"(?P<x>a),b\Z", "a,b\n"),
        ("ab b\n", r"(?<!a)b", "ab X\n"),
        ("aab\n", r"(?P<x>a)(?P=x)", "Xb\n"),
    ] {
        fs::write(&path, before).unwrap();
        let asked = args(serde_json::json!({"pattern": pattern, "repl": "X", "backup": false}));
        let (_, steps) = decide("replace", &path, &asked, Mode::Apply).unwrap();
        local_executor::make(&steps);
        assert_eq!(fs::read_to_string(&path).unwrap(), after, "{pattern}");
    }
}

#[test]
fn a_search_that_takes_too_many_steps_fails_the_state() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("f");
    fs::write(&path, "ab".repeat(30) + "xd\n").unwrap();
    let asked = args(serde_json::json!({"pattern": r"^(a|b|ab)*\1d", "repl": "X"}));
    let said = decide("replace", &path, &asked, Mode::Apply).unwrap_err();
    insta::assert_snapshot!(said, @r"a search for the regular expression `^(a|b|ab)*\1d` takes more than 1000000 steps; write it with less ambiguity");
}
