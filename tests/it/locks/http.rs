//! Locks over git-lfs's HTTP API: the possible answers of a server, and the reaction of a job.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::ensemble;
use super::web::{Answer, HttpServer, Request, answer, bare, lock, locks};
use crate::hosts::sshd::free_port;
use crate::support::{Run, TestEnv};

const PATH: &str = "ensemble_46_yaml_46_lock";
const FORM: &str = "application/vnd.git-lfs+json";

/// A repository with an ensemble whose remote lock has this mode and URL.
fn world(mode: &str, url: &str) -> TestEnv {
    let text = ensemble(&format!("{{lock: {mode}, url: '{url}'}}"), "touch here");
    let env = TestEnv::with_ensemble(&text);
    env.git(&["init", "-q", "-b", "main", "."]);
    env.git(&["config", "lfs.activitytimeout", "1"]);
    env.git(&["config", "lfs.dialtimeout", "1"]);
    env
}

fn deploy(env: &TestEnv) -> Run {
    env.unfurl(["deploy", "--approve"])
}

/// A server that grants a lock and frees it again.
fn good(asked: &Request) -> Answer {
    match &*asked.method {
        "POST" if asked.path == "/locks" => answer(201, &lock("7", PATH, "ann")),
        "POST" => answer(200, &lock("7", PATH, "ann")),
        _ => answer(200, &locks(&[&bare("7", PATH, "ann")], None)),
    }
}

/// Asserts that `require` refuses the job because of these answers, while `try` warns and continues.
fn unavailable(answers: fn(&Request) -> Answer, says: &str) {
    let web = HttpServer::start(answers);
    let env = world("require", &web.url());
    let run = deploy(&env).exits(1);
    let start = "error: the remote lock cannot be taken: ";
    assert!(
        run.stderr.contains(start) && run.stderr.contains(says),
        "{run}"
    );
    assert!(!env.work().join("here").exists());
    let env = world("try", &web.url());
    let run = deploy(&env).succeeds();
    let start =
        "warning: the remote lock could not be taken, so jobs on other machines are not excluded: ";
    assert!(
        run.stderr.contains(start) && run.stderr.contains(says),
        "{run}"
    );
    assert!(env.work().join("here").exists());
}

#[test]
fn a_lock_is_asked_for_and_given_back_as_the_api_says() {
    let web = HttpServer::start(good);
    let env = world("require", &web.url());
    let run = deploy(&env).succeeds();
    assert!(!run.all().contains("warning"), "{run}");
    let asked = web.requests();
    let lines = asked
        .iter()
        .map(|it| format!("{} {} {}", it.method, it.path, it.body));
    let lines: Vec<_> = lines.collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    POST /locks {"path":"ensemble_46_yaml_46_lock","ref":{"name":"refs/heads/main"}}
    GET /locks?limit=100&path=ensemble_46_yaml_46_lock&refspec=refs%2Fheads%2Fmain 
    POST /locks/7/unlock {"force":false,"ref":{"name":"refs/heads/main"}}
    "#);
    assert!(asked.iter().all(|it| it.header("accept") == Some(FORM)));
    assert_eq!(asked[0].header("content-type"), Some(FORM));
    assert_eq!(asked[0].header("authorization"), None);
    assert!(!env.work().join("ensemble.yaml.lfs.lock").exists());
}

#[test]
fn nothing_is_contacted_without_a_lock_to_take() {
    let web = HttpServer::start(good);
    for mode in ["'no'", "no"] {
        deploy(&world(mode, &web.url())).succeeds();
    }
    let env = world("require", &web.url());
    env.unfurl(["plan"]).succeeds();
    env.unfurl(["validate"]).succeeds();
    env.unfurl(["status"]).succeeds();
    assert!(web.requests().is_empty());
}

#[test]
fn a_taken_lock_is_looked_up_where_the_answer_does_not_name_its_holder() {
    let web = HttpServer::start(|asked| match &*asked.method {
        "POST" => answer(409, "{\"message\": \"already created lock\"}"),
        _ if asked.path.contains("cursor=two") => {
            answer(200, &locks(&[&bare("9", PATH, "bob")], None))
        }
        _ => answer(200, &locks(&[&bare("8", "other", "eve")], Some("two"))),
    });
    for mode in ["try", "require"] {
        let run = deploy(&world(mode, &web.url())).exits(1);
        let run = run.says(&[
            "hint: wait until that job has ended; if you are sure that it has ended, run `git",
        ]);
        let url = web.url();
        let line = format!(
            "error: the ensemble is locked by bob since 2026-11-21 19:00:00 UTC: `{PATH}` on `{url}`"
        );
        assert!(run.stderr.contains(&line), "{run}");
        let free = format!("`git -c lfs.url={url} lfs unlock --force --id=9`");
        assert!(run.stderr.contains(&free), "{run}");
    }
}

#[test]
fn a_taken_lock_names_its_holder() {
    let web = HttpServer::start(|_| answer(409, &lock("9", PATH, "bob")));
    deploy(&world("try", &web.url()))
        .exits(1)
        .says(&["the ensemble is locked by bob since "]);
    assert_eq!(web.requests().len(), 1);
}

#[test]
fn a_server_that_fails_or_has_no_locks_refuses_or_warns_as_it_is_set() {
    unavailable(
        |_| answer(403, "{\"message\": \"no push\"}"),
        "denied the permission to lock or unlock: no push",
    );
    unavailable(
        |_| answer(404, ""),
        "does not support git-lfs locks (status 404)",
    );
    unavailable(
        |_| answer(501, "<html>"),
        "does not support git-lfs locks (status 501)",
    );
    unavailable(
        |_| answer(500, "{\"message\": \"oh\\u001b[1m\\nno\"}"),
        "answered with status 500: oh [1m no",
    );
    unavailable(
        |_| answer(201, "{\"lock\": "),
        "is invalid: it contains no lock",
    );
    unavailable(
        |_| answer(201, &lock("7", "other", "ann")),
        "is invalid: it locked another path",
    );
    unavailable(
        |_| answer(401, "{\"message\": \"who?\"}"),
        "rejected the login: who?",
    );
}

#[test]
fn a_connection_that_breaks_refuses_or_warns_as_it_is_set() {
    unavailable(|_| Answer::Bytes(Vec::new()), "cannot be reached");
    unavailable(
        |_| Answer::Bytes(b"HTTP/1.1 201 x\r\nContent-Length: 100\r\n\r\n{\"lock".to_vec()),
        "cannot be reached",
    );
    unavailable(
        |_| Answer::Bytes(b"SSH-2.0-x\r\n".to_vec()),
        "the response is not valid HTTP",
    );
    unavailable(
        |_| Answer::Bytes(b"HTTP/1.1 307 x\r\nLocation: http://a.example/\r\n\r\n".to_vec()),
        "the server redirects the request to `a.example`",
    );
    let url = format!("http://127.0.0.1:{}", free_port());
    deploy(&world("require", &url))
        .exits(1)
        .says(&["cannot be reached: the connection was refused"]);
}

#[test]
fn a_server_that_says_nothing_is_left_after_its_time() {
    unavailable(
        |_| Answer::Silence(Duration::from_secs(4)),
        "cannot be reached: no answer within 2 s",
    );
}

#[test]
fn a_lock_that_an_interrupted_job_may_have_taken_is_reported() {
    let web = HttpServer::start(|asked| match &*asked.method {
        "POST" => Answer::Silence(Duration::from_secs(3)),
        _ => answer(500, "{}"),
    });
    let env = world("require", &web.url());
    deploy(&env).exits(1);
    drop(web);
    let web = HttpServer::start(|_| answer(409, &lock("9", PATH, "ann")));
    let note = env.read("ensemble.yaml.lfs.lock");
    let server = note.lines().find(|line| line.starts_with("server:"));
    let note = note.replace(server.unwrap(), &format!("server: {}", web.url()));
    env.write("ensemble.yaml.lfs.lock", &note);
    let text = env.read("ensemble.yaml");
    let url = text.split('\'').nth(1).unwrap();
    env.write("ensemble.yaml", &text.replace(url, &web.url()));
    let told = "the lock may belong to a job in this folder that crashed at 20";
    deploy(&env).exits(1).says(&["is locked by ann", told]);
    deploy(&env).exits(1).says(&[told]);
    // An unreadable note is ignored.
    env.write("ensemble.yaml.lfs.lock", "\u{1}{");
    let run = deploy(&env).exits(1);
    assert!(!run.stderr.contains("crashed"), "{run}");
}

#[test]
fn who_may_not_lock_is_still_refused_where_somebody_has() {
    let web = HttpServer::start(|asked| match &*asked.method {
        "POST" => answer(403, "{}"),
        _ => answer(200, &locks(&[&bare("9", PATH, "bob")], None)),
    });
    let run = deploy(&world("try", &web.url())).exits(1);
    run.says(&["the ensemble is locked by bob"]);
}

#[test]
fn a_lock_that_cannot_be_freed_is_reported_and_recognized_later() {
    let web = HttpServer::start(|asked| match &*asked.method {
        "POST" if asked.path != "/locks" => answer(500, "{}"),
        _ => good(asked),
    });
    let env = world("require", &web.url());
    let run = deploy(&env).succeeds();
    let free = format!("run `git -c lfs.url={} lfs unlock --id=7`", web.url());
    let run = run.says(&[
        "warning: the remote lock",
        "was not released",
        "answered with status 500",
    ]);
    assert!(run.stderr.contains(&free), "{run}");
    assert!(env.work().join("ensemble.yaml.lfs.lock").exists());
    assert_eq!(env.git(&["status", "--short", "*.lfs.lock"]), "");
    drop(web);
    // A new test server would have another address than the one in the note, so only the note is checked.
    let note = env.read("ensemble.yaml.lfs.lock");
    assert!(note.contains("id: ") && note.contains("ann"), "{note}");
}

#[test]
fn a_login_comes_from_gits_helpers_and_is_never_shown() {
    let web = HttpServer::start(|asked| match asked.header("authorization") {
        Some("Basic YW5uOnMzY3JldC13MHJk") => good(asked),
        _ => answer(401, "{\"message\": \"no s3cret-w0rd, no lock\"}"),
    });
    let env = world("require", &web.url()).trusted();
    let store = env.work().join("../home/logins");
    let host = web.url().replace("http://", "");
    fs::write(&store, format!("http://ann:s3cret-w0rd@{host}\n")).unwrap();
    let helper = format!("store --file={}", store.display());
    env.git(&["config", "credential.helper", &helper]);
    let log = env.work().join("job.log");
    let logged = [
        "--logfile",
        log.to_str().unwrap(),
        "-vvv",
        "deploy",
        "--approve",
    ];
    let run = env.unfurl(logged).succeeds();
    assert!(!run.all().contains("w0rd"), "{run}");
    let asked = web.requests();
    assert_eq!(asked[0].header("authorization"), None);
    assert!(
        asked[1..]
            .iter()
            .all(|it| it.header("authorization").is_some())
    );
    // The program removes a wrong login from git's credential store.
    fs::write(&store, format!("http://ann:s3cret-wrong@{host}\n")).unwrap();
    let run = deploy(&env).exits(1);
    assert!(run.stderr.contains("rejected the login"), "{run}");
    assert!(!run.all().contains("s3cret-wrong"), "{run}");
    assert!(!fs::read_to_string(&store).unwrap().contains("s3cret-wrong"));
    for (path, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("s3cret-w"), "{path}");
    }
}

#[test]
fn a_login_in_the_url_and_headers_of_git_are_sent_and_never_shown() {
    let web = HttpServer::start(|asked| {
        let known = asked.header("authorization") == Some("Basic YW5uOnBANHNzLXcwcmQ=");
        let extra = asked.header("x-token") == Some("t0k-en");
        if known && extra {
            return answer(500, "{\"message\": \"p@4ss-w0rd and t0k-en are no good\"}");
        }
        answer(400, "{}")
    });
    let url = web.url().replace("http://", "http://ann:p%404ss-w0rd@");
    let env = world("require", &url);
    let place = format!("http.{}/.extraheader", web.url());
    env.git(&["config", &place, "X-Token: t0k-en"]);
    let run = deploy(&env).exits(1);
    assert!(
        run.stderr
            .contains("answered with status 500: <<REDACTED>> and <<REDACTED>> are no good"),
        "{run}"
    );
    assert!(!run.all().contains("4ss-w0rd"), "{run}");
    let list = env.unfurl(["lock", "list"]);
    assert!(!list.all().contains("4ss-w0rd"), "{list}");
}

#[test]
fn an_ensemble_in_no_repository_or_without_a_remote_has_no_server() {
    let text = ensemble("{lock: require}", "touch here");
    let env = TestEnv::with_ensemble(&text);
    deploy(&env)
        .exits(1)
        .says(&["the ensemble is not in a git repository"]);
    env.git(&["init", "-q", "."]);
    deploy(&env)
        .exits(1)
        .says(&["the repository has no remote", "hint: "]);
    env.git(&["remote", "add", "origin", "/srv/git/x.git"]);
    deploy(&env)
        .exits(1)
        .says(&["a local repository has no git-lfs server"]);
}

#[test]
fn the_server_is_found_in_the_settings_of_git_as_git_lfs_finds_it() {
    let web = HttpServer::start(good);
    let env = TestEnv::with_ensemble(&ensemble("{lock: require}", "touch here"));
    env.git(&["init", "-q", "-b", "main", "."]);
    env.git(&["remote", "add", "origin", "/srv/git/x.git"]);
    env.write(".lfsconfig", &format!("[lfs]\n\turl = {}/own\n", web.url()));
    deploy(&env).succeeds();
    let first = |from: usize| web.requests()[from].path.clone();
    assert_eq!(first(0), "/own/locks");
    fs::remove_file(env.work().join(".lfsconfig")).unwrap();
    env.git(&["config", "remote.origin.url", &format!("{}/o/r", web.url())]);
    let asked = web.requests().len();
    deploy(&env).succeeds();
    assert_eq!(first(asked), "/o/r.git/info/lfs/locks");
    let asked = web.requests().len();
    env.git(&["config", "lfs.url", &web.url()]);
    deploy(&env).succeeds();
    assert_eq!(first(asked), "/locks");
}

/// A Python script that prints its port and serves locks over TLS, with the certificate and key in this
/// folder.
const TLS_SERVER: &str = "
import http.server, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body):
        self.rfile.read(int(self.headers.get('content-length') or 0))
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self): self.answer(200, b'{\"locks\": []}')
    def do_POST(self):
        self.answer(201, b'{\"lock\": {\"id\": \"7\", \"path\": \"ensemble_46_yaml_46_lock\"}}')
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('cert.pem', 'key.pem')
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
";

#[test]
fn over_tls_a_server_counts_only_with_a_certificate_that_is_trusted() {
    requires!("openssl", "python3");
    let folder = tempfile::tempdir().unwrap();
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                 -keyout key.pem -out cert.pem -subj /CN=localhost \
                 -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut server = Command::new("python3")
        .args(["-c", TLS_SERVER])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    said.read_line(&mut port).unwrap();
    let env = world("require", &format!("https://127.0.0.1:{}", port.trim()));
    let strange = deploy(&env);
    let file = folder.path().join("cert.pem");
    let settings = format!("[http]\n\tsslCAInfo = {}\n", file.display());
    let env = env.git_settings(&settings);
    let trusted = deploy(&env);
    server.kill().unwrap();
    server.wait().unwrap();
    let strange = strange.exits(1);
    assert!(strange.stderr.contains("certificate"), "{strange}");
    // This server has no record of the lock when the job frees it.
    trusted
        .succeeds()
        .says(&["was broken while the job ran: another user released it"]);
}

#[test]
fn bad_values_are_reported_with_their_positions() {
    let env = TestEnv::with_ensemble(&ensemble(
        "{lock: always, name: '$enviroment', url: 'ftp://x'}",
        "touch here",
    ));
    let run = deploy(&env).exits(64);
    insta::assert_snapshot!(run.stderr, @r"
    error: `lock` is not one of `no`, `try`, `require`
     --> ensemble.yaml:4:20
      |
    4 |   lfs_lock: {lock: always, name: '$enviroment', url: 'ftp://x'}
      |                    ^^^^^^
      |
      = hint: `try` locks if the server supports locks, `require` refuses the job otherwise

    error: unknown placeholder `$enviroment`
     --> ensemble.yaml:4:34
      |
    4 |   lfs_lock: {lock: always, name: '$enviroment', url: 'ftp://x'}
      |                                  ^^^^^^^^^^^^^
      |
      = hint: use one of `$environment`, `$ensemble_uri`, `$local_lock_path`

    error: the URL of the git-lfs server has an unknown scheme
     --> ensemble.yaml:4:54
      |
    4 |   lfs_lock: {lock: always, name: '$enviroment', url: 'ftp://x'}
      |                                                      ^^^^^^^^^
      |
      = hint: use the URL of the git-lfs server, or of a repository on it
    ");
    let run = env.unfurl(["validate"]);
    assert!(
        run.code != 0 && run.all().contains("ensemble.yaml:4:"),
        "{run}"
    );
}

#[test]
fn the_ensembles_own_settings_go_before_those_of_its_environment() {
    let web = HttpServer::start(good);
    let env = world("require", &web.url());
    let text = env.read("ensemble.yaml");
    env.write("ensemble.yaml", &text.replace("lock: require, ", ""));
    let project = "apiVersion: unfurl/v1alpha1\nkind: Project\nensembles: [{file: ensemble.yaml}]\n\
                   environments: {defaults: {lfs_lock: {lock: require, url: 'http://127.0.0.1:1'}}}\n";
    env.write("unfurl.yaml", project);
    deploy(&env).succeeds();
    assert_eq!(web.requests().len(), 3);
}
