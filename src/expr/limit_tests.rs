//! Tests of expressions and templates that would use unlimited time or memory. Each one must end in an
//! error.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Context;
use super::evaluator::Evaluator;
use super::fixture::{FakeSystem, topology, yaml};
use crate::value::Value;

/// Evaluates each expression in a stack of the size that the program uses and returns its outcome.
fn outcomes(expressions: Vec<Value>) -> Vec<String> {
    let run = move || {
        let scope = topology();
        let end = |raw: Value| {
            let evaluator =
                Evaluator::new(scope.clone(), Arc::<FakeSystem>::default(), Arc::default());
            let mut context = Context::new(scope.named("app"));
            context
                .vars
                .set("l", Value::list((0..1000).map(Value::from)));
            let begin = Instant::now();
            let result = evaluator.evaluate(&raw, &context);
            let time = begin.elapsed();
            assert!(time < Duration::from_mins(1), "took {time:?}");
            // Dropping a deeply nested value needs a large stack as well.
            std::mem::forget(raw);
            match result {
                Ok(value) => format!("{value:?}").chars().take(40).collect(),
                Err(error) => {
                    let text = error.to_string();
                    let end = text.char_indices().rev().nth(70).map_or(0, |(at, _)| at);
                    format!("…{}", &text[end..])
                }
            }
        };
        expressions.into_iter().map(end).collect()
    };
    let thread = std::thread::Builder::new().stack_size(1 << 30);
    thread.spawn(run).unwrap().join().unwrap()
}

fn table(expressions: &[&str]) -> String {
    let values = expressions.iter().map(|text| Value::from(*text)).collect();
    let lines = expressions.iter().zip(outcomes(values));
    lines
        .map(|(text, end)| format!("{text} => {end}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "a table of templates and how they end"
)]
fn templates_that_would_take_all_memory_end_in_an_error() {
    let table = table(&[
        "{{ 'a' * 10**10 }}",
        "{{ range(10**12) }}",
        "{{ 'a' | center(10**10) }}",
        "{{ 'a' | indent(10**10, true) }}",
        "{{ '%10000000000d' | format(1) }}",
        "{{ '{:>10000000000}'.format('x') }}",
        "{{ 'x'.ljust(10**10) }}",
        "{{ 99 | pow(9999999) }}",
        "{{ 10**10**10 }}",
        "{{ range(99999) | join('x' * 99999) }}",
        "{{ ('a' * 99999) | replace('a', 'b' * 99999) }}",
        "{{ ('a' * 50000) | regex_replace('', 'b' * 50000) }}",
        "{{ 'x' | regex_search('(((a{1000}){1000}){1000})') }}",
        "{{ range(9999) | batch(10**10, 'x') }}",
        "{{ range(9) | slice(10**10) }}",
        "{{ range(99) | product(range(99), range(99), range(99)) }}",
        "{{ range(99999) | permutations | list }}",
        "{{ range(30) | combinations(15) | list }}",
        "{{ lookup('sequence', 'end=99999999999') }}",
        "{{ ['x' * 10**6] * 10**4 }}",
        "{{ (['x' * 10**6] * 10**4) | string }}",
        "{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "{% set n = namespace(a=[]) %}{% for i in range(9999) %}{% set n.a = [n.a] %}{% endfor %}",
        "{% macro m(a) %}{{ m(a ~ a) }}{% endmacro %}{{ m('xxxxxxxx') }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}",
        "{% set a = 'x' * 10**6 %}{% for i in range(99999) %}{{ a }}{% endfor %}",
        "{{ ('[' * 100000) | from_json }}",
        "{{ ('a' * 50000) | regex_search('(a+)+$b') }}",
    ]);
    insta::assert_snapshot!(table, @r#"
        {{ 'a' * 10**10 }} => … render the template `{{ 'a' * 10**10 }}`: repeated string is too large
        {{ range(10**12) }} => … render the template `{{ range(10**12) }}`: range has too many elements
        {{ 'a' | center(10**10) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ 'a' | indent(10**10, true) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ '%10000000000d' | format(1) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ '{:>10000000000}'.format('x') }} => …plate `{{ '{:>10000000000}'.format('x') }}`: the text would be too long
        {{ 'x'.ljust(10**10) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ 99 | pow(9999999) }} => …ate `{{ 99 | pow(9999999) }}`: `pow`: the result is not a finite number
        {{ 10**10**10 }} => … the template `{{ 10**10**10 }}`: unable to calculate 10000000000 ** 10
        {{ range(99999) | join('x' * 99999) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ ('a' * 99999) | replace('a', 'b' * 99999) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ ('a' * 50000) | regex_replace('', 'b' * 50000) }} => …he text would be longer than 16 MiB; raise the limit with `--max-value`
        {{ 'x' | regex_search('(((a{1000}){1000}){1000})') }} => …regular expression: Compiled regex exceeds size limit of 4194304 bytes.
        {{ range(9999) | batch(10**10, 'x') }} => …) | batch(10**10, 'x') }}`: the list would have more than 1048576 items
        {{ range(9) | slice(10**10) }} => …nge(9) | slice(10**10) }}`: the list would have more than 1048576 items
        {{ range(99) | product(range(99), range(99), range(99)) }} => …, range(99), range(99)) }}`: `product`: there are too many combinations
        {{ range(99999) | permutations | list }} => …ermutations | list }}`: `permutations`: there are too many combinations
        {{ range(30) | combinations(15) | list }} => …nations(15) | list }}`: `combinations`: there are too many combinations
        {{ lookup('sequence', 'end=99999999999') }} => …`lookup('sequence')`: the sequence has too many numbers
        {{ ['x' * 10**6] * 10**4 }} => …render the template `{{ ['x' * 10**6] * 10**4 }}`: a value is too large
        {{ (['x' * 10**6] * 10**4) | string }} => …template `{{ (['x' * 10**6] * 10**4) | string }}`: a value is too large
        {% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a ~ n.a %}{% endfor %} => …xceed 4 MiB, a quarter of the limit; raise the limit with `--max-value`
        {% set n = namespace(a=[1]) %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %} => …xceed 4 MiB, a quarter of the limit; raise the limit with `--max-value`
        {% set n = namespace(a=[]) %}{% for i in range(9999) %}{% set n.a = [n.a] %}{% endfor %} => …xceed 4 MiB, a quarter of the limit; raise the limit with `--max-value`
        {% macro m(a) %}{{ m(a ~ a) }}{% endmacro %}{{ m('xxxxxxxx') }} => …xceed 4 MiB, a quarter of the limit; raise the limit with `--max-value`
        {% macro m() %}{{ m() }}{% endmacro %}{{ m() }} => …macro m() %}{{ m() }}{% endmacro %}{{ m() }}`: recursion limit exceeded
        {% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %} => … j in range(99999) %}x{% endfor %}{% endfor %}`: engine ran out of fuel
        {% set a = 'x' * 10**6 %}{% for i in range(99999) %}{{ a }}{% endfor %} => …tput of the template exceeds 16 MiB; raise the limit with `--max-value`
        {{ ('[' * 100000) | from_json }} => …e text is not valid JSON: recursion limit exceeded at line 1 column 128
        {{ ('a' * 50000) | regex_search('(a+)+$b') }} => None
        "#);
}

#[test]
fn expressions_that_would_never_end_end_in_an_error() {
    let nested = |count: usize, open: &str, close: &str| {
        Value::from(format!("{}{}", open.repeat(count), close.repeat(count)))
    };
    let path = |text: Value| Value::map([("eval", text)]);
    let mut deep = Value::from("x");
    for _ in 0..2_000 {
        deep = Value::map([("eval", Value::map([("not", deep)]))]);
    }
    let mut chain = String::new();
    for place in 0..20_000 {
        write!(chain, "::k{place}").unwrap();
    }
    let each = |inner: &str| format!("{{eval: $l, foreach: {inner}}}");
    let explosion = each(&each(&each("$item")));
    let ends = outcomes(vec![
        yaml(&explosion),
        yaml(
            "{eval: '::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*::.all::*'}",
        ),
        path(nested(20_000, "a[", "]")),
        path(chain.into()),
        deep,
        nested(10_000, "{% if x %}", "{% endif %}"),
        Value::from(format!("{{{{ {} }}}}", "-".repeat(10_000))),
        Value::from(format!(
            "{{{{ {}1{} }}}}",
            "[".repeat(10_000),
            "]".repeat(10_000)
        )),
    ]);
    insta::assert_snapshot!(ends.join("\n"), @r#"
        …the expression visits more than 200000 items
        …the expression visits more than 200000 items
        …]]]` is not an expression: the filters nest too deeply at character 131
        …99` is not an expression: the path has too many steps at character 5887
        False
        …f x %}{% if x %}{% if x %}…`: template exceeds maximum recursion limits
        …-----------------------------------…`: unexpected end of variable block
        …[[[[[[[[[[[[[[[[[[[[[[[[[[…`: template exceeds maximum recursion limits
        "#);
}
