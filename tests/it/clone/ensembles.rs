//! Ensembles that are made from templates and from other ensembles.

use super::{SERVICE_TEMPLATE, commit, last_line, shown, with_blueprint, with_project};

#[test]
fn an_ensemble_is_cloned_within_its_project_without_its_record() {
    let env = with_project();
    let proj = "origins/app.git";
    env.unfurl(["deploy", proj, "--approve", "--commit"])
        .succeeds();
    let run = env
        .unfurl_in(proj, &[], &["clone", "ensemble/ensemble.yaml", "other"])
        .succeeds();
    assert_eq!(
        last_line(&run),
        format!(
            "Created new ensemble at \"{}\"",
            shown(&env, "origins/app.git/other")
        )
    );
    assert!(!run.stderr.contains("not trusted"), "{run}");
    let text = env.read("origins/app.git/other/ensemble.yaml");
    assert!(
        !text.contains("status") && !text.contains("lastJob"),
        "{text}"
    );
    assert!(
        env.read("origins/app.git/unfurl.yaml")
            .contains("other/ensemble.yaml")
    );
    env.unfurl_in(proj, &[], &["deploy", "other", "--approve"])
        .succeeds()
        .prints(&["Deployed: 1 created"]);
    let before = env.names();
    env.unfurl_in(proj, &[], &["clone", "ensemble", "other"])
        .exits(1)
        .says(&["exists and is not empty"]);
    assert_eq!(env.names(), before);
}

#[test]
fn a_blueprint_gets_an_ensemble() {
    let env = with_blueprint();
    let url = "https://example.test/plan.git";
    let run = env.unfurl(["clone", url, "mine"]).succeeds();
    assert_eq!(
        last_line(&run),
        format!(
            "Created new ensemble at \"{}\"",
            shown(&env, "mine/ensemble")
        )
    );
    env.unfurl(["deploy", "mine", "--approve"])
        .succeeds()
        .prints(&["Deployed: 1 created"]);
    let run = env.unfurl(["clone", url, "mono", "--mono"]).succeeds();
    assert!(last_line(&run).starts_with("Created new ensemble"));
    assert!(!env.work().join("mono/ensemble/.git").exists());
    assert_eq!(env.git(&["-C", "mono", "status", "--porcelain"]), "");
    let run = env.unfurl(["clone", url, "none", "--empty"]).succeeds();
    assert_eq!(
        last_line(&run),
        format!("Cloned project to {}", shown(&env, "none"))
    );
    let run = env.unfurl(["clone", url, "design", "--design"]).succeeds();
    assert!(last_line(&run).starts_with("Cloned blueprint to "));
    assert!(!env.work().join("none/ensemble").exists());
}

#[test]
fn a_template_is_cloned_into_another_project() {
    let env = with_blueprint();
    for source in [
        "https://example.test/plan.git#:service_template.yaml",
        "origins/plan.git",
    ] {
        let name = if source.contains('#') { "one" } else { "two" };
        let run = env
            .unfurl(["clone", source, &format!("proj/{name}")])
            .succeeds();
        assert_eq!(
            last_line(&run),
            format!(
                "Created new ensemble at \"{}\"",
                shown(&env, &format!("proj/{name}"))
            )
        );
        env.unfurl(["deploy", &format!("proj/{name}"), "--approve"])
            .succeeds();
    }
    let status = env.git(&["-C", "proj", "status", "--porcelain"]);
    assert!(!status.contains("plan"), "{status}");
}

#[test]
fn a_source_without_anything_is_refused_and_leaves_nothing() {
    let env = with_blueprint();
    env.write("origins/text.git/readme", "");
    commit(&env, "origins/text.git");
    env.write("loose/service_template.yaml", SERVICE_TEMPLATE);
    let before = env.names();
    env.unfurl(["clone", "https://example.test/text.git", "bad"])
        .exits(1)
        .says(&["contains no Unfurl project"]);
    env.unfurl(["clone", "loose", "bad"])
        .exits(1)
        .says(&["is in no git repository"]);
    env.unfurl(["clone", "gone", "bad"])
        .exits(1)
        .says(&["does not exist"]);
    env.unfurl(["clone", "https://example.test/text.git", "proj/x"])
        .exits(1);
    assert!(!env.work().join("proj/text").exists());
    assert_eq!(env.names(), before);
    env.unfurl(["clone", "cloudmap:x.org/y"])
        .exits(2)
        .says(&["is not supported", "https://HOST/PATH.git"]);
}
