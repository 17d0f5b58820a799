//! Projects that try to read, write or run something while they are only loaded or planned.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::TestEnv;

/// The content of the file outside of the project. No output may show it.
pub(super) const CANARY: &str = "canary-5d41402abc4b";

/// A project: a part of its ensemble that attacks. Paths: `OUT` is a folder beside the project.
#[derive(Debug)]
pub(super) struct HostileProject {
    /// The ensemble, with `OUT` replaced.
    ensemble: String,
    pub(super) attack: String,
}

/// Expressions that read a file, with the path as `PATH`.
const READS: &[&str] = &[
    "{eval: {file: PATH}, select: contents}",
    "{eval: {file: PATH}}",
    "{eval: {abspath: PATH}}",
    r#""{{ lookup('file', 'PATH') }}""#,
    r#""{{ lookup('file', 'PATH', errors='ignore') }}""#,
    r#""{{ lookup('first_found', ['PATH']) }}""#,
    r#""{{ lookup('fileglob', 'PATH*') }}""#,
    r#""{{ lookup('csvfile', 'a file=PATH delimiter=,') }}""#,
    r#""{{ lookup('ini', 'a file=PATH') }}""#,
    r#""{{ lookup('template', 'PATH') }}""#,
    r#""{{ lookup('unvault', 'PATH') }}""#,
    r#""{{ {'eval': {'file': 'PATH'}, 'select': 'contents'} | eval }}""#,
    r#""{{ 'PATH' is exists }}""#,
    r#""{{ 'PATH' is file }}""#,
];

/// Paths that no project may read, or links to them.
const PATHS: &[&str] = &[
    "OUT/secret.txt",
    "../outside/secret.txt",
    "link-to-secret",
    "link-to-folder/secret.txt",
    "/proc/self/environ",
];

/// Expressions that write a file, with the path as `PATH`.
const WRITES: &[&str] = &[
    "{eval: {file: PATH, contents: x}}",
    r#""{{ {'eval': {'file': 'PATH', 'contents': 'x'}} | eval }}""#,
    "{eval: {tempfile: x}}",
    "{eval: {abspath: [PATH, null, true]}}",
    "{eval: {get_dir: [spec.home, true]}}",
    r#""{{ lookup('password', 'PATH') }}""#,
];

/// Paths that a plan may not write.
const TARGETS: &[&str] = &[
    "OUT/new",
    "../outside/new",
    "link-to-folder/new",
    ".git/hooks/pre-commit",
    "new",
];

/// Expressions that run a program or use the network.
const STARTS: &[&str] = &[
    r#""{{ lookup('pipe', 'touch OUT/ran') }}""#,
    r#""{{ lookup('lines', 'touch OUT/ran') }}""#,
    r#""{{ lookup('url', 'http://127.0.0.1:9/') }}""#,
    "{eval: {python: 'os:system', args: ['touch OUT/ran']}}",
    r#""{{ lookup('pipe', 'touch OUT/ran', errors='ignore') }}""#,
];

/// Keys of a service template that name files or repositories.
const IMPORTS: &[&str] = &[
    "imports: [PATH]",
    "imports: [{file: PATH}]",
    "+include: PATH",
    "repositories: {r: {url: 'file:OUT'}}\n    imports: [{file: secret.txt, repository: r}]",
    "repositories: {r: {url: 'ext::sh -c touch% OUT/ran'}}\n    imports: [{file: a, repository: r}]",
    "repositories: {r: {url: '--upload-pack=touch OUT/ran'}}\n    imports: [{file: a, repository: r}]",
];

impl HostileProject {
    /// Creates the project in a folder of its own, with a folder `outside` beside the project and links to it.
    pub(super) fn create(&self) -> TestEnv {
        let env = TestEnv::new();
        let outside = env.work().with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), format!("{CANARY}: [\n")).unwrap();
        env.git(&["init", "-q"]);
        symlink(
            outside.join("secret.txt"),
            env.work().join("link-to-secret"),
        )
        .unwrap();
        symlink(&outside, env.work().join("link-to-folder")).unwrap();
        let text = self.ensemble.replace("OUT", outside.to_str().unwrap());
        env.write("ensemble.yaml", &text);
        env
    }

    fn new(attack: &str, service: &str, property: &str, input: &str, output: &str) -> Self {
        let ensemble = format!(
            "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    tosca_definitions_version: tosca_simple_unfurl_1_0_0
    {service}
    topology_template:
      outputs:
        o: {{value: {output}}}
      node_templates:
        a:
          type: unfurl.nodes.Generic
          properties:
            p: {property}
          interfaces:
            Standard:
              configure:
                implementation: Shell
                inputs:
                  command: echo
                  i: {input}
                  env: {{V: \"{{{{ SELF.p }}}}\"}}
"
        );
        Self {
            ensemble,
            attack: attack.to_owned(),
        }
    }

    /// A project whose expression stands in a property, an input or an output.
    fn with_expression(expression: &str, place: usize) -> Self {
        let at = |own: usize| if place % 3 == own { expression } else { "1" };
        Self::new(expression, "metadata: {}", at(0), at(1), at(2))
    }

    fn with_service(lines: &str) -> Self {
        Self::new(lines, lines, "1", "1", "1")
    }
}

/// Returns more than 100 hostile projects, always the same.
pub(super) fn hostile_projects() -> Vec<HostileProject> {
    let mut found = Vec::new();
    let mut expressions = Vec::new();
    for form in READS {
        expressions.extend(PATHS.iter().map(|path| form.replace("PATH", path)));
    }
    for form in WRITES {
        expressions.extend(TARGETS.iter().map(|path| form.replace("PATH", path)));
    }
    expressions.extend(STARTS.iter().map(|&form| form.to_owned()));
    expressions.sort();
    expressions.dedup();
    for (place, expression) in expressions.iter().enumerate() {
        found.push(HostileProject::with_expression(expression, place));
    }
    for form in IMPORTS {
        let paths = if form.contains("PATH") { PATHS } else { &[""] };
        let lines = paths.iter().map(|path| form.replace("PATH", path));
        found.extend(lines.map(|lines| HostileProject::with_service(&lines)));
    }
    assert!(found.len() >= 100, "{}", found.len());
    found
}
