//! Errors of calls and requisites that are certain, so that states with them are refused before anything runs.

use unfurl::testing::states::{
    CompileError, CompilePurpose, CompileRequest, FactCache, MinionData, RunOrdering,
    StateRenderer, StateTargets, compile,
};

use super::corpus::cases;
use super::trees::machine;

const ORDERINGS: [RunOrdering; 2] = [RunOrdering::Classic, RunOrdering::Dag];

/// Compiles the file `main`, and returns the errors with their places and hints.
fn errors(text: &str, ordering: RunOrdering, purpose: CompilePurpose) -> Vec<String> {
    let request = CompileRequest {
        targets: StateTargets::Sls(vec!["main".to_owned()]),
        ordering,
        purpose,
        exclude: Vec::new(),
    };
    errors_of(&request, machine(&[("main.sls", text)]))
}

fn errors_of(request: &CompileRequest, machine: MinionData) -> Vec<String> {
    let renderer = StateRenderer::new(machine);
    match compile(request, &renderer, &FactCache::default()) {
        Ok(_) => Vec::new(),
        Err(CompileError::Needs(facts)) => vec![format!("needs {facts:?}")],
        Err(CompileError::Problems(problems, sources)) => problems
            .iter()
            .map(|problem| {
                let label = problem.labels.first().expect("an error without a place");
                let line = sources
                    .position(label.span)
                    .map_or(0, |position| position.line);
                let help = problem.help.as_deref().unwrap_or("-");
                format!("{line}: {} | {help}", problem.message)
            })
            .collect(),
    }
}

const CALLS: &str = "
a:
  pkg.instaled:
    - name: vim
    - require:
      - file: j
b:
  pakage.installed: []
c:
  file.managed:
    - name: /c
    - sourse: salt://c
    - requires:
      - test: j
    - win_owner: Administrator
    - something: else
d:
  file.line:
    - contents: d
e:
  git.latest: []
f:
  docker_container.running: []
g:
  file.absent:
    - names:
      - /g:
        - onlyfi: 'true'
h:
  file.recurse:
    - name: /h
    - source: salt://h
    - merge: true
    - force_symlinks: false
  cmd.run:
    - unles: 'true'
    - some_argument: 1
j:
  test.nop:
    - whatever: x
";

#[test]
fn wrong_calls_and_requisites_are_told_at_once_in_both_orderings() {
    let [classic, dag] = ORDERINGS.map(|ordering| errors(CALLS, ordering, CompilePurpose::Run));
    assert_eq!(classic, dag);
    insta::assert_snapshot!(classic.join("\n"), @r"
    6: referenced state does not exist for requisite [require: (file: j)] in state [vim] in SLS [main] | did you mean `test: j`?
    3: the state function `pkg.instaled` of state `a` in SLS `main` does not exist | did you mean `pkg.installed`?
    8: the state function `pakage.installed` of state `b` in SLS `main` does not exist | did you mean `pkg.installed`?
    12: `file.managed` has no argument `sourse` (state `c` in SLS `main`) | did you mean `source`?
    13: `file.managed` has no argument `requires` (state `c` in SLS `main`) | did you mean `require`?
    19: `file.line` has no argument `contents` (state `d` in SLS `main`) | did you mean `content`?
    23: the state function `docker_container.running` of state `f` in SLS `main` is one of Salt's that this program does not have | remove the state, or do the same with a state that exists here, such as `cmd.run`; docs/states.md has the list
    27: `file.absent` has no argument `onlyfi` (state `g` in SLS `main`) | did you mean `onlyif`?
    33: the argument `merge` of `file.recurse` is not supported (state `h` in SLS `main`) | -
    36: `cmd.run` has no argument `unles` (state `h` in SLS `main`) | did you mean `unless`?
    21: `git.latest` needs the argument `target` (state `e` in SLS `main`) | -
    ");
}

#[test]
fn calls_of_states_that_are_only_shown_are_not_checked() {
    let shown = errors(CALLS, RunOrdering::Classic, CompilePurpose::Show);
    assert_eq!(shown, [""; 0]);
}

#[test]
fn wrong_calls_are_told_together_with_errors_of_structure() {
    let text = "
a:
  pkg.instaled: []
b:
  test.nop:
    - require: a
c:
  git.latest: []
";
    for ordering in ORDERINGS {
        let found = errors(text, ordering, CompilePurpose::Run).join("\n");
        for part in ["formed as a list", "pkg.instaled", "git.latest"] {
            assert!(found.contains(part), "{found}");
        }
    }
}

#[test]
fn copied_arguments_and_excluded_states_are_no_errors() {
    let text = "
exclude:
  - id: x
x:
  pakage.installed: []
a:
  git.latest:
    - name: https://host/a
    - target: /a
    - rev: main
b:
  git.cloned:
    - use:
      - git: a
c:
  git.cloned:
    - name: https://host/c
    - use:
      - git: x
";
    for ordering in ORDERINGS {
        let found = errors(text, ordering, CompilePurpose::Run);
        let [one] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert!(
            one.contains("`git.cloned` needs the argument `target` (state `c`"),
            "{one}"
        );
    }
}

#[test]
fn circles_and_missing_targets_are_told_with_all_their_places() {
    let text = "
a:
  test.nop:
    - require:
      - test: b
b:
  test.nop:
    - require:
      - test: c
c:
  test.nop:
    - require:
      - test: a
d:
  service.running:
    - watch:
      - file: a
      - service: dd
      - sls: maim
      - pkg: nothing-like-it
";
    let [classic, dag] = ORDERINGS.map(|ordering| errors(text, ordering, CompilePurpose::Run));
    assert_eq!(classic, dag);
    insta::assert_snapshot!(classic.join("\n"), @r"
    17: referenced state does not exist for requisite [watch: (file: a)] in state [d] in SLS [main] | did you mean `test: a`?
    18: referenced state does not exist for requisite [watch: (service: dd)] in state [d] in SLS [main] | did you mean `d`?
    19: referenced state does not exist for requisite [watch: (sls: maim)] in state [d] in SLS [main] | did you mean `main`?
    20: referenced state does not exist for requisite [watch: (pkg: nothing-like-it)] in state [d] in SLS [main] | -
    5: recursive requisites were found: `a` require `b`, `b` require `c`, `c` require `a` | -
    ");
}

#[test]
fn a_requisite_without_a_name_is_met_and_shown() {
    let text = "a:\n  test.nop:\n    - require:\n      - pkg:\n";
    for ordering in ORDERINGS {
        assert_eq!(errors(text, ordering, CompilePurpose::Run), [""; 0]);
    }
    // A run of Salt 3006 ends with an exception here.
    let text = "a:\n  test.nop:\n    - require:\n      - test:\n";
    assert_eq!(
        errors(text, RunOrdering::Classic, CompilePurpose::Show),
        [""; 0]
    );
    assert_eq!(errors(text, RunOrdering::Dag, CompilePurpose::Run), [""; 0]);
    let found = errors(text, RunOrdering::Classic, CompilePurpose::Run);
    assert!(
        found[0].contains("must have a string as the value"),
        "{found:?}"
    );
    let text = "a:\n  test.nop:\n    - require_in:\n      - test:\n";
    for ordering in ORDERINGS {
        let found = errors(text, ordering, CompilePurpose::Show);
        assert!(found[0].contains("cannot extend ID"), "{found:?}");
    }
}

/// The parts of Salt's comments on states that cannot run.
const CERTAIN: [&str; 5] = [
    "Recursive requisite found",
    "requisites were not found",
    "was not found in SLS",
    "Missing parameter",
    "is an invalid keyword argument",
];

/// The recorded cases that are refused although Salt runs them, or the other way round, with the reason.
const DEVIATIONS: &[(&str, RunOrdering, &str)] = &[];

#[test]
fn a_run_is_refused_exactly_where_salt_fails_states_for_certain() {
    requires!("corpus/salt");
    let mut different = Vec::new();
    for case in cases() {
        for ordering in ORDERINGS {
            let run = &case.expected(ordering)["run"];
            if run["compile_error"].is_object() {
                continue;
            }
            let steps = run["steps"].as_array().into_iter().flatten();
            let mut texts = steps.filter_map(|step| step["comment"].as_str());
            let is_certain = texts.any(|text| CERTAIN.iter().any(|part| text.contains(part)));
            let mut request = case.request(ordering);
            request.purpose = CompilePurpose::Run;
            let found = errors_of(&request, case.machine(std::path::Path::new("/tmp/golden")));
            let is_known = DEVIATIONS
                .iter()
                .any(|(name, of, _)| (*name, *of) == (&*case.name, ordering));
            if (found.is_empty() == is_certain) != is_known {
                different.push(format!(
                    "{} {ordering:?}: Salt fails {is_certain}, errors {found:?}",
                    case.name
                ));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
