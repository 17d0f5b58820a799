//! Security of reads: S9, loading, planning and expressions read nothing outside of the project.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::TestEnv;

use super::expressions::{CANARY, Hostile};

/// The expressions that read a file, each with a path.
fn reads(path: &str) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap().display().to_string();
    let folder = if folder.is_empty() { "." } else { &folder };
    let mut all = vec![
        format!("{{eval: {{file: '{path}'}}}}"),
        format!("{{eval: {{file: '{path}'}}, select: contents}}"),
        format!("{{eval: {{template: {{path: '{path}'}}}}}}"),
        format!("{{eval: {{lookup: {{file: '{path}'}}}}}}"),
    ];
    let templates = [
        format!("lookup('file', '{path}')"),
        format!("lookup('unvault', '{path}')"),
        format!("lookup('template', '{path}')"),
        format!("lookup('first_found', '{path}')"),
        format!("lookup('csvfile', 'c4 file={path} delimiter=: col=1')"),
        format!("lookup('ini', 'key file={path}')"),
        format!("lookup('password', '{path}')"),
        format!("query('file', '{path}')"),
        format!("'{path}' is exists"),
        format!("'{path}' is file"),
        format!("'{path}' is directory"),
        format!("'{path}' is same_file '{path}'"),
        format!("'{path}' is mount"),
    ];
    let is_link = path == "link.txt";
    all.extend(templates.map(|template| format!("\"{{{{ {template} }}}}\"")));
    if !is_link {
        all.push(format!("\"{{{{ lookup('fileglob', '{folder}/*') }}}}\""));
        all.push(format!("\"{{{{ '{folder}/*' | fileglob }}}}\""));
        all.push(format!("\"{{{{ '{path}' is link }}}}\""));
    }
    all
}

/// V9: no expression reads a file outside of the project, by whatever name.
#[test]
fn s9_expressions_read_nothing_outside_of_the_project() {
    let hostile = Hostile::new();
    let expressions: Vec<String> = hostile
        .paths()
        .iter()
        .flat_map(|path| reads(path))
        .collect();
    hostile.nodes(&expressions);
    for command in [
        &["plan"][..],
        &["validate"],
        &["export"],
        &["plan", "--output", "json"],
    ] {
        let run = hostile.env.unfurl(command).does_not_panic();
        hostile.has_no_canary(&run);
    }
    let plan = hostile.env.unfurl(["plan"]).does_not_panic();
    for (place, expression) in expressions.iter().enumerate() {
        assert!(plan.all().contains(&format!("n{place}")), "{expression}");
        // Each form of each kind of path is asked for once; the plan above has all of them.
        if place % 3 == 0 {
            let query = format!("::root::inputs::i{place}");
            let run = hostile
                .env
                .unfurl(["status", "--query", &query])
                .does_not_panic();
            hostile.has_no_canary(&run);
            let refused = run.all().contains("outside of the project");
            assert!(refused && run.code != 0, "{expression}\n{run}");
        }
    }
    let refusals = plan.all().matches("outside of the project").count();
    assert!(
        refusals >= expressions.len(),
        "{refusals} of {}\n{plan}",
        expressions.len()
    );
}

/// V9: a path may be written anywhere, but no digest of foreign files gets into a record.
#[test]
fn s9_a_foreign_path_has_a_text_and_no_digest() {
    let hostile = Hostile::new();
    let folder = hostile.outside.display().to_string();
    hostile.nodes(&[
        format!("{{eval: {{abspath: '{folder}'}}}}"),
        "\"{{ 'linked' | abspath }}\"".to_owned(),
        "\"{{ 'linked/secret.txt' | realpath }}\"".to_owned(),
    ]);
    let run = hostile.env.unfurl(["deploy", "--approve"]).succeeds();
    hostile.has_no_canary(&run);
    fs::write(hostile.outside.join("secret.txt"), "changed").unwrap();
    let again = hostile
        .env
        .unfurl(["deploy", "--approve", "--output", "json"])
        .succeeds();
    let job = &again.json()["job"];
    assert_eq!(job["total"], job["skipped"], "{again}");
}

/// V9: the project's own files are read as before, also through links and `..` in it.
#[test]
fn s9_files_of_the_project_are_read() {
    let hostile = Hostile::new();
    symlink("data/own.txt", hostile.env.work().join("inner.txt")).unwrap();
    let absolute = hostile
        .env
        .work()
        .join("data/own.txt")
        .display()
        .to_string();
    for path in [
        &*absolute,
        "data/own.txt",
        "data/../data/own.txt",
        "inner.txt",
        "linked/back/own.txt",
    ] {
        hostile.nodes(&[format!("\"{{{{ lookup('file', '{path}') }}}}\"")]);
        let run = hostile
            .env
            .unfurl(["status", "--query", "::root::inputs::i0"]);
        assert!(run.stdout.contains("own"), "{path}\n{run}");
    }
}

/// V9: the user can allow more, by name or with trust for the project.
#[test]
fn s9_the_user_allows_foreign_reads() {
    let hostile = Hostile::new();
    hostile.nodes(&["\"{{ lookup('file', '../outside/secret.txt') }}\"".to_owned()]);
    let query = ["status", "--query", "::root::inputs::i0"];
    let refused = hostile.env.unfurl(query);
    refused.says(&["outside of the project", "--allow read"]);
    let run = hostile
        .env
        .unfurl(query.iter().copied().chain(["--allow", "read"]));
    assert!(run.succeeds().stdout.contains(CANARY));
}

/// An ensemble whose service template has this text, and the one node that it needs.
fn service(text: &str) -> String {
    let template = text.replace('\n', "\n    ");
    format!(
        "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template:\n    \
         tosca_definitions_version: tosca_simple_unfurl_1_0_0\n    {template}\n    \
         topology_template: {{node_templates: {{a: {{type: tosca.nodes.Root}}}}}}\n"
    )
}

/// The ensembles that load a foreign file, in all ways.
fn foreign_texts(outside: &str) -> Vec<String> {
    let yaml = [
        format!("{outside}/secret.yaml"),
        "../outside/secret.yaml".to_owned(),
        "data/../../outside/secret.yaml".to_owned(),
        "link.yaml".to_owned(),
        "linked/secret.yaml".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
    ];
    let mut texts = Vec::new();
    for path in &yaml {
        texts.push(service(&format!("imports: ['{path}']")));
        texts.push(service(&format!("imports: [{{file: '{path}'}}]")));
        texts.push(service(&format!("+include: '{path}'")));
        texts.push(service(&format!("+?include: '{path}'")));
        texts.push(service(&format!(
            "metadata: {{+include: {{file: '{path}'}}}}"
        )));
        texts.push(format!("+include: '{path}'\n{}", service("")));
    }
    for url in [
        format!("file:{outside}"),
        format!("file://{outside}"),
        "file:../outside".to_owned(),
        outside.to_owned(),
        "file:linked".to_owned(),
    ] {
        texts.push(service(&format!(
            "repositories: {{r: {{url: '{url}'}}}}\nimports: [{{file: secret.yaml, repository: r}}]"
        )));
        texts.push(service(&format!(
            "metadata: {{+include: {{file: secret.yaml, repository: {{url: '{url}'}}}}}}"
        )));
        texts.push(format!(
            "{}environment: {{repositories: {{r: {{url: '{url}'}}}}}}\n",
            service("imports: [{file: secret.yaml, repository: r}]")
        ));
    }
    texts.push(service(
        "imports: [{file: ../outside/secret.yaml, repository: self}]",
    ));
    texts.push(service(
        "imports: [{file: ../outside/secret.yaml, repository: project}]",
    ));
    texts
}

/// V9: imports, includes and repositories read nothing outside of the project and quote no line of it.
#[test]
fn s9_loading_reads_nothing_outside_of_the_project() {
    let hostile = Hostile::new();
    let texts = foreign_texts(&hostile.outside.display().to_string());
    for text in &texts {
        hostile.env.write("ensemble.yaml", text);
        for command in ["validate", "plan"] {
            let run = hostile.env.unfurl([command]).does_not_panic();
            assert!(
                run.code != 0 && run.all().contains("out of the project")
                    || run.all().contains("outside of the project"),
                "{text}\n{run}"
            );
            assert!(
                !run.all().contains(CANARY) && !run.all().contains("root:x"),
                "{text}\n{run}"
            );
        }
    }
}

/// V9: a project, its list of ensembles and its external ensembles lead to no foreign file.
#[test]
fn s9_projects_name_no_foreign_manifest() {
    let head = "apiVersion: unfurl/v1.0.0\nkind: Project\n";
    let project = |text: &str| vec![("unfurl.yaml", format!("{head}{text}"))];
    let plain = || ("ensemble.yaml", service(""));
    let cases: Vec<Vec<(&str, String)>> = vec![
        project("ensembles: [{file: ../outside/secret.yaml}]\n"),
        project("ensembles: [{file: linked/secret.yaml}]\n"),
        project("ensembles: [{file: link.yaml}]\n"),
        project("ensembles: [{file: secret.yaml, project: p}]\nprojects: {p: {url: 'https://x/y'}}\nlocalRepositories: {../outside: {url: 'https://x/y'}}\n"),
        vec![project("+include: ../outside/secret.yaml\n").remove(0), plain()],
        vec![project("environments: {+include: link.yaml}\n").remove(0), plain()],
        vec![
            project("environments: {defaults: {external: {x: {manifest: {file: ../outside/secret.yaml}}}}}\n").remove(0),
            plain(),
        ],
        vec![
            project("environments: {defaults: {external: {x: {manifest: {file: link.yaml}}}}}\n").remove(0),
            plain(),
        ],
    ];
    for files in cases {
        let hostile = Hostile::new();
        for (path, text) in &files {
            hostile.env.write(path, text);
        }
        for command in ["validate", "plan", "status"] {
            let run = hostile.env.unfurl([command]).does_not_panic();
            assert!(run.code != 0, "{files:?}\n{run}");
            let told = run.all();
            let refused =
                told.contains("outside of the project") || told.contains("out of the project");
            assert!(refused && !told.contains(CANARY), "{files:?}\n{run}");
        }
    }
}

/// V9: a manifest or project file that is a link to a foreign file is not read.
#[test]
fn s9_a_manifest_is_no_link_to_a_foreign_file() {
    for name in ["ensemble.yaml", "unfurl.yaml"] {
        let hostile = Hostile::new();
        hostile.env.write("ensemble.yaml", &service(""));
        fs::remove_file(hostile.env.work().join(name)).unwrap();
        symlink("../outside/secret.yaml", hostile.env.work().join(name)).unwrap();
        for command in ["validate", "plan", "status"] {
            let run = hostile.env.unfurl([command]).does_not_panic();
            assert!(
                run.code != 0 && run.all().contains("project by a symbolic link"),
                "{name}\n{run}"
            );
            assert!(!run.all().contains(CANARY), "{name}\n{run}");
        }
    }
}

/// V9: links in the folder of a CSAR lead nowhere outside of it.
#[test]
fn s9_a_csar_folder_has_no_links_to_foreign_files() {
    let hostile = Hostile::new();
    let meta = "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: main.yaml\n";
    hostile.env.write("../csar/TOSCA-Metadata/TOSCA.meta", meta);
    let csar = hostile.env.work().with_file_name("csar");
    let imports = |path: &str| {
        let text =
            format!("tosca_definitions_version: tosca_simple_yaml_1_3\nimports: ['{path}']\n");
        fs::write(csar.join("main.yaml"), text).unwrap();
    };
    symlink("../outside/secret.yaml", csar.join("link.yaml")).unwrap();
    symlink("../outside", csar.join("linked")).unwrap();
    for path in [
        "link.yaml",
        "linked/secret.yaml",
        "../outside/secret.yaml",
        "/etc/passwd",
    ] {
        imports(path);
        let run = hostile.env.unfurl(["validate", "../csar"]).does_not_panic();
        assert!(
            run.code != 0 && run.all().contains("the project"),
            "{path}\n{run}"
        );
        assert!(
            !run.all().contains(CANARY) && !run.all().contains("root:x"),
            "{path}\n{run}"
        );
    }
    fs::remove_file(csar.join("main.yaml")).unwrap();
    symlink("../outside/secret.yaml", csar.join("main.yaml")).unwrap();
    let run = hostile.env.unfurl(["validate", "../csar"]).does_not_panic();
    assert!(run.code != 0 && !run.all().contains(CANARY), "{run}");
}

/// V9: links in a state root lead nowhere outside of the roots.
#[test]
fn s9_state_roots_have_no_links_to_foreign_files() {
    let hostile = Hostile::new();
    hostile
        .env
        .write("states/a.sls", "{% include 'link.txt' %}\n");
    hostile.env.write(
        "states/b.sls",
        "x:\n  file.managed: [{name: /tmp/no, source: 'salt://link.txt'}]\n",
    );
    symlink(
        "../../outside/secret.txt",
        hostile.env.work().join("states/link.txt"),
    )
    .unwrap();
    symlink(
        "../../outside/secret.yaml",
        hostile.env.work().join("states/c.sls"),
    )
    .unwrap();
    symlink("../../outside", hostile.env.work().join("states/linked")).unwrap();
    for name in ["a", "b", "c", "linked.secret"] {
        let arguments = [
            "state",
            "test",
            name,
            "--file-root",
            "states",
            "-H",
            "@local",
        ];
        let run = hostile.env.unfurl(arguments).does_not_panic();
        assert!(
            run.code != 0 && !run.all().contains(CANARY),
            "{name}\n{run}"
        );
    }
}

/// V9: a task file includes files of its project alone.
#[test]
fn s9_task_files_include_nothing_foreign() {
    let hostile = Hostile::new();
    for path in [
        "../outside/secret.yaml",
        "link.yaml",
        "linked/secret.yaml",
        "/etc/passwd",
    ] {
        hostile
            .env
            .write("tasks.yaml", &format!("include: ['{path}']\n"));
        let run = hostile.env.unfurl(["task", "--list"]).does_not_panic();
        let told = run.all();
        assert!(run.code != 0 && told.contains("the project"), "{run}");
        assert!(!told.contains(CANARY) && !told.contains("root:x"), "{run}");
    }
}

/// V9: the folder `.git` can hold credentials, so that no project reads it.
#[test]
fn s9_git_settings_are_no_files_of_the_project() {
    let hostile = Hostile::new();
    hostile.env.git(&["init", "-q"]);
    hostile.env.git(&[
        "remote",
        "add",
        "origin",
        "https://me:c4n4ry@example.com/x.git",
    ]);
    hostile.nodes(&["\"{{ lookup('file', '.git/config') }}\"".to_owned()]);
    let run = hostile
        .env
        .unfurl(["status", "--query", "::root::inputs::i0"])
        .does_not_panic();
    assert!(run.code != 0 && !run.all().contains(CANARY), "{run}");
}

/// V9: a project that lies in a repository of the user cannot name that repository by its first commit.
#[test]
fn s9_a_surrounding_repository_cannot_be_named_by_its_first_commit() {
    let env = TestEnv::new();
    env.write("README", "mine\n");
    env.git(&["init", "-q"]);
    env.git(&["add", "README"]);
    env.git(&["commit", "-qm", "first"]);
    let commit = env.git(&["rev-list", "--max-parents=0", "HEAD"]);
    env.write("key", CANARY);
    let definitions = "tosca_definitions_version: tosca_simple_unfurl_1_0_0";
    env.write("downloads/evil/other.yaml", &format!("{definitions}\n"));
    let key = env.work().join("key").display().to_string();
    env.write(
        "downloads/evil/ensemble.yaml",
        &format!(
            "apiVersion: unfurl/v1.0.0
kind: Ensemble
spec:
  service_template:
    {definitions}
    repositories: {{r: {{url: 'git-local://{commit}:home/'}}}}
    imports: [{{file: downloads/evil/other.yaml, repository: r}}]
    topology_template:
      node_templates:
        a:
          type: unfurl.nodes.Generic
          properties: {{p: {{eval: {{file: {key}}}, select: contents}}}}
          interfaces:
            Standard:
              configure: {{implementation: Shell, inputs: {{command: 'echo {{{{ SELF.p }}}}'}}}}
"
        ),
    );
    for command in ["plan", "validate", "explain"] {
        let run = env.unfurl([command, "downloads/evil"]).does_not_panic();
        assert!(!run.all().contains(CANARY), "{run}");
    }
    for (name, bytes) in env.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            name.ends_with("/key") || !text.contains(CANARY),
            "{name}: {text}"
        );
    }
}

/// V9: an ensemble of a repository reads the rest of it, but not of a repository that merely surrounds it.
#[test]
fn s9_a_surrounding_repository_is_another_project() {
    let hostile = Hostile::new();
    fs::remove_file(hostile.env.work().join("unfurl.yaml")).unwrap();
    hostile.env.write(
        "common.yaml",
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0\n",
    );
    let text = service("imports: [../common.yaml]");
    hostile.env.write("e/ensemble.yaml", &text);
    hostile.env.git(&["init", "-q"]);
    hostile.env.git(&["add", "common.yaml"]);
    hostile.env.git(&["commit", "-qm", "x"]);
    hostile
        .env
        .unfurl(["validate", "e"])
        .says(&["outside of the project"]);
    hostile.env.git(&["add", "e"]);
    hostile.env.git(&["commit", "-qm", "x"]);
    hostile.env.unfurl(["validate", "e"]).succeeds();
}
