//! Tests of the formats of an answer, by answers that are made here.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::drift::{
    AnswerRow, AppliedRule, Difference, DriftAnswer, DriftKind, Finding, LastSet, LoadProblem,
    Sightings, Subject, Transitions,
};
use crate::ui::layout::Layout;
use crate::ui::paint::{Paint, without_colours};

fn now() -> Timestamp {
    "2026-06-15T12:00:00Z".parse().unwrap()
}

fn finding(instance: &str, kind: DriftKind, attribute: &str, sides: [&str; 2]) -> Finding {
    let subject = Subject {
        instance: Some(instance.into()),
        host: None,
        attribute: attribute.into(),
    };
    let side = |side: &str| (!side.is_empty()).then(|| side.into());
    let difference = Difference {
        from: side(sides[0]),
        to: side(sides[1]),
        lines: None,
    };
    let mut finding = Finding::new(subject, kind, difference);
    finding.sightings = Some(Sightings {
        since: now() - SignedDuration::from_hours(50),
        seen: now(),
        count: 14,
    });
    finding
}

fn answer(name: &str, findings: Vec<Finding>) -> DriftAnswer {
    DriftAnswer {
        name: name.into(),
        manifest: Some(format!("/srv/{name}/ensemble.yaml").into()),
        environment: None,
        at: now(),
        findings,
        clean: vec!["cache".into()],
        looked_at: 46,
        total: 50,
        rule_problems: Vec::new(),
        transitions: Some(Transitions::default()),
        problem: None,
    }
}

fn last_set() -> LastSet {
    LastSet {
        job: "A6BL7ntS0000".into(),
        task: Some("A6BL7ntS0003".into()),
        commit: Some("0123456789ab".into()),
        person: Some("Ada".into()),
        time: Some(now() - SignedDuration::from_hours(72)),
    }
}

/// An answer with findings of all kinds.
fn shop() -> DriftAnswer {
    shop_with_lines(2)
}

/// The same with a difference of this many lines on each side.
fn shop_with_lines(count: usize) -> DriftAnswer {
    let mut file = finding(
        "conf",
        DriftKind::Outside,
        "/etc/shop.conf",
        ["as written", "changed"],
    );
    let lines: Vec<String> = (0..count)
        .map(|n| format!("-old {n}\n+new {n}\n"))
        .collect();
    let lines = lines.concat();
    file.difference.lines = Some(format!("@@ -1,3 +1,3 @@\n [shop]\n{lines}").into());
    file.place = Some("ensemble.yaml:17:27".into());
    file.last_set = Some(last_set());
    file.left_by = Some("A6BL7ntS0000".into());
    let mut web: Vec<Finding> = (1..=3)
        .map(|n| {
            let mut web = finding(
                &format!("web{n}"),
                DriftKind::Outside,
                "status",
                ["ok", "error"],
            );
            web.subject.host = Some(format!("h{n}.example").into());
            web.reason = Some(format!("web{n} does not answer on port 8080").into());
            web
        })
        .collect();
    web[2].sightings = Some(Sightings {
        since: now(),
        seen: now(),
        count: 1,
    });
    let mut unknown = finding("db", DriftKind::CannotTell, "status", ["", ""]);
    unknown.reason = Some("the machine db.example is away: connection refused".into());
    let mut pending = finding("conf", DriftKind::Pending, "workers", ["4", "8"]);
    pending.place = Some("ensemble.yaml:21:9".into());
    let mut unmanaged = finding("old", DriftKind::Unmanaged, "status", ["", ""]);
    unmanaged.reason = Some("the model has no template `old`".into());
    let mut ignored = finding("web1", DriftKind::Outside, "replicas", ["2", "5"]);
    ignored.ignored_by = Some("instance: web1, until: 2026-12-31, reason: the autoscaler".into());
    ignored.rule = Some(AppliedRule {
        until: Some("2026-12-31".into()),
        reason: "the autoscaler".into(),
    });
    let gone = finding("cron", DriftKind::Outside, "mode", ["0600", "0644"]);
    let mut findings = vec![pending, unmanaged, unknown, ignored, file];
    findings.extend(web);
    let mut answer = answer("shop", findings);
    answer.rule_problems = vec![
        "unfurl.yaml:9:7: the ignore rule `instance: x, reason: y` matches nothing; remove the rule".into(),
    ];
    answer.transitions = Some(Transitions {
        gone: vec![gone],
        ..Transitions::default()
    });
    answer
}

fn next(ensembles: &[&str]) -> NextCommands {
    NextCommands {
        ensembles: ensembles.iter().map(|it| (*it).to_owned()).collect(),
        ..NextCommands::default()
    }
}

/// Returns the text, which has the same words with colours.
fn shown(answers: &[DriftAnswer], width: usize, (all, full): (bool, bool)) -> String {
    let names: Vec<&str> = match answers {
        [_] => vec![""],
        several => several.iter().map(|answer| &*answer.name).collect(),
    };
    let next = next(&names);
    let style = |is_coloured| DriftStyle {
        layout: Layout {
            paint: Paint::new(is_coloured),
            width,
            is_full: full,
        },
        with_ignored: all,
        next: Some(&next),
    };
    let plain = drift_text(answers, style(false));
    let coloured = drift_text(answers, style(true));
    assert_ne!(plain, coloured);
    assert_eq!(without_colours(&coloured), plain);
    plain
}

#[test]
fn an_answer_begins_with_alarms_and_ends_with_the_verdict() {
    insta::assert_snapshot!(shown(&[shop()], 80, (false, false)), @"
    ! drifted  conf: /etc/shop.conf: as written → changed   ensemble.yaml:17:27
        (- as found, + as a repair writes it)
          @@ -1,3 +1,3 @@
           [shop]
          -old 0
          +new 0
          -old 1
          +new 1
        id ebe87a6f0a2f, since 2 days (2026-06-13 10:00 UTC), seen 14 times
        last set by Ada in job A6BL7ntS0000, task A6BL7ntS0003, commit 0123456789ab,
            2026-06-12 12:00:00 UTC
        left by the failed job A6BL7ntS0000
    ! drifted  web1–web3 on h1.example–h3.example (3 instances): status: ok → error
        web1: web1 does not answer on port 8080, and the same for the others
        ids: web1 b4b48eefa4a2, web2 028d0607c8c8, web3 173460748150
        web1, web2: since 2 days (2026-06-13 10:00 UTC), seen 14 times
        web3: new
    ? cannot tell  db: status
        the machine db.example is away: connection refused
        id b4e2408d03f9, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ~ pending  conf: workers: 4 → 8   ensemble.yaml:21:9
        id 2fad9537f1c4, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    + unmanaged  old: status
        the model has no template `old`
        id 0ff4d7321ad3, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ? rule  the ignore rule `instance: x, reason: y` matches nothing; remove the
        rule
        unfurl.yaml:9:7
    ✓ gone  cron: mode: 0600 → 0644 (seen 14 times)

      unfurl drift --repair
          show and run the repair
      unfurl drift accept ebe87a6f0a2f b4b48eefa4a2 028d0607c8c8 --until 30d --reason '…'
          accept it for a while
      unfurl deploy
          apply the pending changes

    Drift in shop: 4 drifted, 1 cannot tell, 1 pending, 1 unmanaged, 1 ignored, 1
        problem of ignore rules; 46 of 50 looked at; `--all` shows the ignored ones
    ");
}

#[test]
fn a_long_difference_is_folded_unless_all_details_are_shown() {
    let answers = [shop_with_lines(30)];
    let text = shown(&answers, 80, (false, false));
    assert!(
        text.contains("\n      +new 4\n      … 50 more lines (-25, +25); `--detail` shows them\n"),
        "{text}"
    );
    let text = shown(&answers, 80, (false, true));
    assert!(
        text.contains("+new 29\n") && !text.contains("more lines"),
        "{text}"
    );
}

#[test]
fn all_details_are_shown_on_request() {
    insta::assert_snapshot!(shown(&[shop()], 120, (true, true)), @"
    ! drifted  conf: /etc/shop.conf: as written → changed   ensemble.yaml:17:27
        (- as found, + as a repair writes it)
          @@ -1,3 +1,3 @@
           [shop]
          -old 0
          +new 0
          -old 1
          +new 1
        id ebe87a6f0a2f, since 2 days (2026-06-13 10:00 UTC), seen 14 times
        last set by Ada in job A6BL7ntS0000, task A6BL7ntS0003, commit 0123456789ab, 2026-06-12 12:00:00 UTC
        left by the failed job A6BL7ntS0000
    ! drifted  web1–web3 on h1.example–h3.example (3 instances): status: ok → error
        web1: web1 does not answer on port 8080, and the same for the others
        ids: web1 b4b48eefa4a2, web2 028d0607c8c8, web3 173460748150
        web1, web2: since 2 days (2026-06-13 10:00 UTC), seen 14 times
        web3: new
    ? cannot tell  db: status
        the machine db.example is away: connection refused
        id b4e2408d03f9, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ~ pending  conf: workers: 4 → 8   ensemble.yaml:21:9
        id 2fad9537f1c4, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    + unmanaged  old: status
        the model has no template `old`
        id 0ff4d7321ad3, since 2 days (2026-06-13 10:00 UTC), seen 14 times
    · ignored  web1: replicas: 2 → 5
        id 0905ec734571, since 2 days (2026-06-13 10:00 UTC), seen 14 times
        ignored by the rule instance: web1, until: 2026-12-31, reason: the autoscaler
    ? rule  the ignore rule `instance: x, reason: y` matches nothing; remove the rule
        unfurl.yaml:9:7
    ✓ gone  cron: mode: 0600 → 0644 (seen 14 times)

      unfurl drift --repair                                                                 show and run the repair
      unfurl drift accept ebe87a6f0a2f b4b48eefa4a2 028d0607c8c8 --until 30d --reason '…'   accept it for a while
      unfurl deploy                                                                         apply the pending changes

    Drift in shop: 4 drifted, 1 cannot tell, 1 pending, 1 unmanaged, 1 ignored, 1 problem of ignore rules; 46 of 50 looked
        at
    ");
}

#[test]
fn lines_fit_the_width() {
    for width in [80, 120] {
        let text = shown(&[shop()], width, (true, false));
        for line in text.lines() {
            let is_command = line.starts_with("  unfurl ");
            assert!(is_command || line.chars().count() <= width, "{line}");
        }
    }
}

#[test]
fn a_clean_answer_is_one_line() {
    let mut clean = answer("shop", Vec::new());
    clean.looked_at = 50;
    insta::assert_snapshot!(shown(&[clean.clone()], 80, (false, false)), @"No drift in shop; 50 of 50 looked at");
    clean.transitions = Some(Transitions {
        row: Some(AnswerRow {
            since: now() - SignedDuration::from_hours(24 * 5),
            count: 14,
        }),
        ..Transitions::default()
    });
    insta::assert_snapshot!(shown(&[clean], 80, (false, false)), @"
    No drift in shop; 50 of 50 looked at; clean 14 times since 5 days (2026-06-10
        12:00 UTC)
    ");
}

#[test]
fn several_ensembles_have_one_verdict() {
    let status = |name: &str| finding(name, DriftKind::Outside, "status", ["ok", "error"]);
    let one = answer("shop", vec![status("web1"), status("web2")]);
    let two = answer("blog", vec![status("web1")]);
    let clean = answer("mail", Vec::new());
    let mut locked = answer("wiki", Vec::new());
    (locked.looked_at, locked.total) = (0, 0);
    locked.problem = Some(LoadProblem::Locked("another job works on it".into()));
    let mut invalid = locked.clone();
    invalid.name = "old".into();
    invalid.problem = Some(LoadProblem::Invalid(
        "ensemble.yaml:3:1: no key `specs`\nsecond line".into(),
    ));
    let all = [one, two, clean.clone(), locked.clone(), invalid.clone()];
    insta::assert_snapshot!(shown(&all, 120, (false, false)), @"
    ! drifted  shop: web1, web2; blog: web1 (3 instances in 2 ensembles): status: ok → error
        ids: web1 of shop 3b4d8c94ee4f, web2 of shop 53a1e221cf42, web1 of blog 3b4d8c94ee4f
        since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ✓ mail: clean; 46 of 50 looked at
    ✗ wiki is locked:
        another job works on it
    ✗ old cannot be loaded:
        ensemble.yaml:3:1: no key `specs`
        second line

      unfurl drift shop blog --repair                                               show and run the repair
      unfurl drift accept shop 3b4d8c94ee4f 53a1e221cf42 --until 30d --reason '…'   accept it for a while

    Drift in 2 of 5 ensembles: 3 drifted; 1 ensemble cannot be loaded; 1 ensemble locked; 138 of 150 looked at
    ");
    insta::assert_snapshot!(shown(&[clean, invalid], 120, (false, false)), @"
    ✓ mail: clean; 46 of 50 looked at
    ✗ old cannot be loaded:
        ensemble.yaml:3:1: no key `specs`
        second line

    No drift found in 2 ensembles; 1 ensemble cannot be loaded; 46 of 50 looked at
    ");
    insta::assert_snapshot!(shown(&[locked], 120, (false, false)), @"
    ✗ wiki is locked:
        another job works on it

    Nothing known: wiki is locked
    ");
}

#[test]
fn answers_without_alarms_say_so() {
    let mut pending = answer(
        "shop",
        vec![finding("a", DriftKind::Pending, "port", ["80", "81"])],
    );
    pending.looked_at = 50;
    let last = |answer: DriftAnswer| {
        let text = shown(&[answer], 120, (false, false));
        text.lines().last().unwrap().to_owned()
    };
    insta::assert_snapshot!(last(pending), @"No drift in shop: 1 pending; 50 of 50 looked at");
    let unknown = finding("a", DriftKind::CannotTell, "status", ["", ""]);
    insta::assert_snapshot!(last(answer("shop", vec![unknown])), @"No drift found in shop, but 1 cannot tell; 46 of 50 looked at");
    let mut ignored = finding("a", DriftKind::Outside, "port", ["80", "81"]);
    ignored.ignored_by = Some("instance: a, reason: known".into());
    insta::assert_snapshot!(last(answer("shop", vec![ignored])), @"No drift in shop: 1 ignored; 46 of 50 looked at; `--all` shows the ignored ones");
}

#[test]
fn text_of_others_cannot_steer_the_terminal_or_split_a_line() {
    let mut unusual = finding(
        "a\nb",
        DriftKind::Outside,
        "x\x1b[31m",
        ["one\x1b[2J", "two\r\nthree"],
    );
    unusual.reason = Some("bell\x07\nline".into());
    unusual.difference.lines = None;
    let answers = [answer("e\x1b]0;t\x07", vec![unusual])];
    let text = shown(&answers, 80, (true, true));
    insta::assert_snapshot!(text, @r"
    ! drifted  a b: x\u001b[31m: the text differs
        (- as found, + as a repair writes it)
          @@ -1,2 +1 @@
          -two
          -three
          +one\u001b[2J
        bell\u0007 line
        id c7ef149bfb5e, since 2 days (2026-06-13 10:00 UTC), seen 14 times

      unfurl drift --repair
          show and run the repair
      unfurl drift accept c7ef149bfb5e --until 30d --reason '…'
          accept it for a while

    Drift in e\u001b]0;t\u0007: 1 drifted; 46 of 50 looked at
    ");
    assert!(!text.contains(['\x1b', '\x07', '\r']));
    let markdown = drift_markdown(&answers);
    assert!(!markdown.contains(['\x1b', '\x07', '\r']), "{markdown}");
    assert!(!drift_junit(&answers).contains(['\x1b', '\x07', '\r']));
}

/// Returns the cases of the sample in two parts: those that are no alarm, and the others.
fn junit_of_shop() -> [String; 2] {
    let text = drift_junit(&[shop()]);
    let cut = text
        .find("    <testcase classname=\"conf\" name=\"/etc")
        .unwrap();
    [text[..cut].to_owned(), text[cut..].to_owned()]
}

#[test]
fn cases_are_skipped_for_unknown_states() {
    insta::assert_snapshot!(junit_of_shop()[0], @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="unfurl drift" tests="10" failures="5" errors="0" skipped="1">
      <testsuite name="shop" tests="10" failures="5" errors="0" skipped="1" timestamp="2026-06-15T12:00:00">
        <testcase classname="conf" name="workers">
          <system-out>pending: 4 → 8
    id 2fad9537f1c4
    since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ensemble.yaml:21:9</system-out>
        </testcase>
        <testcase classname="old" name="status">
          <system-out>unmanaged
    id 0ff4d7321ad3
    the model has no template `old`
    since 2 days (2026-06-13 10:00 UTC), seen 14 times</system-out>
        </testcase>
        <testcase classname="db" name="status">
          <skipped message="the machine db.example is away: connection refused"/>
        </testcase>
        <testcase classname="web1" name="replicas">
          <system-out>ignored: 2 → 5
    id 0905ec734571
    since 2 days (2026-06-13 10:00 UTC), seen 14 times
    ignored by the rule instance: web1, until: 2026-12-31, reason: the autoscaler</system-out>
        </testcase>
    "#);
}

#[test]
fn cases_fail_for_drift() {
    insta::assert_snapshot!(junit_of_shop()[1], @r#"
        <testcase classname="conf" name="/etc/shop.conf">
          <failure message="as written → changed">id ebe87a6f0a2f
    since 2 days (2026-06-13 10:00 UTC), seen 14 times
    last set by Ada in job A6BL7ntS0000, task A6BL7ntS0003, commit 0123456789ab, 2026-06-12 12:00:00 UTC
    left by the failed job A6BL7ntS0000
    ensemble.yaml:17:27
    - as found, + as a repair writes it:
    @@ -1,3 +1,3 @@
     [shop]
    -old 0
    +new 0
    -old 1
    +new 1</failure>
        </testcase>
        <testcase classname="web1" name="status">
          <failure message="ok → error">id b4b48eefa4a2
    web1 does not answer on port 8080
    since 2 days (2026-06-13 10:00 UTC), seen 14 times</failure>
        </testcase>
        <testcase classname="web2" name="status">
          <failure message="ok → error">id 028d0607c8c8
    web2 does not answer on port 8080
    since 2 days (2026-06-13 10:00 UTC), seen 14 times</failure>
        </testcase>
        <testcase classname="web3" name="status">
          <failure message="ok → error">id 173460748150
    web3 does not answer on port 8080
    new</failure>
        </testcase>
        <testcase classname="shop" name="ignore rule">
          <failure message="a problem of an ignore rule">unfurl.yaml:9:7: the ignore rule `instance: x, reason: y` matches nothing; remove the rule</failure>
        </testcase>
        <testcase classname="cache" name="status"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn markdown_has_a_row_for_each_cause() {
    insta::assert_snapshot!(drift_markdown(&[shop()]), @"
    ### Drift in shop&#58; 4 drifted, 1 cannot tell, 1 pending, 1 unmanaged, 1 ignored, 1 problem of ignore rules; 46 of 50 looked at

    - **ignore rule** of <code>shop</code>: unfurl.yaml&#58;9&#58;7&#58; the ignore rule &#96;instance&#58; x, reason&#58; y&#96; matches nothing; remove the rule

    | Kind | Where | Attribute | Expected → found | Detail |
    | --- | --- | --- | --- | --- |
    | &#33; drifted | <code>conf</code> | <code>/etc/shop.conf</code> | as written → changed | id ebe87a6f0a2f; since 2 days (2026-06-13 10&#58;00 UTC), seen 14 times; left by the failed job A6BL7ntS0000; ensemble.yaml&#58;17&#58;27 |
    | &#33; drifted | <code>web1–web3 on h1.example–h3.example (3 instances)</code> | <code>status</code> | ok → error | web1 does not answer on port 8080 |
    | ? cannot tell | <code>db</code> | <code>status</code> |  | the machine db.example is away&#58; connection refused; id b4e2408d03f9; since 2 days (2026-06-13 10&#58;00 UTC), seen 14 times |
    | &#126; pending | <code>conf</code> | <code>workers</code> | 4 → 8 | id 2fad9537f1c4; since 2 days (2026-06-13 10&#58;00 UTC), seen 14 times; ensemble.yaml&#58;21&#58;9 |
    | + unmanaged | <code>old</code> | <code>status</code> |  | the model has no template &#96;old&#96;; id 0ff4d7321ad3; since 2 days (2026-06-13 10&#58;00 UTC), seen 14 times |
    | · ignored | <code>web1</code> | <code>replicas</code> | 2 → 5 | id 0905ec734571; since 2 days (2026-06-13 10&#58;00 UTC), seen 14 times; instance&#58; web1, until&#58; 2026-12-31, reason&#58; the autoscaler |

    <details><summary><code>conf</code> <code>/etc/shop.conf</code>: - as found, + as a repair writes it</summary>

    <pre>
    &#64;&#64; -1,3 +1,3 &#64;&#64;
     &#91;shop&#93;
    -old 0
    +new 0
    -old 1
    +new 1
    </pre>
    </details>
    ");
}

#[test]
fn markdown_is_cut_within_the_limit_and_says_so() {
    let findings = (0..3_000).map(|n| {
        let mut file = finding(
            &format!("i{n}"),
            DriftKind::Outside,
            &format!("/etc/{n}"),
            ["as written", "changed"],
        );
        file.difference.lines = Some(format!("-{n}\n+x\n").into());
        file
    });
    let text = drift_markdown(&[answer("shop", findings.collect())]);
    assert!(
        text.len() <= crate::ui::markdown::MAX_LENGTH,
        "{}",
        text.len()
    );
    let last = text.lines().last().unwrap();
    assert!(
        last.contains(" more rows and ") && last.contains(" more differences"),
        "{last}"
    );
}

#[test]
fn results_of_sarif_have_rules_places_and_suppressions() {
    let sarif = drift_sarif(&[shop()]);
    let run = &sarif["runs"][0];
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 9);
    for result in results {
        assert!(
            rules.contains(&result["ruleId"].as_str().unwrap()),
            "{result}"
        );
    }
    let suppressed = results.iter().filter(|it| it.get("suppressions").is_some());
    assert_eq!(suppressed.count(), 1);
    insta::assert_snapshot!(serde_json::to_string_pretty(&results[0]).unwrap(), @r#"
    {
      "ruleId": "drift/pending",
      "level": "note",
      "message": {
        "text": "shop: conf: workers: 4 → 8"
      },
      "locations": [
        {
          "physicalLocation": {
            "artifactLocation": {
              "uri": "ensemble.yaml"
            },
            "region": {
              "startLine": 21,
              "startColumn": 9
            }
          }
        }
      ],
      "partialFingerprints": {
        "unfurlDriftId/v1": "2fad9537f1c4"
      },
      "properties": {
        "id": "2fad9537f1c4",
        "cause": "1c10ffdd1f84"
      }
    }
    "#);
    let rule = &results[8];
    assert_eq!(rule["ruleId"], "drift/ignore-rule");
    let place = &rule["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "unfurl.yaml");
    assert_eq!(place["region"]["startLine"], 9);
}

#[test]
fn programs_get_all_fields_of_a_finding() {
    let json = drift_json(&[shop()]);
    assert_eq!(json["status"], "drifted");
    let findings = json["ensembles"][0]["findings"].as_array().unwrap();
    assert_eq!(findings[3]["rule"]["reason"], "the autoscaler");
    assert_eq!(findings[3]["rule"]["until"], "2026-12-31");
    insta::assert_snapshot!(serde_json::to_string_pretty(&findings[4]).unwrap(), @r#"
    {
      "id": "ebe87a6f0a2f",
      "kind": "outside",
      "instance": "conf",
      "host": null,
      "attribute": "/etc/shop.conf",
      "from": "as written",
      "to": "changed",
      "lines": "@@ -1,3 +1,3 @@\n [shop]\n-old 0\n+new 0\n-old 1\n+new 1\n",
      "reason": null,
      "place": "ensemble.yaml:17:27",
      "left_by": "A6BL7ntS0000",
      "cause": "fd69f6dae24f",
      "since": "2026-06-13T10:00:00Z",
      "seen": "2026-06-15T12:00:00Z",
      "count": 14,
      "last_set": {
        "job": "A6BL7ntS0000",
        "task": "A6BL7ntS0003",
        "commit": "0123456789ab",
        "person": "Ada",
        "time": "2026-06-12T12:00:00Z"
      },
      "ignored_by": null,
      "rule": null,
      "on_drift": "report"
    }
    "#);
}

#[test]
fn commands_to_type_name_ensembles_and_options() {
    let style = |next| DriftStyle {
        layout: Layout::plain(120),
        with_ignored: false,
        next: Some(next),
    };
    let mut next = next(&["my shop"]);
    next.selection = vec!["-i web1".to_owned()];
    next.environment = vec!["--use-environment prod".to_owned()];
    let text = drift_text(&[shop()], style(&next));
    let commands: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  unfurl"))
        .collect();
    insta::assert_snapshot!(commands.join("\n"), @"
    unfurl drift 'my shop' -i web1 --use-environment prod --repair
    unfurl drift accept 'my shop' ebe87a6f0a2f b4b48eefa4a2 028d0607c8c8 --use-environment prod --until 30d --reason '…'
    unfurl deploy 'my shop' -i web1 --use-environment prod
    ");
    let mut host = shop();
    host.manifest = None;
    let text = drift_text(&[host], style(&next));
    assert!(!text.contains("\n  unfurl"), "{text}");
}

/// Fails if a text is not one well-formed element with its content.
fn check_xml(xml: &str) {
    let mut open: Vec<String> = Vec::new();
    let body = xml.split_once("?>\n").unwrap().1;
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>'), "{xml}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{xml}");
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap().to_owned());
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{xml}");
    }
    assert!(open.is_empty(), "{xml}");
    let is_valid = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    assert!(xml.chars().all(is_valid), "{xml:?}");
}

proptest! {
    #[test]
    fn no_text_breaks_a_format(text in "[ -~\\n\\r\\té<>&\"'\\x1b\\x00:#\\[\\]|`]{0,30}") {
        let mut unusual = finding(&text, DriftKind::Outside, &text, ["", ""]);
        let text: Arc<str> = text.into();
        unusual.difference = Difference {
            from: Some(Arc::clone(&text)),
            to: Some(Arc::clone(&text)),
            lines: Some(Arc::clone(&text)),
        };
        unusual.reason = Some(Arc::clone(&text));
        unusual.place = Some(Arc::clone(&text));
        unusual.left_by = Some(Arc::clone(&text));
        let mut answer = answer(&text, vec![unusual]);
        answer.rule_problems = vec![Arc::clone(&text)];
        answer.clean = vec![text];
        let answers = [answer];
        check_xml(&drift_junit(&answers));
        let style = DriftStyle { layout: Layout::plain(40), with_ignored: true, next: None };
        let shown = drift_text(&answers, style);
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", shown);
        let markdown = drift_markdown(&answers);
        prop_assert!(markdown.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", markdown);
        drift_sarif(&answers);
    }
}
