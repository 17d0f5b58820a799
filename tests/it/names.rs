//! Names on the command line that nothing has: inputs, instances, operations, variables, environments, queries.

use super::drafts::{Draft, ensemble};

fn services() -> Draft {
    ensemble(
        "
        node_types:
          Service:
            derived_from: tosca.nodes.Root
            properties:
              port: {type: integer, default: 80}
            interfaces:
              Install:
                operations:
                  check:
                    implementation: Template
                    inputs: {done: {status: ok}}
              Standard:
                configure: echo {{ greeting | default('none') }} >> configured
                delete: echo deleted
          Plain:
            derived_from: tosca.nodes.Root
            interfaces:
              Standard:
                configure: echo plain
        topology_template:
          inputs:
            region: {type: string, default: eu}
            color: {type: string, default: red}
          outputs:
            port: {value: {eval: '::web::port'}}
          node_templates:
            web: {type: Service}
            database: {type: Plain}
    ",
    )
}

#[test]
fn an_unknown_name_is_an_error_in_every_job() {
    let env = services().env();
    for command in ["plan", "deploy", "teardown", "stop", "check", "discover"] {
        env.unfurl([command, "-i", "wbe"]).exits(64).says(&[
            "error: `--instance wbe` selects nothing",
            "did you mean `web`?",
        ]);
        env.unfurl([command, "--var", "input_regoin", "x"])
            .exits(64)
            .says(&["`--var input_regoin`", "did you mean `region`?"]);
        env.unfurl([command, "--var=input_nothing=x"])
            .exits(64)
            .says(&["its inputs are `region`, `color`"]);
    }
    let run = env
        .unfurl(["plan", "--output", "json", "-i", "wbe"])
        .exits(64);
    assert!(
        run.json()["errors"][0]["message"]
            .as_str()
            .unwrap()
            .contains("`--instance wbe`")
    );
    env.unfurl(["run", "-i", "databse", "--", "true"])
        .exits(64)
        .says(&["did you mean `database`?"]);
    env.unfurl(["plan", "-i", "::web"])
        .exits(64)
        .says(&["did you mean `web`?"]);
    env.unfurl(["plan", "--exclude", "wbe"])
        .exits(2)
        .says(&["did you mean `web`?"]);
    env.unfurl(["plan", "--template", "wbe"])
        .exits(64)
        .says(&["did you mean `web`?"]);
    env.unfurl(["plan", "--workflow", "undeplo"])
        .exits(64)
        .says(&["did you mean `undeploy`?"]);
    env.unfurl(["explain", "wbe"])
        .exits(1)
        .says(&["did you mean `web`?"]);
    assert!(
        !env.names().iter().any(|name| name.starts_with("changes")),
        "{:?}",
        env.names()
    );
}

#[test]
fn an_operation_is_known_if_a_selected_instance_has_it() {
    let env = services().env();
    let unknown = |arguments: &[&str], texts: &[&str]| {
        let all = ["run"].iter().chain(arguments);
        env.unfurl(all).exits(64).says(texts);
    };
    unknown(
        &["--operation", "confgure"],
        &[
            "no instance and no template has an implementation of `confgure`",
            "did you mean `configure`?",
        ],
    );
    unknown(
        &["--operation", "Standard.confgure"],
        &["did you mean `Standard.configure`?"],
    );
    unknown(&["--operation", "zzz"], &["the operations are "]);
    // A template has it, but no instance exists yet.
    env.unfurl(["run", "--operation", "check"])
        .succeeds()
        .says(&["warning: no instance that exists has the operation `Install.check`"]);
    env.unfurl(["deploy", "--approve"]).succeeds();
    unknown(
        &["-i", "database", "--operation", "check"],
        &[
            "no selected instance has an implementation of `Install.check`",
            "`Standard.configure`",
        ],
    );
    env.unfurl([
        "run",
        "-i",
        "database",
        "-i",
        "web",
        "--operation",
        "check",
        "--approve",
    ])
    .succeeds();
    env.unfurl(["run", "--operation", "check", "--approve"])
        .succeeds();
}

#[test]
fn names_of_the_record_are_known() {
    let env = services().env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    let text = env.read("ensemble.yaml");
    let lines = text
        .lines()
        .filter(|line| !line.contains("database: {type: Plain}"));
    let text = lines.fold(String::new(), |all, line| all + line + "\n");
    env.write("ensemble.yaml", &text);
    env.unfurl(["plan", "-i", "database"]).succeeds();
    env.unfurl(["teardown", "-i", "database"]).does_not_panic();
    env.unfurl(["plan", "-i", "root"]).succeeds();
}

#[test]
fn a_variable_that_nothing_reads_is_a_warning() {
    let env = services().env();
    let warning = "nothing reads the variable";
    env.unfurl(["plan", "--var", "regin", "x"])
        .succeeds()
        .says(&[
            "warning: nothing reads the variable `regin`",
            "did you mean `--var input_region VALUE`?",
        ]);
    env.unfurl(["deploy", "--approve", "--var", "unheard", "secret-word"])
        .succeeds()
        .says(&["warning: nothing reads the variable `unheard`"]);
    for name in ["greeting", "input_region"] {
        let run = env.unfurl(["plan", "--var", name, "x"]).succeeds();
        assert!(!run.all().contains(warning), "{run:?}");
    }
    // A template that is rendered late may read it.
    env.write("templates/site.conf.j2", "{{ unheard }}\n");
    let run = env.unfurl(["plan", "--var", "unheard", "x"]).succeeds();
    assert!(!run.all().contains(warning), "{run:?}");
    // Records of jobs read nothing.
    env.write("jobs/old.yaml", "other: other\n");
    env.unfurl(["plan", "--var", "other", "x"]).says(&[warning]);
}

#[test]
fn a_query_for_an_unknown_name_is_a_warning() {
    let env = services().env();
    env.unfurl(["deploy", "--approve"]).succeeds();
    let warning = "warning: the query has no result: there is no instance and no template `wbe`";
    let run = env.unfurl(["status", "--query", "::wbe::port"]).succeeds();
    let run = run
        .says(&[warning, "did you mean `web`?"])
        .prints(&["No results found"]);
    assert!(!run.stdout.contains("warning"), "{run:?}");
    env.unfurl(["plan", "--query", "::wbe::port"])
        .succeeds()
        .says(&[warning]);
    env.unfurl(["deploy", "--query", "::wbe::port"])
        .succeeds()
        .says(&[warning]);
    for query in [
        "::web::port",
        "::web::nothing",
        "::root::outputs::port",
        "::inputs::x",
        "::*::no",
        "web::port",
    ] {
        let run = env.unfurl(["status", "--query", query]).succeeds();
        assert!(!run.all().contains("warning"), "{query}: {run:?}");
    }
}

#[test]
fn an_unknown_environment_suggests_a_similar_one() {
    let env = services().env();
    env.write(
        "unfurl.yaml",
        "apiVersion: unfurl/v1alpha1\nkind: Project\nenvironments: {production: {}}\n\
         ensembles: [{file: ensemble.yaml}]\n",
    );
    for command in ["plan", "status", "history"] {
        let run = env.unfurl([command, "--use-environment", "prodution"]);
        assert_eq!(run.code, 1, "{run:?}");
        run.says(&[
            "no environment named `prodution`",
            "did you mean `production`?",
        ]);
    }
}
