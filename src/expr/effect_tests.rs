//! Tests of the effects that evaluations request: their order, and that each one is performed only once.

use std::sync::Arc;

use crate::expr::context::Context;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::fixture::{FakeScope, FakeSystem, topology, yaml};
use crate::expr::reads::Read;
use crate::value::Value;

struct EffectFixture {
    scope: Arc<FakeScope>,
    disk: Arc<FakeSystem>,
    evaluator: Evaluator,
}

impl EffectFixture {
    fn new() -> Self {
        let (scope, disk) = (topology(), Arc::new(FakeSystem::with_programs()));
        let evaluator = Evaluator::with_limit(scope.clone(), disk.clone(), Arc::default(), 60);
        Self {
            scope,
            disk,
            evaluator,
        }
    }

    fn evaluate(&self, text: &str) -> Result<Value, Error> {
        let context = Context::new(self.scope.named("app"));
        self.evaluator.evaluate(&yaml(text), &context)
    }

    /// Performs the writes that evaluations requested since the previous call.
    fn perform_writes(&self) {
        let reads = self.evaluator.take_reads();
        self.evaluator.perform_writes(reads.writes()).unwrap();
    }

    /// Returns the value of an expression, followed by the effects that its evaluation had.
    fn evaluate_with_effects(&self, text: &str) -> String {
        let value = match self.evaluate(text) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        self.perform_writes();
        let performed = std::mem::take(&mut *self.disk.performed.lock().unwrap());
        format!("{value} after {performed:?}")
    }
}

/// A line for each text with its value and the effects that were performed for it.
fn table(texts: &[&str]) -> String {
    let lines = texts.iter().map(|text| {
        let outcome = EffectFixture::new().evaluate_with_effects(text);
        format!("{text} => {outcome}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn effects_are_performed_once_each_and_in_order() {
    let texts = [
        "'{{ lookup(\"pipe\", \"a\") }}-{{ lookup(\"pipe\", \"a\") }}-{{ lookup(\"pipe\", \"b\") }}'",
        "'{{ lookup(\"pipe\", \"a\", \"b\", \"a\") }}'",
        "'{{ lookup(\"url\", \"http://h\") }}'",
        "['{{ lookup(\"pipe\", \"a\") }}', {eval: {file: f, contents: x}}, '{{ lookup(\"pipe\", \"b\") }}']",
        "'{% for i in range(3) %}{{ lookup(\"pipe\", \"a\") }}{% endfor %}'",
        "'{{ lookup(\"password\", \"/p length=4 chars=digits\") }}{{ lookup(\"pipe\", \"a\") }}'",
        "{eval: {abspath: [new/x, ., true]}}",
    ];
    insta::assert_snapshot!(table(&texts), @r#"
    '{{ lookup("pipe", "a") }}-{{ lookup("pipe", "a") }}-{{ lookup("pipe", "b") }}' => 1-2-3 after ["a", "a", "b"]
    '{{ lookup("pipe", "a", "b", "a") }}' => [1, 2, 3] after ["a", "b", "a"]
    '{{ lookup("url", "http://h") }}' => 1 after ["http://h"]
    ['{{ lookup("pipe", "a") }}', {eval: {file: f, contents: x}}, '{{ lookup("pipe", "b") }}'] => [1, 'f', 2] after ["a", "b", "/e/f"]
    '{% for i in range(3) %}{{ lookup("pipe", "a") }}{% endfor %}' => 123 after ["a", "a", "a"]
    '{{ lookup("password", "/p length=4 chars=digits") }}{{ lookup("pipe", "a") }}' => 95172 after ["/p", "a"]
    {eval: {abspath: [new/x, ., true]}} => /e/new/x after ["/e/new"]
    "#);
}

#[test]
fn no_option_and_no_default_hides_an_effect() {
    let texts = [
        "'{{ lookup(\"pipe\", \"a\", errors=\"ignore\") | default(\"none\") }}'",
        "'{{ lookup(\"pipe\", \"false\", errors=\"ignore\") | default(\"none\", true) }} {{ lookup(\"pipe\", \"a\") }}'",
        "'{{ lookup(\"pipe\", \"a\") is defined }}'",
        "'{{ lookup(\"pipe\", \"false\") }} {{ lookup(\"pipe\", \"a\") }}'",
    ];
    insta::assert_snapshot!(table(&texts), @r#"
    '{{ lookup("pipe", "a", errors="ignore") | default("none") }}' => 1 after ["a"]
    '{{ lookup("pipe", "false", errors="ignore") | default("none", true) }} {{ lookup("pipe", "a") }}' => none 2 after ["false", "a"]
    '{{ lookup("pipe", "a") is defined }}' => True after ["a"]
    '{{ lookup("pipe", "false") }} {{ lookup("pipe", "a") }}' => error: `lookup('pipe')`: it failed after ["false"]
    "#);
}

#[test]
fn a_remembered_value_keeps_its_answers_from_others() {
    let pipe = "{{ lookup('pipe', 'a') }}";
    for (template, given) in [
        (
            format!("{{{{ SELF.p }}}} x {pipe} {{{{ SELF.p }}}} {pipe}"),
            "1 x 2 1 3",
        ),
        (
            format!("{pipe} x {{{{ SELF.p }}}} {pipe} {{{{ SELF.p }}}}"),
            "1 x 2 3 2",
        ),
    ] {
        let machine = EffectFixture::new();
        let app = machine.scope.named("app");
        machine.scope.write(app, "p", pipe);
        let context = Context::new(app);
        let value = machine.evaluator.render(&template, &context).unwrap();
        assert_eq!(value.to_string(), given);
        assert_eq!(machine.disk.performed.lock().unwrap().len(), 3);
    }
}

#[test]
fn chance_and_the_clock_hold_until_the_request_ends() {
    let machine = EffectFixture::new();
    let text = "'{{ 1000000 | random }} {{ lookup(\"pipe\", \"a\", \"b\") }} {{ now() }}'";
    drop(machine.evaluate(text).unwrap());
    assert_eq!(*machine.disk.random_calls.lock().unwrap(), 2);
    let first =
        machine.evaluate_with_effects("'{{ 1000000 | random }} {{ lookup(\"pipe\", \"a\") }}'");
    let second =
        machine.evaluate_with_effects("'{{ 1000000 | random }} {{ lookup(\"pipe\", \"a\") }}'");
    assert_ne!(first, second);
    let machine = EffectFixture::new();
    let value =
        machine.evaluate_with_effects("[{eval: {tempfile: x}}, '{{ lookup(\"pipe\", \"a\") }}']");
    assert_eq!(machine.disk.files.lock().unwrap().len(), 1, "{value}");
}

#[test]
fn an_evaluation_writes_nothing_and_sees_what_it_would_write() {
    let machine = EffectFixture::new();
    let app = machine.scope.named("app");
    machine
        .scope
        .write(app, "f", yaml("{eval: {file: f, contents: x}}"));
    machine
        .scope
        .write(app, "part", yaml("{a: {eval: {tempfile: t}}, b: 1}"));
    for text in [
        "[{eval: '.::f'}, '{{ lookup(\"file\", \"/e/f\") }}', '{{ \"/e/f\" is file }}']",
        "{eval: {file: f, contents: y}, select: contents}",
        "{eval: {abspath: [new/x, ., true]}}",
        "'{{ SELF.part.a }}'",
    ] {
        machine.evaluate(text).unwrap();
    }
    assert!(machine.disk.files.lock().unwrap().is_empty());
    assert!(machine.disk.performed.lock().unwrap().is_empty());
}

#[test]
fn a_remembered_value_requests_its_writes_each_time() {
    let machine = EffectFixture::new();
    let app = machine.scope.named("app");
    let context = Context::new(app).with(
        "inputs",
        yaml("{word: {eval: {file: '{{ 1 }}w', contents: w}}}")
            .as_map()
            .unwrap()
            .clone(),
    );
    machine
        .scope
        .write(app, "f", yaml("{eval: {file: f, contents: x}}"));
    machine.scope.write(app, "g", "{{ SELF.f }}");
    machine.scope.write(
        app,
        "part",
        yaml("{a: {eval: {file: p, contents: x}}, b: 1}"),
    );
    for _ in 0..3 {
        for (template, count) in [
            ("{{ SELF.g }}", 1),
            ("{{ SELF.f }}", 1),
            ("{{ SELF.part.a }}", 1),
            ("{{ inputs.word }}{{ SELF.f }}", 2),
            ("{{ SELF.port }}", 0),
        ] {
            machine.evaluator.render(template, &context).unwrap();
            let writes = machine.evaluator.take_reads().writes().clone();
            assert_eq!(writes.iter().count(), count, "{template}");
        }
    }
}

#[test]
fn files_stay_as_they_were_when_the_expression_read_them() {
    let there = "'{{ \"/e/f\" is exists }}'";
    let machine = EffectFixture::new();
    let text = format!("[{there}, {{eval: {{file: f, contents: x}}}}, {there}]");
    insta::assert_snapshot!(machine.evaluate_with_effects(&text), @r#"[False, 'f', True] after ["/e/f"]"#);
}

#[test]
fn only_the_last_evaluation_counts_for_what_was_read() {
    let machine = EffectFixture::new();
    let text = "'{{ lookup(\"pipe\", \"a\") }}{{ SELF.port }}{{ lookup(\"pipe\", \"b\") }}'";
    machine.evaluate(text).unwrap();
    let reads = machine.evaluator.take_reads();
    let reads: Vec<_> = reads.iter().map(|(read, _)| read.clone()).collect();
    let app = machine.scope.named("app");
    let port = Read::Attribute {
        of: app,
        name: "port".into(),
    };
    assert_eq!(reads, [Read::Entity(app), Read::Volatile, port]);
    assert!(machine.evaluator.take_failure().is_none());
}

#[test]
fn random_choices_fail_without_a_source_of_random_numbers() {
    let disk = FakeSystem {
        lacks_randomness: true,
        ..FakeSystem::with_programs()
    };
    let mut fixture = EffectFixture::new();
    fixture.evaluator =
        Evaluator::with_limit(fixture.scope.clone(), Arc::new(disk), Arc::default(), 60);
    for text in [
        "{eval: {generate_string: {preset: password}}}",
        "{eval: {_generate: {preset: number, len: 4}}}",
        "'{{ [1, 2] | random }}'",
        "'{{ [1, 2] | shuffle }}'",
        "'{{ 10 | random }}'",
        "\"{{ lookup('random_choice', 'a', 'b') }}\"",
        "\"{{ lookup('password', '/dev/null') }}\"",
        "{eval: {tempfile: x}}",
    ] {
        let error = fixture.evaluate(text).unwrap_err().to_string();
        assert!(error.contains("no random numbers"), "{text}: {error}");
    }
    let seeded = fixture.evaluate("\"{{ 10 | random(seed='x') }}\"");
    assert!(seeded.is_ok(), "{seeded:?}");
}
