//! The text for people.

use super::{drift, edit_file, set_status, shop, without_ids};
use crate::support::TestEnv;

#[test]
fn a_look_without_drift_is_one_line() {
    let env = shop();
    let run = drift(&env, &[]).succeeds();
    insta::assert_snapshot!(run.stdout, @"No drift in work; 4 of 4 looked at");
    let run = drift(&env, &[]).succeeds();
    let run = run
        .prints(&["No drift in work; 4 of 4 looked at; clean 2 times since less than a minute ("]);
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}

#[test]
fn drift_made_by_hand_is_shown_by_its_cause() {
    let env = shop();
    edit_file(&env);
    for name in ["web1", "web2", "web3"] {
        set_status(&env, name, "error");
    }
    let run = drift(&env, &[]).exits(3);
    insta::assert_snapshot!(without_ids(&run.stdout), @"
    ! drifted  conf: out/shop.conf: as written → changed   ensemble.yaml:14:31
        (- as found, + as a repair writes it)
          @@ -1,3 +1,3 @@
          -listen 81
          +listen 80
           root /srv
           workers 4
        id ..., new
        last set in job ..., task ..., ... ... UTC
    ! drifted  web1–web3 (3 instances): status: ok → error
        ids: web1 ..., web2 ..., web3 ...
        new
        last set in job ..., ... ... UTC
        ensemble.yaml:25:31

      unfurl drift --repair                                                                 show and run the repair
      unfurl drift accept ... ... ... --until 30d --reason '…'   accept it for a while

    Drift in work: 4 drifted; 4 of 4 looked at
    ");
    let run = drift(&env, &["-i", "conf"]).exits(3);
    let run = run.prints(&[
        "seen 2 times",
        "unfurl drift -i conf --repair",
        "Drift in work: 1 drifted; 1 of 1 looked at",
    ]);
    assert!(!run.stdout.contains("web1"), "{run}");
}

#[test]
fn a_finding_that_is_gone_is_named_once() {
    let env = shop();
    set_status(&env, "web1", "error");
    drift(&env, &[]).exits(3);
    set_status(&env, "web1", "ok");
    drift(&env, &[]).succeeds().prints(&[
        "✓ gone  web1: status: ok → error (seen once)",
        "No drift in work; 4 of 4",
    ]);
    let run = drift(&env, &[]).succeeds();
    assert_eq!(run.stdout.lines().count(), 1, "{run}");
}

#[test]
fn a_changed_model_is_pending_and_no_drift() {
    let env = shop();
    let text = env.read("ensemble.yaml").replace("workers 4", "workers 8");
    env.write("ensemble.yaml", &text);
    let run = drift(&env, &[]).succeeds().prints(&[
        "~ pending  conf: ",
        "No drift in work: ",
        "pending; 4 of 4 looked at",
        "unfurl deploy",
    ]);
    assert!(!run.stdout.contains("! drifted"), "{run}");
}

#[test]
fn a_long_difference_is_folded_unless_detail_is_asked_for() {
    let env = shop();
    let lines: Vec<String> = (0..50).map(|n| format!("line {n}\n")).collect();
    let lines = lines.concat();
    env.write("out/shop.conf", &lines);
    drift(&env, &[])
        .exits(3)
        .prints(&["-line 1", "more lines (-", "`--detail` shows them"]);
    let run = drift(&env, &["--detail"]).exits(3).prints(&["-line 49"]);
    assert!(!run.stdout.contains("more lines"), "{run}");
}

#[test]
fn found_text_cannot_steer_the_terminal_and_secrets_are_masked() {
    let env = shop();
    env.write("out/shop.conf", "listen 80\n\x1b[2Jroot\x07\n");
    let run = drift(&env, &[]).exits(3);
    assert!(!run.stdout.contains(['\x1b', '\x07']), "{run}");
    assert!(run.stdout.contains("\\u001b[2Jroot\\u0007"), "{run}");

    let text = super::SHOP.replace(
        "text: {type: string}",
        "text: {type: string, metadata: {sensitive: true}}",
    );
    let env = TestEnv::with_ensemble(&text.replace("listen 80", "password hunter2"));
    for name in ["web1", "web2", "web3"] {
        set_status(&env, name, "ok");
    }
    super::deploy(&env, &[]);
    assert!(env.read("out/shop.conf").contains("hunter2"));
    env.write("out/shop.conf", "password other\n");
    for format in ["text", "json", "junit", "sarif", "markdown"] {
        let run = drift(&env, &["--output", format, "--detail"]).exits(3);
        assert!(!run.all().contains("hunter2"), "{run}");
    }
    assert!(!env.read("drift.tsv").contains("hunter2"));
}

#[test]
fn several_ensembles_have_one_block_for_a_cause_and_one_verdict() {
    let env = shop();
    let copies = ["a", "b", "c"];
    for copy in copies {
        env.write(&format!("{copy}/ensemble.yaml"), super::SHOP);
        for name in ["web1", "web2", "web3"] {
            env.write(&format!("{copy}/{name}.status"), "ok\n");
        }
        super::deploy(&env, &[copy]);
    }
    env.write("a/web1.status", "error\n");
    env.write("b/web2.status", "error\n");
    let run = drift(&env, &copies).exits(3);
    insta::assert_snapshot!(without_ids(&run.stdout), @"
    ! drifted  a: web1; b: web2 (2 instances in 2 ensembles): status: ok → error
        ids: web1 of a ..., web2 of b ...
        new
        web1: last set in job ..., ... ... UTC
        web2: last set in job ..., ... ... UTC
        web1: a/ensemble.yaml:25:31
        web2: b/ensemble.yaml:25:31
    ✓ c: clean; 4 of 4 looked at

      unfurl drift a b --repair                                     show and run the repair
      unfurl drift accept a ... --until 30d --reason '…'   accept it for a while

    Drift in 2 of 3 ensembles: 2 drifted; 12 of 12 looked at
    ");
}
