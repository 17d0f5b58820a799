//! Limits: S1, S18 and S22, no input causes a hang or uses all memory.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::drafts;
use crate::support::{Run, TestEnv};

/// A loop over `body` with a text of 3 MB in the variable `a` and a list in `l`. Without a limit of time it
/// runs for minutes.
fn long_loop(body: &str) -> String {
    format!(
        "{{% set a = 'x' * 3000000 %}}{{% set l = range(100000) | list %}}{{% for i in range(99999) %}}{body}{{% endfor %}}"
    )
}

/// An ensemble with a node that has these properties. Its operation reads the property `x`.
fn with_properties(properties: &[(String, String)]) -> TestEnv {
    let (mut types, mut values) = (String::new(), String::new());
    for (name, value) in properties {
        writeln!(types, "{name}: {{type: any}}").unwrap();
        writeln!(values, "{name}: {value}").unwrap();
    }
    let draft = drafts::ensemble(
        "
        node_types:
          N:
            derived_from: tosca.nodes.Root
            properties:
              <types>
        topology_template:
          node_templates:
            a:
              type: N
              properties:
                <values>
              interfaces:
                Standard:
                  configure:
                    implementation: Shell
                    inputs: {command: \"echo '{{ SELF.x | string | length }}'\"}
        ",
    );
    draft.with("types", types).with("values", values).env()
}

/// An ensemble whose only property is a template or an expression.
fn with_property(value: &str) -> TestEnv {
    with_properties(&[("x".to_owned(), value.to_owned())])
}

/// A text as a scalar of YAML.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Runs the program with at most 5 s of processor time, which does not depend on the load of the machine.
#[track_caller]
fn limited(env: &TestEnv, arguments: &[&str]) -> Run {
    let run = env.unfurl_after("ulimit -t 5", arguments);
    assert!(run.code >= 0, "took more than 5 s of processor time: {run}");
    run
}

/// Asserts that the program reported the limit of time.
#[track_caller]
fn ends_in_time(run: Run) -> Run {
    run.says(&["took more than 0.2 s of CPU time", "--eval-timeout"])
        .does_not_panic()
}

/// V10: a text had no limit below 1 GiB.
#[test]
fn s1_text_is_limited_for_one_file_and_for_all_together() {
    let env = drafts::nodes("a: {type: tosca.nodes.Root}\n+include: more.yaml").env();
    env.write("more.yaml", &format!("# {}\n", "x".repeat(2000)));
    env.unfurl(["validate"]).succeeds();
    env.unfurl(["validate", "--max-text", "1KiB"])
        .exits(1)
        .says(&["1 KiB", "--max-text"]);
    let run = env.unfurl(["--max-text=2100", "validate"]).exits(1);
    run.says(&[
        "together",
        "2100 bytes",
        "raise the limit with `--max-text`",
    ]);
    let env = env.variable("UNFURL_MAX_TEXT", "100");
    env.unfurl(["validate"]).exits(1).says(&["--max-text"]);
    for size in ["0", "-1", "1x", "many"] {
        let option = format!("--max-text={size}");
        env.unfurl([option.as_str(), "validate"]).exits(2);
    }
}

/// V10: 1.5 million keys took more than 20 s.
#[test]
fn s1_a_map_with_1_500_000_keys_is_refused() {
    let mut text = "apiVersion: unfurl/v1alpha1\nkind: Ensemble\n".to_owned();
    for key in 0..1_500_000 {
        writeln!(text, "{key}: 1").unwrap();
    }
    let run = limited(&TestEnv::with_ensemble(&text), &["validate"]).exits(1);
    run.says(&["a map must have at most 500000 keys"]);
}

/// V10: each of many problems was shown, which took longer than reading the file.
#[test]
fn s1_only_the_first_of_many_problems_are_shown() {
    let mut properties = String::new();
    for name in 0..3000 {
        writeln!(properties, "p{name}: 1").unwrap();
    }
    let draft = drafts::nodes("a:\n  type: tosca.nodes.Root\n  properties:\n    <properties>");
    let env = draft.with("properties", properties).env();
    let run = env.unfurl(["validate"]);
    assert_eq!(run.stderr.matches("is not declared").count(), 1000);
    run.says(&["problems that are not shown: 2000"]);
}

/// V10: a value had a limit in some filters only, and a file that an expression reads had none.
#[test]
fn s22_a_value_and_a_file_are_limited() {
    let shared: Vec<(String, String)> = (1..60)
        .map(|place| {
            let below = place - 1;
            let pair = format!("[{{eval: '.::p{below}'}}, {{eval: '.::p{below}'}}]");
            (format!("p{place}"), pair)
        })
        .collect();
    let mut properties = vec![("p0".to_owned(), "[1, 2, 3]".to_owned())];
    properties.extend(shared);
    properties.push(("x".to_owned(), quoted("{{ SELF.p59 | to_json }}")));
    let env = with_properties(&properties);
    env.write("big", &"x".repeat(1 << 17));
    let limited = |expression: &str| {
        let run = limited(
            &env,
            &["--max-value", "64KiB", "plan", "--query", expression],
        );
        run.does_not_panic().says(&["--max-value"])
    };
    let plain = "y".repeat(1000);
    for template in [
        "{{ 'x' * 100000 }}",
        "{{ 'x' * 40000 ~ 'x' * 40000 }}",
        "{{ range(9000) | map('string') | join('x' * 99) }}",
        "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
        "{{ '%99999s' | format('x') }}",
        "{{ 'x'.ljust(99999) }}",
        "{{ ('x\n' * 9999) | indent(99) }}",
        "{{ ('x ' * 9999) | wordwrap(1, true, 'y' * 99) }}",
        "{{ ('x' * 9999) | regex_replace('x', 'y' * 99) }}",
        "{{ ('x' * 60000) | b64encode }}",
        "{{ ('\n' * 60000) | to_json }}",
        "{{ lookup('file', 'big') }}",
        "{{ (['x' * 9000] * 9) | sort }}",
        &format!("{{% for i in range(999) %}}{plain}{{% endfor %}}"),
        &format!(
            "{{% macro m() %}}{plain}{{% endmacro %}}{}",
            "{{ m() }}".repeat(99)
        ),
        &format!("{{% for i in range(999) -%}}\n {plain} {{%- endfor %}}"),
    ] {
        limited(template);
    }
    limited("::a::p59");
    limited("::a::x");
    limited("{{ range(99999) | list }}");
    env.unfurl(["plan", "--query", "{{ lookup('file', 'big') | length }}"])
        .exits(64)
        .prints(&["131072"]);
}

/// V10, siblings: each type copies what all its ancestors declare.
#[test]
fn s1_a_type_with_too_many_ancestors_is_refused() {
    let mut types = "    node_types:\n      T0: {derived_from: tosca.nodes.Root}\n".to_owned();
    for number in 1..20_000 {
        writeln!(types, "      T{number}: {{derived_from: T{}}}", number - 1).unwrap();
    }
    let env = drafts::nodes("a: {type: T19999}").env();
    let text = env.read("ensemble.yaml");
    let text = text.replace(
        "    topology_template:",
        &format!("{types}    topology_template:"),
    );
    env.write("ensemble.yaml", &text);
    for command in ["validate", "plan"] {
        let run = limited(&env, &[command]);
        let run = run.does_not_panic();
        run.says(&["type `T250` derives from more than 250 types"]);
    }
}

/// V10: an evaluation had a limit of steps but not of time.
#[test]
fn s18_templates_end_when_their_time_is_used_up() {
    for template in [
        // Filters of this program, and those of the engine.
        long_loop("{% if (l | unique) == 'y' %}{% endif %}"),
        long_loop("{% if (l | sort) == 'y' %}{% endif %}"),
        long_loop("{% if (a | upper) == 'y' %}{% endif %}"),
        long_loop("{% set b = a | regex_replace('x', 'y') %}"),
        "{{ range(99999) | map('regex_replace', '.', 'x' * 99) | map('upper') | list | length }}".to_owned(),
        // Tests and operators.
        "{{ (['x' * 1000000] * 1000000) | select('eq', 'x' * 1000000) | list | length }}".to_owned(),
        long_loop("{% if a ~ 'x' == 'y' %}{% endif %}"),
        "{% set a = 'x' * 3000000 %}{% for i in range(99999) if a ~ 'x' == 'y' %}{% endfor %}".to_owned(),
        // Loops, macros and recursion.
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}".to_owned(),
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(30) }}".to_owned(),
        "{% set a = 'x' * 3000000 %}{% macro m() %}{{ (a ~ 'y') | length }}{% endmacro %}{{ m() }}{% for i in range(99999) %}{{ m() }}{% endfor %}".to_owned(),
        // Lookups. An option that ignores errors changes nothing.
        long_loop("{{ lookup('fileglob', '*') | length }}"),
        long_loop("{% if lookup('unfurl', '{{ SELF.x }}', errors='ignore') | default(1) %}{% endif %}{% if lookup('template', 'ensemble.yaml', errors='ignore') is defined %}{% endif %}{{ (a | upper) | length }}"),
        // A single step, in which no check is possible.
        "{{ ['x' * 1000000] * 1000000 == ['x' * 1000000] * 1000000 }}".to_owned(),
    ] {
        let env = with_property(&quoted(&template));
        ends_in_time(limited(&env, &["--eval-timeout", "0.2", "plan"]));
    }
}

/// V10, siblings: sums of the template engine overflow.
#[test]
fn s18_numbers_at_the_limit_end_no_program() {
    for template in [
        "{{ 'abc'[-9223372036854775808:9223372036854775807:-1] }}",
        "{{ 'abc'[::-9223372036854775808] }}",
        "{{ [1, 2, 3][::(-9223372036854775807 - 1)] }}",
        "{{ range(9223372036854775807, -9223372036854775807, -9223372036854775807) | list }}",
    ] {
        let env = with_property(&quoted(template));
        env.unfurl(["plan"]).does_not_panic();
        let run = env.unfurl(["deploy", "--approve"]).does_not_panic();
        assert_ne!(run.code, 70, "{template}: {run}");
    }
}

/// V10: as above, for expressions without templates.
#[test]
fn s18_expressions_end_when_their_time_is_used_up() {
    let loops = "{eval: $l, vars: {l: {eval: {template: '{{ range(900) | list }}'}}}, foreach: {eval: $l, foreach: {eval: {concat: [$item, a]}}}}";
    let select = "{eval: $l, vars: {l: {eval: {template: '{{ range(900) | list }}'}}}, select: {eval: $l, foreach: {concat: [$item, a]}}}";
    for expression in [loops, select] {
        let env = with_property(expression);
        let run = limited(&env, &["--eval-timeout", "0.05", "plan"]);
        run.says(&["--eval-timeout"]).does_not_panic();
    }
}

/// V10: 3,000 properties, each twice the one before, took more than 70 s.
#[test]
fn s18_a_chain_of_properties_ends() {
    let chain = (1..3000).map(|place| {
        let below = format!("{{{{ SELF.p{} }}}}", place - 1);
        (format!("p{place}"), quoted(&format!("{below}{below}")))
    });
    let mut properties = vec![("p0".to_owned(), quoted("{{ 'x' * 100000 }}"))];
    properties.extend(chain);
    properties.push(("x".to_owned(), quoted("{{ SELF.p2999 }}")));
    let env = with_properties(&properties);
    let run = limited(&env, &["--eval-timeout", "0.2", "plan"]);
    let problem = ["--max-value", "--eval-timeout"];
    assert!(problem.iter().any(|it| run.stderr.contains(it)), "{run}");
    run.does_not_panic();
}

/// V10: each reader of a property that takes too long would wait as long again, and some would ignore the error.
#[test]
fn s18_a_property_that_takes_too_long_is_evaluated_once() {
    let slow = long_loop("{{ (a | upper) | length }}");
    let mut properties = vec![("slow".to_owned(), quoted(&slow))];
    let mut all = String::new();
    for name in 0..50 {
        let reader = format!("d{name}");
        let template = "{{ lookup('unfurl', '.::slow', errors='ignore') | default('none') }}";
        properties.push((reader.clone(), quoted(template)));
        write!(all, "{{{{ SELF.{reader} | default(1) }}}}").unwrap();
    }
    properties.push(("x".to_owned(), quoted(&all)));
    let env = with_properties(&properties);
    let run = ends_in_time(limited(&env, &["--eval-timeout", "0.2", "plan"]));
    // The message shows the property itself.
    run.says(&["ensemble.yaml:", "low: "]);
    for name in ["d1", "d49"] {
        let query = format!("::a::{name}");
        ends_in_time(limited(
            &env,
            &["--eval-timeout", "0.2", "plan", "--query", &query],
        ));
    }
}

/// The limit is one for each property, not for all of them.
#[test]
fn s18_a_plan_has_no_limit_of_time() {
    let work = "{% for i in range(20000) %}{% set b = i %}{% endfor %}1";
    let mut nodes = String::new();
    for name in 0..30 {
        writeln!(nodes, "n{name}: {{type: N}}").unwrap();
    }
    let draft = drafts::ensemble(
        "
        node_types:
          N:
            derived_from: tosca.nodes.Root
            properties:
              x: {type: any, default: <work>}
            interfaces:
              Standard:
                configure:
                  implementation: Shell
                  inputs: {command: \"echo '{{ SELF.x }}'\"}
        topology_template:
          node_templates:
            <nodes>
        ",
    );
    let env = draft.with("work", quoted(work)).with("nodes", nodes).env();
    env.unfurl(["--eval-timeout", "0.5", "plan"]).succeeds();
}

/// V10: the templates of states and of tasks have the same limit.
#[test]
fn s18_templates_of_states_and_tasks_end_when_their_time_is_used_up() {
    let env = TestEnv::new();
    let body = long_loop("{% if (a | upper) == 'y' %}{% endif %}");
    env.write("states/slow.sls", &format!("{body}\na: {{test.nop: []}}\n"));
    let import = "{% from 'slow.sls' import b with context %}\na: {test.nop: []}\n";
    env.write("states/imports.sls", import);
    for name in ["slow", "imports"] {
        let arguments = [
            "--eval-timeout",
            "0.2",
            "state",
            "test",
            "--file-root",
            "states",
            name,
        ];
        ends_in_time(limited(&env, &arguments));
    }
    env.write(
        "tasks.yaml",
        &format!(
            "tasks:\n  slow:\n    run: {}\n  check:\n    when: {}\n    run: 'true'\n",
            quoted(&body),
            quoted(&body)
        ),
    );
    for name in ["slow", "check"] {
        ends_in_time(limited(
            &env,
            &["--eval-timeout", "0.2", "task", "-H", "@local", name],
        ));
    }
}

/// V10: an option that means no limit, or nothing, is refused.
#[test]
fn s18_the_limit_of_time_must_be_positive() {
    let env = with_property("1");
    for time in ["0", "-1", "none", ""] {
        let option = format!("--eval-timeout={time}");
        env.unfurl([option.as_str(), "plan"]).exits(2);
    }
    let env = env.variable("UNFURL_EVAL_TIMEOUT", "30s");
    env.unfurl(["plan"]).succeeds();
}

/// V10: one SIGTERM did not end a plan with an evaluation that hangs.
#[test]
fn s18_the_first_signal_ends_loading_and_planning() {
    let single_step = "{{ ['x' * 1000000] * 1000000 == ['x' * 1000000] * 1000000 }}";
    let many_steps = long_loop("{% if (a | upper) == 'y' %}{% endif %}");
    for template in [many_steps.as_str(), single_step] {
        for (signal, code) in [
            (Signal::SIGINT, 130),
            (Signal::SIGTERM, 143),
            (Signal::SIGHUP, 129),
        ] {
            for command in [&["plan"][..], &["deploy", "--approve"]] {
                let env = with_property(&quoted(template));
                let before = env.read("ensemble.yaml");
                let arguments = [&["--eval-timeout", "60"], command].concat();
                let run = interrupted(&env, &arguments, signal);
                assert_eq!(run.code, code, "{run}");
                assert_eq!(env.read("ensemble.yaml"), before);
                assert!(!env.names().contains(&"changes".to_owned()), "{run}");
                if template != single_step {
                    // A lock that is left behind belongs to no process, and the next job takes it.
                    assert!(!env.names().iter().any(|name| name.contains(".lock")));
                }
            }
        }
    }
}

/// V10: the same for commands that only read.
#[test]
fn s18_the_first_signal_ends_commands_that_read() {
    let query = long_loop("{% if (a | upper) == 'y' %}{% endif %}");
    let env = with_property("1");
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let arguments = ["--eval-timeout", "60", "status", "--query", &query];
        let run = interrupted(&env, &arguments, signal);
        // Without work to end in order, the signal itself ends the process.
        assert!(run.code == 128 + signal as i32 || run.code < 0, "{run}");
    }
}

/// Starts the program, sends the signal during an evaluation, and asserts that the program ends at once.
#[track_caller]
fn interrupted(env: &TestEnv, arguments: &[&str], signal: Signal) -> Run {
    let program = env.start(arguments);
    std::thread::sleep(Duration::from_millis(250));
    let begin = Instant::now();
    program.signal(signal);
    let run = program.ends();
    let time = begin.elapsed();
    assert!(
        time < Duration::from_secs(1),
        "{time:?} after the signal\n{run}"
    );
    run
}
