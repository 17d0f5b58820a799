//! The decision after a run: which problems the target of a rule does not know yet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::identity::{digest_of, digest_of_message};
use super::notice::{Notice, NoticeContext};
use super::parts::{Entry, Parts};
use super::report::{EnsembleReport, NoticedRun, ReportedFinding, RunOutcome, short};
use super::rule::NotifyRule;
use super::state::{KnownProblem, NotifiedState, ProblemClass};
use crate::drift::DriftKind;

/// The key of the problem that a run failed.
const RUN_KEY: &str = "run";

/// A problem of the answer.
#[derive(Debug)]
struct Sighting {
    problem: KnownProblem,
    document: Json,
}

/// Returns the state after a run, and the notice for the target of the rule, if one is due.
pub fn after_run(
    rule: &NotifyRule,
    state: &NotifiedState,
    report: &NoticedRun,
) -> (NotifiedState, Option<Notice>) {
    let sightings = sightings(rule, report);
    let scope = Scope::of(report, &sightings);
    let mut next = NotifiedState {
        is_silent: state.is_silent,
        ..NotifiedState::default()
    };
    let mut parts = Parts::default();
    for (key, known) in &state.problems {
        if sightings.contains_key(key) {
            continue;
        }
        if scope.is_open(known) {
            next.problems.insert(key.clone(), known.clone());
        } else {
            parts.leave(known);
        }
    }
    for (key, sighting) in sightings {
        let known = state.problems.get(&key);
        let problem = parts.meet(rule, known, sighting);
        next.problems.insert(key, problem);
    }
    if state.is_silent && scope.has_looked {
        next.is_silent = false;
        parts.recovered.push(Entry {
            ensemble: None,
            line: "the schedule looks again".into(),
            document: Json::Null,
        });
    }
    let active = next.problems.values().filter(|it| it.notified.is_some());
    let active = active.count();
    let has_ended = !parts.gone.is_empty() || !parts.recovered.is_empty();
    parts.is_clean = has_ended && active == 0 && !next.is_silent;
    let context = NoticeContext {
        rule,
        schedule: &report.schedule,
        due: report.due,
        at: report.at,
        active,
    };
    (next, Notice::compose(&context, parts))
}

/// The ensembles and instances about which a run says something.
struct Scope {
    /// True if the run came to its end.
    is_done: bool,
    /// True if the run looked at something.
    has_looked: bool,
    /// The ensembles that were looked at.
    answered: BTreeSet<String>,
    /// The ensembles whose loading was tried.
    loaded: BTreeSet<String>,
    /// The ensembles, instances and hosts about which nothing could be determined.
    unknown: BTreeSet<Subject>,
}

/// The ensemble, instance and host of a finding.
type Subject = (Option<String>, Option<String>, Option<String>);

fn subject(problem: &KnownProblem) -> Subject {
    (
        problem.ensemble.clone(),
        problem.instance.clone(),
        problem.host.clone(),
    )
}

impl Scope {
    fn of(report: &NoticedRun, sightings: &BTreeMap<String, Sighting>) -> Self {
        let names = |test: fn(&EnsembleReport) -> bool| {
            let ensembles = report.ensembles.iter().filter(|it| test(it));
            ensembles.map(|it| it.name.to_string()).collect()
        };
        let problems = sightings.values().map(|it| &it.problem);
        let unknown = problems.filter(|it| it.class == ProblemClass::CannotTell);
        let answered: BTreeSet<String> = names(EnsembleReport::is_answered);
        let is_done = report.outcome == RunOutcome::Done;
        Self {
            is_done,
            has_looked: is_done && (report.ensembles.is_empty() || !answered.is_empty()),
            answered,
            loaded: names(|it| !it.is_locked()),
            unknown: unknown.map(subject).collect(),
        }
    }

    /// Returns true if the answer does not say that a problem has ended.
    fn is_open(&self, known: &KnownProblem) -> bool {
        let is_in = |names: &BTreeSet<String>| {
            let ensemble = known.ensemble.as_ref();
            ensemble.is_some_and(|ensemble| names.contains(ensemble))
        };
        match known.class {
            ProblemClass::Run => !self.is_done,
            ProblemClass::Ensemble => !is_in(&self.loaded),
            ProblemClass::IgnoreRule | ProblemClass::CannotTell => !is_in(&self.answered),
            ProblemClass::Finding => {
                !is_in(&self.answered) || self.unknown.contains(&subject(known))
            }
        }
    }
}

/// Returns the problems of a report by their keys. A finding that the answer has twice counts once.
fn sightings(rule: &NotifyRule, report: &NoticedRun) -> BTreeMap<String, Sighting> {
    let mut all = BTreeMap::new();
    if let Some(sighting) = run_sighting(&report.outcome) {
        all.insert(RUN_KEY.to_owned(), sighting);
    }
    for ensemble in &report.ensembles {
        let name = &ensemble.name;
        if let Some((kind, message)) = &ensemble.problem
            && !ensemble.is_locked()
        {
            let class = ProblemClass::Ensemble;
            let line = format!("cannot be loaded: {}", short(message));
            let mut sighting = Sighting::new(class, Some(name), digest_of_message(message), &line);
            sighting.document = json!({"kind": &**kind, "reason": &**message});
            all.insert(format!("ensemble/{name}"), sighting);
        }
        for problem in &ensemble.rule_problems {
            let class = ProblemClass::IgnoreRule;
            let digest = digest_of([problem]);
            let key = format!("rule/{name}/{digest}");
            all.insert(key, Sighting::new(class, Some(name), digest, problem));
        }
        for finding in &ensemble.findings {
            if finding.kind == DriftKind::CannotTell || rule.kinds.contains(&finding.kind) {
                let (key, sighting) = finding_sighting(name, finding);
                all.insert(key, sighting);
            }
        }
    }
    all
}

fn run_sighting(outcome: &RunOutcome) -> Option<Sighting> {
    let (how, reason) = match outcome {
        RunOutcome::Done => return None,
        RunOutcome::Failed(reason) => ("failed", reason),
        RunOutcome::CutOff(reason) => ("was cut off", reason),
    };
    let digest = digest_of([how, &digest_of_message(reason)]);
    let line = match &*short(reason) {
        "" => format!("the run {how}"),
        reason => format!("the run {how}: {reason}"),
    };
    let mut sighting = Sighting::new(ProblemClass::Run, None, digest, &line);
    sighting.document = json!({"kind": "run", "reason": &**reason});
    Some(sighting)
}

fn finding_sighting(ensemble: &str, finding: &ReportedFinding) -> (String, Sighting) {
    let (class, digest) = match finding.kind {
        DriftKind::CannotTell => {
            let reason = finding.reason.as_deref().unwrap_or_default();
            (ProblemClass::CannotTell, digest_of_message(reason))
        }
        _ => (ProblemClass::Finding, finding.cause.to_string()),
    };
    let word = if class == ProblemClass::Finding {
        "finding"
    } else {
        "unknown"
    };
    let mut sighting = Sighting::new(class, Some(ensemble), digest, &finding.line);
    sighting.document = finding.document.clone();
    let problem = &mut sighting.problem;
    problem.instance = finding.instance.as_deref().map(str::to_owned);
    problem.host = finding.host.as_deref().map(str::to_owned);
    problem.is_ignored = finding.is_ignored;
    problem.id = Some(finding.id.to_string());
    (format!("{word}/{ensemble}/{}", finding.id), sighting)
}

impl Sighting {
    fn new(class: ProblemClass, ensemble: Option<&str>, digest: String, line: &str) -> Self {
        let problem = KnownProblem {
            class,
            ensemble: ensemble.map(str::to_owned),
            instance: None,
            host: None,
            digest,
            count: 1,
            notified: None,
            is_ignored: false,
            was_ignored: false,
            line: line.into(),
            id: None,
        };
        Self {
            problem,
            document: Json::Null,
        }
    }
}

impl Parts {
    /// Takes a problem that has ended. Nothing is said about one that the target does not know.
    fn leave(&mut self, known: &KnownProblem) {
        if known.notified.is_none() {
            return;
        }
        let entry = Entry {
            ensemble: known.ensemble.clone(),
            line: known.line.clone(),
            document: json!({"id": known.id, "instance": known.instance, "host": known.host}),
        };
        if known.class.is_change() {
            self.gone.push(entry);
        } else {
            self.recovered.push(entry);
        }
    }

    /// Takes a problem of the answer. Returns the problem with its history.
    fn meet(
        &mut self,
        rule: &NotifyRule,
        known: Option<&KnownProblem>,
        sighting: Sighting,
    ) -> KnownProblem {
        let Sighting {
            mut problem,
            document,
        } = sighting;
        if let Some(known) = known {
            let is_same = known.digest == problem.digest && known.is_ignored == problem.is_ignored;
            problem.count = if is_same {
                known.count.saturating_add(1)
            } else {
                1
            };
            problem.notified.clone_from(&known.notified);
            problem.was_ignored = known.is_ignored || known.was_ignored;
        }
        if problem.is_ignored {
            // The user knows the finding. If the rule ends, the finding is notified again.
            problem.notified = None;
            return problem;
        }
        if problem.count < rule.after || problem.notified.as_ref() == Some(&problem.digest) {
            return problem;
        }
        let entry = Entry {
            ensemble: problem.ensemble.clone(),
            line: problem.line.clone(),
            document,
        };
        let list = match problem.class {
            ProblemClass::IgnoreRule => &mut self.rules,
            ProblemClass::Finding if problem.was_ignored => &mut self.expired,
            ProblemClass::Finding if problem.notified.is_some() => &mut self.changed,
            ProblemClass::Finding => &mut self.new,
            _ => &mut self.failures,
        };
        list.push(entry);
        problem.notified = Some(problem.digest.clone());
        problem.was_ignored = false;
        problem
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::reader::read_notify;
    use super::super::silence::{SilenceReport, in_silence};
    use super::*;
    use crate::diagnostic::{Diagnostics, Sources};
    use crate::yaml::{Limits, parse};

    fn rule(fields: &str) -> NotifyRule {
        let text = format!("[{{command: x{fields}}}]");
        let mut sources = Sources::default();
        let id = sources.add("x", text, None);
        let node = parse(&sources, id, &Limits::default()).unwrap();
        let mut problems = Diagnostics::default();
        let rules = read_notify(node.as_seq().unwrap(), &mut problems);
        assert!(problems.is_empty(), "{problems:?}");
        rules.into_iter().next().unwrap()
    }

    fn at(day: u32) -> Timestamp {
        Timestamp::from_second(1_790_000_000 + i64::from(day) * 86_400).unwrap()
    }

    /// A finding written as `id kind value`, with `!` before the kind if a rule ignores the finding.
    fn finding(text: &str) -> Json {
        let words: Vec<&str> = text.split(' ').collect();
        let kind = words[1].trim_start_matches('!');
        let ignored = words[1].starts_with('!').then_some("a rule");
        let instance = words[0].trim_end_matches(char::is_numeric);
        json!({"id": words[0], "kind": kind, "instance": instance, "attribute": words[0], "from": "ok",
               "to": words[2], "reason": words[2], "cause": words[2], "ignored_by": ignored})
    }

    fn answer(name: &str, findings: &[&str]) -> EnsembleReport {
        let findings: Vec<Json> = findings.iter().map(|text| finding(text)).collect();
        let document = json!({"ensembles": [{"name": name, "findings": findings}]});
        EnsembleReport::read(&document).remove(0)
    }

    /// A target with its state; each call is a run on the next day.
    struct Target {
        rule: NotifyRule,
        state: NotifiedState,
        day: u32,
    }

    impl Target {
        fn new(fields: &str) -> Self {
            Self {
                rule: rule(fields),
                state: NotifiedState::default(),
                day: 0,
            }
        }

        fn run(&mut self, outcome: RunOutcome, ensembles: Vec<EnsembleReport>) -> String {
            self.day += 1;
            let report = NoticedRun {
                schedule: "nightly".into(),
                due: at(self.day),
                at: at(self.day),
                outcome,
                ensembles,
            };
            let (next, notice) = after_run(&self.rule, &self.state, &report);
            let (again, same) = after_run(&self.rule, &self.state, &report);
            assert_eq!(
                (&again, &same),
                (&next, &notice),
                "the decision is repeatable"
            );
            let kept = serde_json::to_string(&next).unwrap();
            self.state = serde_json::from_str(&kept).unwrap();
            assert_eq!(self.state, next);
            notice.map_or_else(String::new, |notice| notice.title)
        }

        /// An answer about the ensemble `e`.
        fn sees(&mut self, findings: &[&str]) -> String {
            self.run(RunOutcome::Done, vec![answer("e", findings)])
        }

        fn fails(&mut self, reason: &str) -> String {
            self.run(RunOutcome::Failed(reason.into()), Vec::new())
        }
    }

    #[test]
    fn only_transitions_are_notified() {
        let mut target = Target::new("");
        assert_eq!(target.sees(&[]), "");
        assert_eq!(
            target.sees(&["a1 outside x", "b1 pending y"]),
            "nightly: 2 new"
        );
        assert_eq!(target.sees(&["a1 outside x", "b1 pending y"]), "");
        assert_eq!(
            target.sees(&["a1 outside z", "b1 pending y"]),
            "nightly: 1 changed"
        );
        assert_eq!(
            target.sees(&["b1 pending y", "c1 outside x"]),
            "nightly: 1 new, 1 gone"
        );
        assert_eq!(target.sees(&[]), "nightly: 2 gone, clean again");
        assert_eq!(target.sees(&[]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
    }

    #[test]
    fn a_finding_that_an_answer_has_twice_is_notified_once() {
        let mut target = Target::new("");
        let twice = ["a1 outside x", "a1 outside x"];
        assert_eq!(target.sees(&twice), "nightly: 1 new");
        assert_eq!(target.sees(&twice), "");
    }

    #[test]
    fn ignored_findings_are_silent_until_their_rule_ends() {
        let mut target = Target::new("");
        assert_eq!(target.sees(&["a1 !outside x"]), "");
        assert_eq!(
            target.sees(&["a1 outside x"]),
            "nightly: 1 no longer ignored"
        );
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 !outside x"]), "");
        assert_eq!(target.sees(&[]), "");
    }

    #[test]
    fn a_problem_is_notified_after_several_sightings_in_a_row() {
        let mut target = Target::new(", after: 3");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&[]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
        assert_eq!(target.sees(&["a1 outside y"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.fails("x"), "");
        assert_eq!(target.fails("x"), "");
        assert_eq!(target.fails("x"), "nightly: the run failed: x");
    }

    #[test]
    fn a_failure_is_notified_once_and_its_end_too() {
        let mut target = Target::new("");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
        assert_eq!(
            target.fails("pid 3 died"),
            "nightly: the run failed: pid 3 died"
        );
        assert_eq!(target.fails("pid 44 died"), "");
        let cut = RunOutcome::CutOff("killed".into());
        assert_eq!(
            target.run(cut.clone(), Vec::new()),
            "nightly: the run was cut off: killed"
        );
        assert_eq!(target.run(cut, Vec::new()), "");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: works again");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&[]), "nightly: 1 gone, clean again");
    }

    #[test]
    fn what_nobody_can_determine_is_a_failure_and_no_finding_is_gone_by_that() {
        let mut target = Target::new("");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
        assert_eq!(
            target.sees(&["a2 cannot-tell away"]),
            "nightly: a: a2: away"
        );
        assert_eq!(target.sees(&["a2 cannot-tell away"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: works again");
    }

    #[test]
    fn ensembles_that_were_not_looked_at_keep_their_findings() {
        let mut target = Target::new("");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
        let other = vec![answer("other", &["a1 outside x"])];
        assert_eq!(target.run(RunOutcome::Done, other), "nightly: 1 new");
        for (kind, title) in [
            ("locked", ""),
            ("invalid", "nightly: cannot be loaded: why"),
        ] {
            let document =
                json!({"ensembles": [{"name": "e", "problem": {"kind": kind, "message": "why"}}]});
            let answers = EnsembleReport::read(&document);
            assert_eq!(target.run(RunOutcome::Done, answers), title);
        }
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: works again");
        assert_eq!(target.sees(&[]), "nightly: 1 gone");
    }

    #[test]
    fn a_rule_sends_what_it_is_for() {
        let mut target = Target::new(", on: recovery");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.sees(&[]), "nightly: clean again");
        let mut target = Target::new(", on: failure");
        assert_eq!(target.sees(&["a1 outside x"]), "");
        assert_eq!(target.fails("why"), "nightly: the run failed: why");
        assert_eq!(target.sees(&[]), "");
        let mut target = Target::new(", kinds: outside");
        assert_eq!(target.sees(&["a1 pending x"]), "");
        assert_eq!(target.sees(&["a1 outside x"]), "nightly: 1 new");
    }

    #[test]
    fn silence_is_notified_once_until_something_looks() {
        let mut target = Target::new(", silence: 2");
        let silence = |missed| SilenceReport {
            schedule: "nightly".into(),
            last_look: Some(at(0)),
            missed,
            since: at(1),
            now: at(missed),
        };
        let look = |target: &mut Target, missed| {
            let (next, notice) = in_silence(&target.rule, &target.state, &silence(missed));
            target.state = next;
            notice.map_or_else(String::new, |notice| notice.title)
        };
        assert_eq!(look(&mut target, 1), "");
        assert_eq!(
            look(&mut target, 2),
            format!("nightly: nothing has looked since {}", at(0))
        );
        assert_eq!(look(&mut target, 3), "");
        assert_eq!(target.fails("x"), "nightly: the run failed: x");
        assert_eq!(look(&mut target, 4), "");
        assert_eq!(target.sees(&[]), "nightly: clean again");
        assert_eq!(
            look(&mut target, 2),
            format!("nightly: nothing has looked since {}", at(0))
        );
    }

    #[test]
    fn a_notice_has_a_text_for_people_and_lists_for_programs() {
        let mut target = Target::new("");
        target.sees(&["a1 outside x"]);
        let report = NoticedRun {
            schedule: "nightly".into(),
            due: at(8),
            at: at(9),
            outcome: RunOutcome::Done,
            ensembles: vec![answer("e", &["b1 outside y", "c1 cannot-tell away"])],
        };
        let (_, notice) = after_run(&target.rule, &target.state, &report);
        let notice = notice.unwrap();
        insta::assert_snapshot!(notice.text, @"
        nightly: c: c1: away, 1 new, 1 gone
        Schedule nightly, due at 2026-09-29T14:13:20Z, answered at 2026-09-30T14:13:20Z

        Failed:
          e: c: c1: away

        New:
          e: b: b1: ok → y (outside)

        Gone:
          e: a: a1: ok → x (outside)
        ");
        assert_eq!(notice.body["id"], *notice.id);
        assert_eq!(notice.body["occasions"], json!(["failure", "change"]));
        assert_eq!(notice.body["new"][0]["id"], "b1");
        assert_eq!(notice.body["new"][0]["ensemble"], "e");
        assert_eq!(notice.body["gone"][0]["id"], "a1");
        assert_eq!(notice.body["failures"][0]["kind"], "cannot-tell");
        assert_eq!(notice.body["active"], 2);
    }

    #[test]
    fn many_findings_are_counted() {
        let mut target = Target::new("");
        let texts: Vec<String> = (0..150).map(|it| format!("a{it} outside x")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let report = NoticedRun {
            schedule: "nightly".into(),
            due: at(8),
            at: at(9),
            outcome: RunOutcome::Done,
            ensembles: vec![answer("e", &texts)],
        };
        let (next, notice) = after_run(&target.rule, &target.state, &report);
        target.state = next;
        let notice = notice.unwrap();
        assert_eq!(notice.title, "nightly: 150 new");
        assert_eq!(notice.body["left_out"], 50);
        assert_eq!(notice.body["new"].as_array().unwrap().len(), 100);
        assert!(notice.text.ends_with("  and 50 more\n"), "{}", notice.text);
    }
}
