//! Imports of files on the web, served by a real HTTP server on this machine.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::TestEnv;

/// A web server on a free port. It notes the paths that are asked for, and lives as long as the process.
struct WebServer {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl WebServer {
    fn new(files: &'static [(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let first = lines.next().unwrap().unwrap();
                while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
                let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
                let found = files.iter().find(|(name, _)| *name == path);
                let (status, body) =
                    found.map_or(("404 Not Found", ""), |(_, body)| ("200 OK", *body));
                noted.lock().unwrap().push(path);
                let length = body.len();
                write!(
                    stream,
                    "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
                )
                .unwrap();
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }
}

const FILES: &[(&str, &str)] = &[
    (
        "/v1/types.yaml?ref=a/b",
        "tosca_definitions_version: tosca_simple_yaml_1_3
imports: [../base/base.yaml, other.yaml]
node_types:
  App: {derived_from: Base}
",
    ),
    (
        "/base/base.yaml",
        "tosca_definitions_version: tosca_simple_yaml_1_3
imports: [/v1/other.yaml]
node_types:
  Base: {derived_from: tosca.nodes.Root, properties: {p: {type: integer}}}
",
    ),
    (
        "/v1/other.yaml",
        "tosca_definitions_version: tosca_simple_yaml_1_3\nnode_types: {Other: {derived_from: tosca.nodes.Root}}\n",
    ),
];

fn template(address: &str, templates: &str) -> String {
    format!(
        "tosca_definitions_version: tosca_simple_yaml_1_3
imports:
  - {address}/v1/types.yaml?ref=a/b
topology_template:
  node_templates: {templates}
"
    )
}

const USING: &str = "{a: {type: App, properties: {p: 1}}, b: {type: Other}}";

#[test]
fn a_file_on_the_web_is_imported_with_the_permission_only() {
    let env = TestEnv::new();
    let server = WebServer::new(FILES);
    env.write("main.yaml", &template(&server.address, USING));

    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let message = format!(
        "error: `{}/v1/types.yaml?ref=a/b` was not fetched, and may declare 2 names that are unknown\n --> main.yaml:3:5\n",
        server.address
    );
    assert!(run.stderr.contains(&message), "{}", run.stderr);
    assert!(run.stderr.contains("`--allow network`"), "{}", run.stderr);
    assert!(
        run.stderr.contains("there is no node type `App`"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stderr.matches("error: ").count(), 1, "{}", run.stderr);
    assert!(server.asked().is_empty());

    let run = env.unfurl(["--allow", "network", "validate", "main.yaml"]);
    assert_eq!(
        (run.code, &*run.stdout),
        (0, "No errors were found.\n"),
        "{}",
        run.stderr
    );
    let asked = [
        "/base/base.yaml",
        "/v1/other.yaml",
        "/v1/types.yaml?ref=a/b",
    ];
    assert_eq!(server.asked(), asked);

    // The fetched types are checked as those of files are.
    env.write(
        "main.yaml",
        &template(&server.address, "{a: {type: App, properties: {p: x}}}"),
    );
    let run = env.unfurl(["--allow", "network", "validate", "main.yaml"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("is not an integer\n --> main.yaml:5:"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_import_that_nothing_needs_and_that_was_not_fetched_is_a_warning() {
    let env = TestEnv::new();
    let text = template("http://127.0.0.1:9", "{a: {type: tosca.nodes.Root}}");
    env.write("main.yaml", &text);
    let run = env.unfurl(["validate", "main.yaml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let message = "warning: `http://127.0.0.1:9/v1/types.yaml?ref=a/b` was not fetched, so nothing in it was checked\n --> main.yaml:3:5\n";
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn a_file_that_the_server_does_not_have_is_an_error_at_the_import() {
    let env = TestEnv::new();
    let server = WebServer::new(&[]);
    env.write("main.yaml", &template(&server.address, USING));
    let run = env.unfurl(["--allow", "network", "validate", "main.yaml"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let message = "cannot be fetched: the server answers with status 404\n --> main.yaml:3:5\n";
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn jobs_import_files_on_the_web_with_the_permission() {
    let env = TestEnv::new();
    let server = WebServer::new(FILES);
    let service = format!(
        "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    imports: ['{}/v1/types.yaml?ref=a/b']
    topology_template:
      node_templates:
        a: {{type: App, properties: {{p: 1}}, interfaces: {{Standard: {{create: echo hi}}}}}}
",
        server.address
    );
    env.write("ensemble.yaml", &service);
    let run = env.unfurl(["plan", "ensemble.yaml"]);
    assert_eq!(run.code, 64, "{}", run.stderr);
    assert!(
        run.stderr.contains("was not fetched, and may declare"),
        "{}",
        run.stderr
    );
    let run = env.unfurl(["--allow", "network", "plan", "ensemble.yaml"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}
