//! Instances whose template was removed from the model: jobs keep and report them, and `--prune` removes
//! them.

use serde_json::Value as Json;

use super::drafts::{self, ensemble, text, topology};
use super::support::{Run, TestEnv};

/// A template whose `delete` writes the node's name to the file `order`.
fn node(name: &str, more: &str) -> String {
    text(
        r#"
            <name>:
              type: tosca.nodes.Root
              <more>
              interfaces: {Standard: {configure: echo made, delete: 'echo <name> >> "$DONE"'}}
            "#,
    )
    .with("name", name)
    .with("more", more)
    .build()
}

fn model(nodes: &[String]) -> String {
    let written: String = nodes.iter().map(|node| text(node).build()).collect();
    if written.is_empty() {
        return topology("node_templates: {}").build();
    }
    drafts::nodes(&written).build()
}

/// An environment whose model is in a separate file, so that a test can change it.
fn world(model: &str) -> TestEnv {
    let env = TestEnv::new();
    let done = env.work().join("order").to_string_lossy().into_owned();
    let env = env.variable("DONE", &done);
    change(&env, model);
    env
}

/// Replaces the model of the ensemble and keeps its record.
fn change(env: &TestEnv, model: &str) {
    let old = if env.names().contains(&"ensemble.yaml".to_owned()) {
        env.read("ensemble.yaml")
    } else {
        String::new()
    };
    let recorded = old.find("\nstatus:").map_or("", |at| &old[at + 1..]);
    env.write("ensemble.yaml", &format!("{model}{recorded}"));
}

fn job(env: &TestEnv, arguments: &[&str]) -> Run {
    let fixed = ["--approve", "--output", "json"];
    env.unfurl(arguments.iter().chain(&fixed))
}

fn order(env: &TestEnv) -> Vec<String> {
    let path = env.work().join("order");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn instances(env: &TestEnv) -> Json {
    env.ensemble()["status"]["instances"].clone()
}

fn names(instances: &Json) -> Vec<&str> {
    let map = instances.as_object().unwrap();
    map.keys().map(String::as_str).collect()
}

/// Three nodes in a chain: `c` requires `b`, and `b` requires `a`.
fn chain() -> [String; 3] {
    [
        node("a", ""),
        node("b", "requirements: [{dependency: a}]"),
        node("c", "requirements: [{dependency: b}]"),
    ]
}

#[test]
fn an_instance_without_template_is_kept_and_named() {
    let [a, b, c] = chain();
    let env = world(&model(&[a.clone(), b, c]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[a]));
    let before = env.tracked();

    let run = job(&env, &["deploy"]).succeeds();
    let run = run.says(&["`b` exists", "`c` exists", "unfurl deploy --prune"]);
    let summary = run.json();
    assert_eq!(summary["orphans"][0]["instance"], "b");
    assert_eq!(summary["orphans"][1]["template"], "c");
    assert_eq!(env.tracked(), before, "{run}");

    let plan = env.unfurl(["-v", "plan"]).succeeds();
    assert!(
        plan.stdout
            .contains("b (template b): ok, configured, since 20"),
        "{plan}"
    );
    let plan = env.unfurl(["plan", "--output", "json"]).succeeds().json();
    let orphan = &plan.as_array().unwrap().last().unwrap();
    assert_eq!(
        (&orphan["instance"], &orphan["plan"]),
        (&"c".into(), &Json::Array(vec![]))
    );

    job(&env, &["teardown"])
        .succeeds()
        .says(&["`b` exists", "`c` exists"]);
    assert_eq!(order(&env), ["a"]);
    assert_eq!(instances(&env)["b"]["readyState"]["local"], "ok");
    assert_eq!(instances(&env)["c"]["readyState"]["local"], "ok");
}

#[test]
fn prune_removes_instances_without_template_dependents_first() {
    for command in ["deploy", "teardown"] {
        let [a, b, c] = chain();
        let env = world(&model(&[a.clone(), b, c]));
        job(&env, &["deploy"]).succeeds();
        change(&env, &model(&[a]));
        let run = job(&env, &[command, "--prune"]).succeeds();
        let expected: &[&str] = if command == "deploy" {
            &["c", "b"]
        } else {
            &["c", "b", "a"]
        };
        assert_eq!(order(&env), expected, "{run}");
        assert_eq!(names(&instances(&env)), ["a"], "{run}");

        // A second job does not miss the removed instances.
        let before = env.tracked();
        let again = job(&env, &[command, "--prune"]).succeeds();
        assert_eq!(env.tracked(), before, "{again}");
        assert!(!again.stderr.contains("exists"), "{again}");
    }
}

#[test]
fn a_living_instance_that_stands_on_one_without_template_goes_before_it() {
    let on = |host: &str| {
        let requirement = format!("requirements: [{{host: {host}}}]");
        let app = node("app", &requirement).replace("nodes.Root", "nodes.SoftwareComponent");
        let host = node(host, "").replace("nodes.Root", "nodes.Compute");
        model(&[host, app])
    };
    let env = world(&on("a_box"));
    job(&env, &["deploy"]).succeeds();
    // The model moves `app` to another host, but the instance still exists on the old one.
    change(&env, &on("crate"));
    let run = job(&env, &["teardown", "--prune"]).succeeds();
    assert_eq!(order(&env), ["app", "a_box"], "{run}");
    // The record of `app` is kept, because it has a template, and so is that of its host.
    let left = &instances(&env)["a_box"];
    assert_eq!(left["readyState"]["local"], "absent", "{run}");
    assert_eq!(left["instances"]["app"]["readyState"]["local"], "absent");
}

#[test]
fn one_without_template_does_not_wait_for_what_needs_it_no_more() {
    let [a, b, _] = chain();
    let env = world(&model(&[a, b]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[node("b", "")]));
    // With more tasks the two could run in parallel, because neither waits for the other.
    job(&env, &["teardown", "--prune", "--parallel", "1"]).succeeds();
    assert_eq!(order(&env), ["a", "b"]);
}

#[test]
fn a_renamed_template_is_a_new_one_and_an_old_one_without_template() {
    let env = world(&model(&[node("old", "")]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[node("new", "")]));
    job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["old"]);
    assert_eq!(names(&instances(&env)), ["new"]);
}

#[test]
fn what_git_ignores_is_not_needed_to_prune() {
    let [a, b, c] = chain();
    let env = world(&model(&[a.clone(), b, c]));
    job(&env, &["deploy"]).succeeds();
    for folder in ["jobs", "planned", "active", "failed"] {
        std::fs::remove_dir_all(env.work().join(folder)).ok();
    }
    change(&env, &model(&[a]));
    job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["c", "b"]);
}

#[test]
fn changes_within_the_ensemble_keep_templates_too() {
    let [a, b, c] = chain();
    let all = model(&[a.clone(), b, c]);
    let env = world(&format!("{all}changes: []\n"));
    job(&env, &["deploy"]).succeeds();
    let text = env.read("ensemble.yaml");
    let kept = text.find("\nchanges:").unwrap();
    env.write(
        "ensemble.yaml",
        &format!("{}{}", model(&[a]), &text[kept + 1..]),
    );
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["c", "b"], "{run}");
    assert_eq!(names(&instances(&env)), ["a"], "{run}");
}

#[test]
fn an_instance_hosted_on_one_without_template_is_not_made_twice() {
    let host = "        box: {type: tosca.nodes.Compute, interfaces: {Standard: {configure: echo made, delete: 'echo box >> \"$DONE\"'}}}\n";
    let app = |host: &str| {
        format!(
            "        app:
          type: tosca.nodes.SoftwareComponent
          requirements: [{{host: {host}}}]
          interfaces: {{Standard: {{configure: echo app, delete: 'echo app >> \"$DONE\"'}}}}
"
        )
    };
    let env = world(&model(&[host.to_owned(), app("box")]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[host.replace("box", "crate"), app("crate")]));
    let run = job(&env, &["deploy"]).succeeds();
    let text = instances(&env).to_string();
    assert_eq!(
        text.matches("\"template\":\"app\"").count(),
        1,
        "{run}\n{text}"
    );
    assert!(text.contains("\"template\":\"box\""), "{run}\n{text}");

    job(&env, &["deploy", "--prune"]).succeeds();
    assert!(!instances(&env).to_string().contains("box"));
}

#[test]
fn what_stands_on_an_instance_without_template_keeps_its_host() {
    let host = "        box: {type: tosca.nodes.Compute, interfaces: {Standard: {configure: echo made, delete: 'echo box >> \"$DONE\"'}}}\n";
    let app = "        app:
          type: tosca.nodes.SoftwareComponent
          requirements: [{host: box}]
          interfaces: {Standard: {configure: echo app, delete: 'echo app >> \"$DONE\"'}}
";
    let env = world(&model(&[host.to_owned(), app.to_owned()]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[host.to_owned()]));
    job(&env, &["teardown"]).succeeds();
    assert!(order(&env).is_empty());
    job(&env, &["teardown", "--prune"]).succeeds();
    assert_eq!(order(&env), ["app", "box"]);
}

#[test]
fn relationships_of_an_instance_without_template_are_removed_with_it() {
    let with = r#"
        requirements:
        - dependency:
            node: a
            relationship:
              type: tosca.relationships.DependsOn
              interfaces: {Configure: {remove_source: 'echo source >> "$DONE"', remove_target: 'echo target >> "$DONE"'}}
        "#;
    let env = world(&model(&[node("a", ""), node("b", with)]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[node("a", "")]));
    job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["source", "b"]);
}

#[test]
fn a_removed_type_is_reported_and_nothing_is_lost() {
    let types = "    node_types:\n      Mine: {derived_from: tosca.nodes.Root, interfaces: {Standard: {configure: echo made, delete: echo gone}}}\n";
    let text = "
        <types>
        topology_template:
          node_templates:
            a: {type: Mine}
            b: {type: Mine}
            <c>
        ";
    let with = ensemble(text).with("types", types);
    let with = with.with("c", node("c", "")).build();
    let env = world(&with);
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[]));
    let run = job(&env, &["deploy", "--prune"]);
    let run = run
        .exits(64)
        .says(&["`a`", "Mine", "restore what the template needs"]);
    assert_eq!(names(&instances(&env)), ["a", "b"], "{run}");
    assert_eq!(order(&env), ["c"], "{run}");
}

#[test]
fn a_secret_is_not_kept_and_its_loss_is_reported() {
    let types = "    node_types:
      Db:
        derived_from: tosca.nodes.Root
        properties: {password: {type: string, metadata: {sensitive: true}}}
        interfaces: {Standard: {configure: echo made, delete: 'echo {{ SELF.password }} >> \"$DONE\"'}}
";
    let db = |password: &str| {
        ensemble(
            "
                <types>
                topology_template:
                  node_templates:
                    db: {type: Db, properties: {password: <password>}}
                ",
        )
        .with("types", types)
        .with("password", password)
        .build()
    };
    let gone = ensemble(
        "
            <types>
            topology_template: {node_templates: {}}
            ",
    )
    .with("types", types)
    .build();
    let env = world(&db("hunter2hunter2"));
    job(&env, &["deploy"]).succeeds();
    change(&env, &gone);
    for (path, bytes) in env.tracked() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter2"), "{}:\n{text}", path.display());
    }
    let run = job(&env, &["teardown", "--prune"]).exits(64);
    let run = run.says(&["password", "secret", "restore the template"]);
    assert_eq!(names(&instances(&env)), ["db"], "{run}");

    // A template that only names the source of its secret can be used for removal.
    let env = world(&db("{get_env: SECRET}")).variable("SECRET", "hunter3hunter3");
    job(&env, &["deploy"]).succeeds();
    change(&env, &gone);
    job(&env, &["teardown", "--prune"]).succeeds();
    assert_eq!(order(&env), ["hunter3hunter3"]);
}

#[test]
fn the_latest_template_counts() {
    let says = |word: &str| {
        format!(
            "        a:
          type: tosca.nodes.Root
          interfaces: {{Standard: {{configure: echo {word}, delete: 'echo {word} >> \"$DONE\"'}}}}
"
        )
    };
    let env = world(&model(&[says("one"), node("b", "")]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[says("two"), node("b", "")]));
    job(&env, &["deploy"]).succeeds();
    // The template has not changed, so it is not saved again.
    change(&env, &model(&[says("two"), node("b", ""), node("c", "")]));
    job(&env, &["deploy"]).succeeds();
    let kept = env.tracked();
    let kept = kept
        .iter()
        .filter(|(path, _)| path.to_string_lossy().contains("/changes/"));
    let kept: Vec<usize> = kept
        .map(|(_, bytes)| {
            let text = String::from_utf8_lossy(bytes);
            let templates = &text[text.find("\ntemplates:").unwrap()..];
            templates.matches("type: tosca.nodes.Root\n").count()
        })
        .collect();
    assert_eq!(kept, [2, 1, 1]);

    change(&env, &model(&[node("b", "")]));
    job(&env, &["deploy", "--prune"]).succeeds();
    let mut order = order(&env);
    order.sort();
    assert_eq!(order, ["c", "two"]);
}

#[test]
fn an_instance_deployed_without_saved_templates_is_reported() {
    let env = world(&model(&[node("a", ""), node("b", "")]));
    job(&env, &["deploy"]).succeeds();
    std::fs::remove_dir_all(env.work().join("changes")).unwrap();
    change(&env, &model(&[node("a", "")]));
    let run = job(&env, &["deploy", "--prune"]).exits(64);
    let run = run.says(&["`b` exists", "cannot be read"]);
    assert_eq!(names(&instances(&env)), ["a", "b"], "{run}");
}

fn git(env: &TestEnv, arguments: &[&str]) {
    let run = std::process::Command::new("git")
        .args(arguments)
        .current_dir(env.work())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([
            ("GIT_AUTHOR_NAME", "t"),
            ("GIT_AUTHOR_EMAIL", "t@example.com"),
        ])
        .envs([
            ("GIT_COMMITTER_NAME", "t"),
            ("GIT_COMMITTER_EMAIL", "t@example.com"),
        ])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
}

#[test]
fn a_template_that_no_record_keeps_is_found_in_the_history() {
    let [a, b, c] = chain();
    let service = |nodes: &[String]| {
        let text = model(nodes);
        let at = text.find("    topology_template").unwrap();
        text[at..].replace("\n    ", "\n").trim_start().to_owned()
    };
    let head = "apiVersion: unfurl/v1.0.0\nkind: Ensemble\nspec:\n  service_template: {+include: model.yaml}\n";
    let env = world(head);
    git(&env, &["init"]);
    let commit = |message: &str| {
        git(&env, &["add", "ensemble.yaml", "model.yaml"]);
        git(&env, &["commit", "-m", message]);
    };
    env.write("model.yaml", &service(&[a.clone(), b.clone(), c.clone()]));
    job(&env, &["deploy"]).succeeds();
    commit("all");
    env.write("model.yaml", &service(&[a.clone(), b]));
    commit("without c");
    env.write("model.yaml", &service(&[a]));
    // Imitate a deploy by a program that keeps no templates.
    std::fs::remove_dir_all(env.work().join("changes")).unwrap();
    let lines = env.read("jobs.tsv");
    env.write(
        "jobs.tsv",
        &lines.replace("digestTemplates=", "digestOther="),
    );
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["c", "b"], "{run}");
}

#[test]
fn what_stood_in_for_a_template_goes_with_it() {
    let env = world("");
    env.write(
        "inner.yaml",
        "tosca_definitions_version: tosca_simple_unfurl_1_0_0
node_types:
  Told:
    derived_from: tosca.nodes.Root
    interfaces: {Standard: {configure: echo, delete: 'echo {{ \".name\" | eval }} >> \"$DONE\"'}}
  Outer: {derived_from: Told}
topology_template:
  root: {node: two}
  node_templates:
    one: {type: Told}
    two: {type: Outer, requirements: [{dependency: one}]}
",
    );
    let outer = |nodes: &str| {
        ensemble(
            "
                imports: [inner.yaml]
                topology_template: {node_templates: {<nodes>}}
                ",
        )
        .with("nodes", nodes)
        .build()
    };
    change(&env, &outer("it: {type: Outer, directives: [substitute]}"));
    job(&env, &["deploy"]).succeeds();
    change(&env, &outer(""));
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["two", "one"], "{run}");
    assert_eq!(names(&instances(&env)), Vec::<&str>::new(), "{run}");
}

#[test]
fn prune_removes_what_a_task_added_when_its_maker_is_gone() {
    let part = "{type: tosca.nodes.Root, interfaces: {Standard: {configure: echo, delete: 'echo part >> \"$DONE\"'}}}";
    let boss = format!(
        "        boss:
          type: tosca.nodes.Root
          interfaces:
            Standard:
              configure:
                implementation: echo
                inputs:
                  resultTemplate: [{{name: part, template: {part}, READY}}]
              delete: 'echo boss >> \"$DONE\"'
"
    );
    // Case 1: the instance was created by tasks of its own, so a task removes it.
    let env = world(&model(&[
        node("other", ""),
        boss.replace("READY", "attributes: {x: 1}"),
    ]));
    job(&env, &["deploy"]).succeeds();
    assert!(env.read("ensemble.yaml").contains("discovered:"));
    assert!(instances(&env)["part"].is_object());
    change(&env, &model(&[node("other", "")]));
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    let mut removed = order(&env);
    removed.sort();
    assert_eq!(removed, ["boss", "part"], "{run}");
    assert_eq!(names(&instances(&env)), ["other"], "{run}");

    // Case 2: the instance is managed by another one, and may go with it. If it did not, the next job removes
    // it.
    let env = world(&model(&[
        node("other", ""),
        boss.replace("READY", "readyState: ok"),
    ]));
    job(&env, &["deploy"]).succeeds();
    change(&env, &model(&[node("other", "")]));
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["boss"], "{run}");
    assert_eq!(names(&instances(&env)), ["other", "part"], "{run}");
    let run = job(&env, &["deploy", "--prune"]).succeeds();
    assert_eq!(order(&env), ["boss", "part"], "{run}");
    assert_eq!(names(&instances(&env)), ["other"], "{run}");
}
