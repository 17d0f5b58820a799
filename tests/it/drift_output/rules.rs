//! Ignore rules and `drift accept`.

use super::{drift, edit_file, set_status, shop};
use crate::support::TestEnv;

fn id_of(env: &TestEnv, instance: &str) -> String {
    let json = drift(env, &["--output", "json"]).json();
    let findings = json["ensembles"][0]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|it| it["instance"] == instance);
    finding.unwrap()["id"].as_str().unwrap().to_owned()
}

fn edit_ensemble(env: &TestEnv, from: &str, to: &str) {
    let text = env.read("ensemble.yaml");
    assert!(text.contains(from), "{text}");
    env.write("ensemble.yaml", &text.replace(from, to));
}

#[test]
fn an_accepted_finding_raises_no_alarm() {
    let env = shop();
    edit_file(&env);
    let id = id_of(&env, "conf");
    let run = drift(
        &env,
        &[
            "accept",
            &id,
            "--until",
            "30d",
            "--reason",
            "the operators test: \"x\"",
        ],
    );
    let run = run
        .succeeds()
        .prints(&["ensemble.yaml:", "1 rule written, until "]);
    assert!(run.stdout.contains(&id), "{run}");
    let text = env.read("ensemble.yaml");
    assert!(
        text.contains("# This comment says why there is a file.\n"),
        "{text}"
    );
    assert!(text.contains("    - instance: conf\n"), "{text}");
    env.unfurl(["validate"]).succeeds();
    drift(&env, &[]).exits(0).prints(&[
        "No drift in work: 1 ignored; 4 of 4",
        "`--all` shows the ignored ones",
    ]);
    drift(&env, &["--all"]).exits(0).prints(&[
        "· ignored  conf: out/shop.conf: as written → changed",
        "ignored by the rule instance: conf, attribute: out/shop.conf",
        "reason: the operators test",
    ]);
    drift(&env, &["--log"]).prints(&["ruled"]);
    // Another difference of the same file has another cause.
    env.write("out/shop.conf", "something else\n");
    drift(&env, &[]).exits(3);
}

#[test]
fn a_rule_that_has_ended_or_matches_nothing_or_is_wrong_is_a_finding() {
    let env = shop();
    set_status(&env, "web1", "error");
    drift(
        &env,
        &[
            "accept", "-i", "web1", "--until", "30d", "--reason", "known",
        ],
    )
    .succeeds();
    drift(&env, &[]).exits(0);
    let text = env.read("ensemble.yaml");
    let (_, until) = text.split_once("until: ").unwrap();
    let until = until.lines().next().unwrap();
    edit_ensemble(&env, until, "'2020-01-01'");
    let run = drift(&env, &[]).exits(3);
    run.prints(&[
        "! drifted  web1",
        "? rule  the ignore rule",
        "ended with 2020-01-01",
        "1 problem of ignore rules",
        "    ensemble.yaml:",
    ]);
    edit_ensemble(&env, "'2020-01-01'", "2099-01-01");
    set_status(&env, "web1", "ok");
    drift(&env, &[]).exits(1).prints(&[
        "matches nothing",
        "No drift found in work, but 1 problem of ignore rules",
    ]);
    edit_ensemble(&env, "2099-01-01", "soon");
    drift(&env, &[]).exits(1).prints(&["? rule  ", "`soon`"]);
    edit_ensemble(&env, "until: soon", "untill: soon");
    drift(&env, &[]).exits(1).prints(&["? rule  ", "`untill`"]);
}

#[test]
fn accepting_needs_a_known_finding_a_reason_and_a_future_end() {
    let env = shop();
    set_status(&env, "web1", "error");
    let before = env.read("ensemble.yaml");
    let id = id_of(&env, "web1");
    let cases: &[(&[&str], &str)] = &[
        (&["ffff", "--reason", "x"], "no finding has the id `ffff`"),
        (&["--reason", "x"], "no finding is named"),
        (
            &["-i", "web2", "--reason", "x"],
            "nothing of the instance `web2` has drifted",
        ),
        (&[&id, "--reason", ""], "`--reason` is empty"),
        (
            &[&id, "--reason", "x", "--until", "2020-01-01"],
            "is in the past",
        ),
        (
            &[&id, "--reason", "x", "--until", "soon"],
            "`soon` is no end of a rule",
        ),
        (&[&id], "--reason"),
    ];
    for (words, message) in cases {
        let words: Vec<&str> = ["accept"].iter().chain(*words).copied().collect();
        let run = drift(&env, &words).exits(2);
        run.says(&[message]);
    }
    assert_eq!(env.read("ensemble.yaml"), before);
}
