//! Tests of the drift record: rows of equal answers, changes of findings, merges and lines that are not readable.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::name::InstanceName;

fn at(minute: i64) -> Timestamp {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    start + SignedDuration::from_mins(minute)
}

fn finding(instance: &str, attribute: &str, to: &str) -> Finding {
    let subject = Subject {
        instance: Some(InstanceName::new(instance)),
        host: None,
        attribute: attribute.into(),
    };
    let difference = Difference {
        from: Some("ok".into()),
        to: Some(to.into()),
        lines: None,
    };
    Finding::new(subject, DriftKind::Outside, difference)
}

fn unknown(instance: &str, attribute: &str) -> Finding {
    Finding {
        kind: DriftKind::CannotTell,
        difference: Difference::default(),
        reason: Some("the machine is away".into()),
        ..finding(instance, attribute, "")
    }
}

fn answer(minute: i64, findings: &[Finding]) -> DriftAnswer {
    DriftAnswer {
        name: "e".into(),
        manifest: None,
        environment: None,
        at: at(minute),
        findings: findings.to_vec(),
        looked_at: 3,
        total: 3,
        clean: Vec::new(),
        rule_problems: Vec::new(),
        transitions: None,
        problem: None,
    }
}

/// Records answers one after the other, each read from the bytes of the one before.
fn add(record: &mut DriftRecord, answers: &[DriftAnswer]) {
    for answer in answers {
        add_answer(record, answer, &AnswerScope::default());
        *record = DriftRecord::parse(&record.to_bytes());
    }
}

fn text(record: &DriftRecord) -> String {
    String::from_utf8(record.to_bytes()).unwrap()
}

fn compared(record: &DriftRecord, mut answer: DriftAnswer) -> DriftAnswer {
    let state = DriftState::of(record, None);
    compare(&mut answer, &state, &AnswerScope::default());
    answer
}

/// Returns the new, changed and gone findings as `INSTANCE ATTRIBUTE TO`.
fn transitions(record: &DriftRecord, answer: DriftAnswer) -> [Vec<String>; 3] {
    let answer = compared(record, answer);
    let name = |finding: &Finding| {
        let to = finding.difference.to.as_deref().unwrap_or("?");
        let Subject {
            instance,
            attribute,
            ..
        } = &finding.subject;
        format!("{} {attribute} {to}", instance.as_ref().unwrap())
    };
    let of = |id: &FindingId| name(answer.findings.iter().find(|it| it.id() == *id).unwrap());
    let Transitions {
        new, changed, gone, ..
    } = answer.transitions.as_ref().unwrap();
    [
        new.iter().map(of).collect(),
        changed.iter().map(of).collect(),
        gone.iter().map(name).collect(),
    ]
}

fn sightings(record: &DriftRecord, answer: DriftAnswer) -> (i64, i64, u32) {
    let answer = compared(record, answer);
    let Sightings { since, seen, count } = answer.findings[0].sightings.clone().unwrap();
    let minute = |time: Timestamp| time.duration_since(at(0)).as_mins();
    (minute(since), minute(seen), count)
}

#[test]
fn equal_answers_are_one_line_with_a_count() {
    let mut record = DriftRecord::default();
    for minute in 0..14 {
        add(&mut record, &[answer(minute, &[])]);
    }
    insta::assert_snapshot!(text(&record).replace('\t', " | "), @"2026-01-01T00:00:00Z | answer=clean | last=2026-01-01T00:13:00Z | count=14 | looked=3 | total=3");
    let drifted = finding("web", "status", "error");
    for minute in 14..20 {
        add(
            &mut record,
            &[answer(minute, std::slice::from_ref(&drifted))],
        );
    }
    add(&mut record, &[answer(20, &[]), answer(21, &[])]);
    insta::assert_snapshot!(text(&record).replace('\t', " | "), @"
    2026-01-01T00:00:00Z | answer=clean | last=2026-01-01T00:13:00Z | count=14 | looked=3 | total=3
    2026-01-01T00:14:00Z | new=b49a1ad4a752 | kind=outside | instance=web | attribute=status | cause=badde8507595 | from=ok | to=error
    2026-01-01T00:14:00Z | answer=drifted | last=2026-01-01T00:19:00Z | count=6 | looked=3 | total=3
    2026-01-01T00:20:00Z | gone=b49a1ad4a752 | instance=web | attribute=status
    2026-01-01T00:20:00Z | answer=clean | last=2026-01-01T00:21:00Z | count=2 | looked=3 | total=3
    ");
    assert_eq!(record.corrupt_lines().count(), 0);
}

#[test]
fn an_answer_without_changes_continues_the_row_of_the_record() {
    let mut record = DriftRecord::default();
    let row = |record: &DriftRecord, answer| {
        let transitions = compared(record, answer).transitions.unwrap();
        transitions
            .row
            .map(|AnswerRow { since, count }| (since, count))
    };
    assert_eq!(row(&record, answer(0, &[])), None);
    add(&mut record, &[answer(0, &[]), answer(1, &[])]);
    assert_eq!(row(&record, answer(2, &[])), Some((at(0), 3)));
    let drifted = [finding("web", "status", "error")];
    assert_eq!(row(&record, answer(2, &drifted)), None);
    add(&mut record, &[answer(2, &drifted), answer(3, &[])]);
    assert_eq!(row(&record, answer(4, &[])), Some((at(3), 2)));
    let mut fewer = answer(4, &[]);
    fewer.looked_at = 2;
    assert_eq!(row(&record, fewer), None);
}

#[test]
fn a_finding_has_its_first_and_last_sighting_and_their_count() {
    let mut record = DriftRecord::default();
    let drifted = [finding("web", "status", "error")];
    assert_eq!(sightings(&record, answer(0, &drifted)), (0, 0, 1));
    add(&mut record, &[answer(0, &[]), answer(5, &drifted)]);
    add(&mut record, &[answer(6, &drifted), answer(7, &drifted)]);
    assert_eq!(sightings(&record, answer(9, &drifted)), (5, 9, 4));
    let other = [finding("web", "status", "absent")];
    assert_eq!(sightings(&record, answer(9, &other)), (9, 9, 1));
    // A second finding begins a new row of answers; the first one goes on.
    let both = [drifted[0].clone(), finding("db", "status", "error")];
    add(&mut record, &[answer(8, &both)]);
    assert_eq!(sightings(&record, answer(9, &both)), (5, 9, 5));
    let state = DriftState::of(&record, None);
    let counts: Vec<u32> = state
        .findings
        .iter()
        .map(|known| known.finding.sightings.as_ref().unwrap().count)
        .collect();
    assert_eq!(counts, [4, 1]);
}

#[test]
fn transitions_name_findings_that_are_new_changed_or_gone() {
    let mut record = DriftRecord::default();
    let first = [finding("a", "x", "1"), finding("b", "x", "1")];
    let [new, changed, gone] = transitions(&record, answer(0, &first));
    assert_eq!((new.len(), changed.len(), gone.len()), (2, 0, 0));
    add(&mut record, &[answer(0, &first)]);
    let second = [finding("a", "x", "2"), finding("c", "x", "1")];
    let [new, changed, gone] = transitions(&record, answer(1, &second));
    assert_eq!(new, ["c x 1"]);
    assert_eq!(changed, ["a x 2"]);
    assert_eq!(gone, ["b x 1"]);
    // The finding that is gone has its history.
    let answer = compared(&record, answer(1, &second));
    let gone = &answer.transitions.unwrap().gone[0];
    assert_eq!(gone.sightings.as_ref().unwrap().count, 1);
}

#[test]
fn nothing_is_gone_that_nobody_could_look_at() {
    let mut record = DriftRecord::default();
    let drifted = [finding("web", "conf (file.managed)", "x")];
    add(&mut record, &[answer(0, &drifted), answer(1, &drifted)]);
    let away = [unknown("web", "status")];
    let [new, changed, gone] = transitions(&record, answer(2, &away));
    assert_eq!((new.len(), changed.len(), gone.len()), (1, 0, 0));
    add(&mut record, &[answer(2, &away)]);
    let state = DriftState::of(&record, None);
    assert_eq!(state.findings.len(), 2);
    // The machine is back, and the difference is still there: its history goes on, without the time it was away.
    let [new, changed, gone] = transitions(&record, answer(3, &drifted));
    assert_eq!((new.len(), changed.len(), gone.len()), (0, 0, 1));
    assert_eq!(sightings(&record, answer(3, &drifted)), (0, 3, 3));
    // The machine is back, and the difference is gone.
    let [_, _, gone] = transitions(&record, answer(3, &[]));
    assert_eq!(gone.len(), 2);
}

#[test]
fn a_difference_keeps_its_history_although_its_own_check_could_not_tell_for_a_while() {
    let mut record = DriftRecord::default();
    let drifted = [finding("web", "status", "error")];
    let away = [unknown("web", "status")];
    add(
        &mut record,
        &[answer(0, &drifted), answer(1, &away), answer(2, &away)],
    );
    let [_, changed, gone] = transitions(&record, answer(3, &drifted));
    assert_eq!((changed.len(), gone.len()), (1, 0));
    assert_eq!(sightings(&record, answer(3, &drifted)), (0, 3, 2));
    // If the difference went away meanwhile, then the difference is gone, and not the uncertainty.
    let [.., gone] = transitions(&record, answer(3, &[]));
    assert_eq!(gone, ["web status error"]);
    let state = DriftState::of(&record, None);
    assert_eq!(state.findings[0].last_determined().kind, DriftKind::Outside);
}

#[test]
fn a_filter_leaves_the_other_findings_as_they_are() {
    let mut record = DriftRecord::default();
    let both = [finding("a", "x", "1"), finding("b", "x", "1")];
    add(&mut record, &[answer(0, &both)]);
    let scope = AnswerScope {
        environment: None,
        instances: Some(vec![InstanceName::new("a")]),
    };
    for minute in [1, 2] {
        add_answer(&mut record, &answer(minute, &both[..1]), &scope);
    }
    add_answer(&mut record, &answer(3, &both), &AnswerScope::default());
    insta::assert_snapshot!(text(&record).lines().filter(|it| it.contains("answer=")).collect::<Vec<_>>().join("\n").replace('\t', " | "), @"
    2026-01-01T00:00:00Z | answer=drifted | last=2026-01-01T00:03:00Z | count=2 | looked=3 | total=3
    2026-01-01T00:01:00Z | answer=drifted | last=2026-01-01T00:02:00Z | count=2 | looked=3 | total=3 | only=a
    ");
    add_answer(&mut record, &answer(4, &[]), &scope);
    let state = DriftState::of(&record, None);
    let left: Vec<_> = state
        .findings
        .iter()
        .map(|it| it.finding.subject.instance.as_ref().unwrap().as_str())
        .collect();
    assert_eq!(left, ["b"]);
    assert_eq!(
        state.findings[0].finding.sightings.as_ref().unwrap().count,
        2
    );
}

#[test]
fn environments_have_answers_of_their_own() {
    let mut record = DriftRecord::default();
    let of = |name: &str| AnswerScope {
        environment: Some(name.into()),
        instances: None,
    };
    add_answer(
        &mut record,
        &answer(0, &[finding("a", "x", "1")]),
        &of("prod"),
    );
    for minute in [1, 2] {
        add_answer(&mut record, &answer(minute, &[]), &of("test"));
    }
    let record = DriftRecord::parse(&record.to_bytes());
    assert_eq!(DriftState::of(&record, Some("prod")).findings.len(), 1);
    let test = DriftState::of(&record, Some("test"));
    assert_eq!((test.findings.len(), test.answers[0].count), (0, 2));
    assert!(DriftState::of(&record, None).answers.is_empty());
}

#[test]
fn a_new_rule_changes_the_alarm_and_not_the_finding() {
    let mut record = DriftRecord::default();
    let drifted = [finding("web", "status", "error")];
    let mut ignored = drifted.clone();
    ignored[0].ignored_by = Some("until 2026-12-31: known".into());
    add(
        &mut record,
        &[
            answer(0, &drifted),
            answer(1, &ignored),
            answer(2, &ignored),
        ],
    );
    let [new, changed, gone] = transitions(&record, answer(3, &ignored));
    assert_eq!((new.len(), changed.len(), gone.len()), (0, 0, 0));
    assert_eq!(sightings(&record, answer(3, &ignored)), (0, 3, 4));
    let lines = text(&record);
    assert_eq!(lines.matches("\truled=").count(), 1, "{lines}");
    assert!(lines.contains("rule=until 2026-12-31: known"), "{lines}");
    add(&mut record, &[answer(3, &drifted)]);
    let state = DriftState::of(&record, None);
    assert_eq!(state.findings[0].finding.ignored_by, None);
}

#[test]
fn a_line_that_is_not_readable_costs_no_other_line() {
    let mut record = DriftRecord::default();
    let drifted = [finding("web", "status", "error")];
    add(&mut record, &[answer(0, &drifted)]);
    let mut bytes = text(&record).into_bytes();
    bytes.extend_from_slice(
        b"<<<<<<< ours\n\xff\xfe\n2026-01-01T00:01:00Z\tanswer=clean\tlast=x\tcount=1\n\
        # a comment\n\n2026-01-01T00:01:00Z\tfuture=1\tx=2\n2026-01-01T00:01:00Z\tnew=\n\
        2026-01-01T00:01:00Z\tanswer=clean\tlast=2026-01-01T00:01:00Z\tcount=99999999999\tlooked=1\ttotal=1",
    );
    let mut record = DriftRecord::parse(&bytes);
    let places: Vec<usize> = record.corrupt_lines().map(|line| line.number).collect();
    assert_eq!(places, [3, 4, 5, 9, 10]);
    assert_eq!(sightings(&record, answer(2, &drifted)), (0, 2, 2));
    add_answer(&mut record, &answer(2, &drifted), &AnswerScope::default());
    let kept = record.to_bytes();
    let changed = String::from_utf8_lossy(&kept).contains("count=2");
    assert!(changed);
    let rest = |bytes: &[u8]| {
        bytes
            .split(|byte| *byte == b'\n')
            .skip(2)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    };
    bytes.push(b'\n');
    assert_eq!(rest(&kept), rest(&bytes));
}

#[test]
fn a_merge_keeps_the_lines_of_both_and_adds_up_the_counts_of_a_row() {
    let mut base = DriftRecord::default();
    add(&mut base, &[answer(0, &[]), answer(1, &[])]);
    let (mut one, mut other) = (base.clone(), base.clone());
    add(
        &mut one,
        &[answer(2, &[]), answer(5, &[finding("a", "x", "1")])],
    );
    add(
        &mut other,
        &[
            answer(3, &[]),
            answer(4, &[]),
            answer(6, &[finding("b", "x", "1")]),
        ],
    );
    let merged = merge_drift_records(&text(&base), &text(&one), &text(&other));
    let record = DriftRecord::parse(merged.as_bytes());
    let state = DriftState::of(&record, None);
    assert_eq!(state.answers.len(), 3, "{merged}");
    assert_eq!((state.answers[0].count, state.answers[0].last), (5, at(4)));
    assert_eq!(state.findings.len(), 2);
    // Either order gives the same entries.
    let reverse = merge_drift_records(&text(&base), &text(&other), &text(&one));
    let reverse = DriftRecord::parse(reverse.as_bytes());
    assert_eq!(record.entries(), reverse.entries());
    assert_eq!(merge_drift_records(&merged, &merged, &merged), merged);
}

#[test]
fn versions_of_a_row_that_git_left_count_as_one() {
    let mut base = DriftRecord::default();
    add(&mut base, &[answer(0, &[]), answer(1, &[])]);
    let (mut one, mut other) = (base.clone(), base.clone());
    add(&mut one, &[answer(2, &[])]);
    add(&mut other, &[answer(3, &[]), answer(4, &[])]);
    // The driver `union` writes the changed lines of both.
    let mut record = DriftRecord::parse(format!("{}{}", text(&one), text(&other)).as_bytes());
    let state = DriftState::of(&record, None);
    assert_eq!((state.answers.len(), state.answers[0].count), (1, 4));
    add(&mut record, &[answer(5, &[])]);
    insta::assert_snapshot!(text(&record).replace('\t', " | "), @"2026-01-01T00:00:00Z | answer=clean | last=2026-01-01T00:05:00Z | count=5 | looked=3 | total=3");
}

#[test]
fn long_texts_are_shortened_and_still_compared_as_a_whole() {
    let mut record = DriftRecord::default();
    let long = |last: &str| {
        let mut finding = finding("a", "/etc/x", &"y".repeat(9_000));
        let lines: Vec<String> = (0..200).map(|n| format!("-line {n}")).collect();
        finding.difference.lines = Some(format!("{}\n-{last}\n", lines.join("\n")).into());
        [finding]
    };
    add(&mut record, &[answer(0, &long("a"))]);
    let size = text(&record).len();
    assert!(size < 4_000, "{size}");
    assert!(text(&record).contains("… 161 lines"), "{}", text(&record));
    let [_, changed, _] = transitions(&record, answer(1, &long("a")));
    assert!(changed.is_empty());
    let [_, changed, _] = transitions(&record, answer(1, &long("b")));
    assert_eq!(changed.len(), 1);
}

fn any_text() -> impl Strategy<Value = Option<std::sync::Arc<str>>> {
    proptest::option::of("[\\PC\t\n\r%=,…\u{1b}\u{202e}]{0,12}".prop_map(Into::into))
}

prop_compose! {
    fn any_finding()(
        instance in "[a-c:]{1,3}", host in any_text(), attribute in "[a-b\t%]{0,2}",
        from in any_text(), to in any_text(), lines in any_text(), reason in any_text(),
        rule in any_text(), person in any_text(), kind in 0..4usize,
    ) -> Finding {
        let kinds = [DriftKind::Outside, DriftKind::Pending, DriftKind::Unmanaged, DriftKind::CannotTell];
        let subject = Subject { instance: Some(InstanceName::new(instance)), host, attribute: attribute.into() };
        Finding {
            reason,
            ignored_by: rule,
            last_set: person.map(|person| LastSet {
                job: "A6BL7ntS0000".into(),
                person: Some(person),
                time: Some(at(3)),
                ..LastSet::default()
            }),
            ..Finding::new(subject, kinds[kind], Difference { from, to, lines })
        }
    }
}

proptest! {
    #[test]
    fn what_is_recorded_is_read_again(rounds in proptest::collection::vec(proptest::collection::vec(any_finding(), 0..4), 1..6)) {
        let mut record = DriftRecord::default();
        for (minute, findings) in (0_i64..).zip(&rounds) {
            let now = answer(minute, findings);
            add(&mut record, std::slice::from_ref(&now));
            prop_assert_eq!(record.corrupt_lines().count(), 0);
            // The same answer again changes nothing but the last row.
            let before = text(&record).lines().count();
            let mut again = record.clone();
            add(&mut again, &[answer(minute, findings)]);
            prop_assert_eq!(text(&again).lines().count(), before);
            let state = DriftState::of(&record, None);
            for finding in findings {
                let first = findings.iter().find(|other| other.id() == finding.id()).unwrap();
                let known = state.finding(&finding.id()).unwrap();
                prop_assert_eq!(&known.cause, &first.cause());
                prop_assert_eq!(&known.finding.ignored_by, &first.ignored_by);
            }
        }
    }

    #[test]
    fn any_bytes_stay_as_they_are(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let record = DriftRecord::parse(&bytes);
        let mut expected = bytes.clone();
        if !expected.is_empty() && expected.last() != Some(&b'\n') {
            expected.push(b'\n');
        }
        prop_assert_eq!(record.to_bytes(), expected);
        let text = String::from_utf8_lossy(&bytes);
        merge_drift_records(&text, &text, "");
    }
}
