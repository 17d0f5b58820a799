//! The template engine: renders Jinja2 templates in expressions to native values. Compiled templates are
//! cached in process-wide environments. Error messages name the undefined variable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minijinja::value::ValueKind;
use minijinja::{
    Environment, Error as JinjaError, ErrorKind, Output, State, UndefinedBehavior,
    Value as JinjaValue,
};

use crate::expr::budget;
use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::Scene;
use crate::expr::reads::Read;
use crate::expr::tracker::RenderNotes;
use crate::text::format_size;
use crate::value::Value;

use super::delimiters::Delimiters;
use super::engine_panic::without_panic;
use super::error::filter_error;
use super::lazy_object::LazyObject;
use super::preprocess::prepare_template;
use super::variables::{VariableObject, Variables};
use super::{
    header, limits, python_literal, python_methods, python_text, registry, test_functions,
};

/// The maximum number of engine steps of a rendering.
pub(super) const FUEL: u64 = 5_000_000;

/// The maximum number of compiled templates in an environment.
const MAX_COMPILED: usize = 20_000;

/// The first character of a template name whose remaining text is the template itself.
const INLINE_PREFIX: char = '\u{1}';

/// The maximum number of characters of a template in messages.
const MAX_SHOWN: usize = 200;

/// A template environment and the number of templates that it has compiled.
struct Engine {
    environment: Arc<Environment<'static>>,
    compiled: Arc<AtomicUsize>,
    undefined: UndefinedBehavior,
}

/// The engine in which every undefined value is an error at once.
static STRICT_ENGINE: LazyLock<Mutex<Engine>> =
    LazyLock::new(|| Mutex::new(Engine::new(UndefinedBehavior::Strict)));

/// The engine for templates that test whether something is defined.
///
/// A lookup in an undefined value is allowed; only its use is an error.
static CHAINABLE_ENGINE: LazyLock<Mutex<Engine>> =
    LazyLock::new(|| Mutex::new(Engine::new(UndefinedBehavior::Chainable)));

/// The output of a rendering so far.
#[derive(Debug, Default)]
struct OutputState {
    count: usize,
    last: Option<JinjaValue>,
    length: usize,
    total: usize,
}

impl OutputState {
    /// Counts output. Returns an error if the output exceeds its maximum size.
    fn add(&mut self, length: usize) -> Result<(), JinjaError> {
        self.total = self.total.saturating_add(length);
        if self.total > limits::max_value() {
            return Err(filter_error(format!(
                "the output of the template exceeds {}; raise the limit with `--max-value`",
                format_size(limits::max_value() as u64)
            )));
        }
        Ok(())
    }
}

/// Counts the plain text of a template that follows, which the engine writes by itself.
pub(super) fn count_output(state: &mut State, length: usize) -> Result<bool, JinjaError> {
    limits::check_budget()?;
    state
        .get_or_insert_extension(OutputState::default())
        .add(length)?;
    Ok(true)
}

impl Engine {
    fn new(undefined: UndefinedBehavior) -> Self {
        let compiled = Arc::new(AtomicUsize::new(0));
        let mut environment = environment(undefined, FUEL);
        let count = Arc::clone(&compiled);
        environment.set_loader(move |name| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(name.strip_prefix(INLINE_PREFIX).map(str::to_owned))
        });
        Self {
            environment: Arc::new(environment),
            compiled,
            undefined,
        }
    }

    /// Returns the environment, replaced by a new one if it is full.
    fn get(&mut self) -> Arc<Environment<'static>> {
        if self.compiled.load(Ordering::Relaxed) >= MAX_COMPILED {
            *self = Self::new(self.undefined);
        }
        Arc::clone(&self.environment)
    }
}

pub(super) fn environment(undefined: UndefinedBehavior, fuel: u64) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(undefined);
    environment.set_fuel(Some(fuel));
    environment.set_debug(false);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(python_methods::call);
    environment.set_formatter(format);
    registry::add(&mut environment);
    test_functions::add_tests(&mut environment);
    environment
}

/// Writes a value as Python's `str` does and keeps it in case it is the only one.
pub(super) fn format(
    output: &mut Output,
    state: &mut State,
    value: &JinjaValue,
) -> Result<(), JinjaError> {
    if value.is_undefined() {
        // The strict engine has refused all undefined values but that of an `if` without `else`, which is empty.
        return match state.undefined_behavior() {
            UndefinedBehavior::Strict => Ok(()),
            _ => Err(ErrorKind::UndefinedError.into()),
        };
    }
    if value.downcast_object_ref::<LazyObject>().is_some() {
        return write_checked(output, state, value, &value.to_string());
    }
    write_value(output, state, value)
}

/// Writes a value after evaluating it completely.
pub(super) fn write_value(
    output: &mut Output,
    state: &mut State,
    value: &JinjaValue,
) -> Result<(), JinjaError> {
    // The engine gives bytes that are UTF-8 as a text, too.
    let text = value.as_str().filter(|_| value.kind() != ValueKind::Bytes);
    if let Some(text) = text {
        return write_checked(output, state, value, text);
    }
    let text = python_text::python_text(&Variables::from_state(state)?, value)?;
    write_checked(output, state, value, &text)
}

/// Writes the text of a value, unless the output exceeds its maximum size.
fn write_checked(
    output: &mut Output,
    state: &mut State,
    value: &JinjaValue,
    text: &str,
) -> Result<(), JinjaError> {
    output.write_str(text)?;
    let emitted = state.get_or_insert_extension(OutputState::default());
    emitted.count += 1;
    emitted.add(text.len())?;
    emitted.length = text.len();
    emitted.last = Some(value.clone());
    Ok(())
}

impl Evaluator {
    /// Renders a template to a native value. The result has the marks of all values that the template
    /// accessed.
    pub(in crate::expr) fn template(&self, text: &str, scene: &Scene) -> Result<Value, Error> {
        let variables = Variables::new(self.clone(), scene.clone(), text);
        let (rendered, notes) = self.render_noted(text, &variables, render)?;
        let value = rendered.unwrap_or_default();
        let marks = value.marks();
        if notes.marks.sensitive || marks.sensitive {
            return Ok(value.data_if(notes.marks.data || marks.data).sensitive());
        }
        let value = match notes.external {
            Some(Value::External(external)) if external.value == value => Value::External(external),
            _ => value,
        };
        Ok(value.data_if(notes.marks.data || marks.data))
    }

    /// Renders a template and returns the result with the notes about it. None if a name is not defined and
    /// the context is not strict.
    pub(super) fn render_noted<T>(
        &self,
        text: &str,
        variables: &Arc<Variables>,
        render: fn(&str, &Arc<Variables>) -> Result<T, JinjaError>,
    ) -> Result<(Option<T>, RenderNotes), Error> {
        let scene = &variables.scene;
        if let Some(of) = scene.current.as_entity() {
            self.tracker().record_read(Read::Entity(of), None);
        }
        let outer = self.tracker().begin_notes();
        let rendered = match budget::check() {
            Ok(()) => without_panic(|| render(text.trim(), variables)),
            Err(error) => Err(variables.engine_error(error)),
        };
        variables.clear_cache();
        let notes = self.tracker().end_notes(outer);
        let rendered = rendered.map_err(|error| explain(&error, text, &notes));
        match budget::settle(rendered) {
            Ok(rendered) => Ok((Some(rendered), notes)),
            Err(error) => {
                if scene.context.strict || !matches!(error.innermost(), Error::Undefined { .. }) {
                    return Err(error);
                }
                Ok((None, notes))
            }
        }
    }
}

fn render(text: &str, variables: &Arc<Variables>) -> Result<Value, JinjaError> {
    let context = JinjaValue::from_object(VariableObject(Arc::clone(variables)));
    let syntax = |problem| JinjaError::new(ErrorKind::SyntaxError, problem);
    let (other_syntax, text) = header::split(text).map_err(syntax)?;
    if let Some((syntax, delimiters)) = other_syntax {
        let text = prepare_template(text, &delimiters);
        let mut environment = environment(UndefinedBehavior::Strict, FUEL);
        environment.set_syntax(syntax);
        let template = environment.template_from_str(&text)?;
        let captured = template.render_captured(context)?;
        return output_value(captured.output(), captured.state(), variables);
    }
    let engine = if tests_definedness(text) {
        &*CHAINABLE_ENGINE
    } else {
        &*STRICT_ENGINE
    };
    let text = prepare_template(text, &Delimiters::default());
    let environment = engine.lock().unwrap_or_else(PoisonError::into_inner).get();
    let template = environment.get_template(&format!("{INLINE_PREFIX}{text}"))?;
    let captured = template.render_captured(context)?;
    output_value(captured.output(), captured.state(), variables)
}

/// Whether a template tests if something is defined.
pub(super) fn tests_definedness(text: &str) -> bool {
    ["default", "defined", "d("]
        .iter()
        .any(|word| text.contains(word))
}

/// Returns the native value of the output: the only value itself, or the text parsed as a literal.
pub(super) fn output_value(
    output: &str,
    state: &State<'_, '_>,
    variables: &Arc<Variables>,
) -> Result<Value, JinjaError> {
    let emitted = state.get_extension::<OutputState>();
    let Some(emitted) = emitted.filter(|emitted| emitted.count > 0) else {
        return Ok(match output {
            "" => Value::Null,
            text => python_literal::native(text),
        });
    };
    match &emitted.last {
        Some(only) if emitted.count == 1 && emitted.length == output.len() => {
            match only.as_str() {
                // The output of filters such as `to_json` stays text.
                Some(text) if only.is_safe() => Ok(text.into()),
                Some(text) => Ok(python_literal::native(text)),
                None => variables.native_value(only),
            }
        }
        _ => Ok(python_literal::native(output)),
    }
}

/// Converts an engine error to an error of this module that names the undefined variable.
fn explain(error: &JinjaError, text: &str, notes: &RenderNotes) -> Error {
    let shown: String = text.trim().chars().take(MAX_SHOWN).collect();
    let template = if shown.len() < text.trim().len() {
        shown + "…"
    } else {
        shown
    };
    if let Some(error) = &notes.error {
        return error.clone();
    }
    if error.kind() == ErrorKind::UndefinedError {
        let missing = notes.missing.clone();
        let what = missing.unwrap_or_else(|| "an undefined value is used".to_owned());
        return Error::Undefined {
            message: what,
            template,
        };
    }
    let problem = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    let problem = match error.line() {
        Some(line) if text.contains('\n') => format!("{problem} (line {line})"),
        _ => problem,
    };
    Error::Template { template, problem }
}

#[cfg(test)]
mod tests {
    use crate::expr::fixture::evaluate_to_text;
    use crate::value::Value;

    fn table(templates: &[&str]) -> String {
        let line = |template: &&str| {
            let quoted = serde_json::to_string(&Value::from(*template)).unwrap();
            format!("{template} => {}", evaluate_to_text(&quoted))
        };
        templates.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of templates and what they give"
    )]
    fn templates_give_native_values() {
        let table = table(&[
            "{{ SELF.port }}",
            "{{ SELF.port + 1 }}",
            "{{ SELF.text }}",
            "{{ 1 }}{{ 2 }}",
            "[1, {{ SELF.port }}]",
            "{{ HOST.tags }}",
            "{{ HOST.tags }} x",
            "{{ HOST.m }} x",
            "{{ NODES.host.list[1].name }}",
            "{{ SELF.flag }}",
            "{{ none }}x",
            "{{ '' }}",
            "{% if false %}x{% endif %}",
            "{% if true %}{{ SELF.port }}{% endif %}",
            "{% for i in HOST.tags %}{{ i }}{% endfor %}",
            "{{ HOST.items }}",
            "{{ SELF.nope | default('d') }}",
            "{{ SELF.nope.nope | default('d') }}",
            "{{ nope is defined }}",
            "{{ HOST.m | to_json }}",
            "{{ '{\"a\": [1, true]}' | from_json }}",
            "{{ ' 1' }}",
            " {{ 1 }} ",
            "{{ '\"abc\"' }}",
            "{{ [1,2] | join(',') }}",
            "{{ 7 // 2 }} {{ 7 / 2 }}",
            "{{ 1.0 }}x",
            "{{ 2 ** 70 }}",
            "{'a': {{ SELF.port }}}",
            "#jinja2: variable_start_string: '[%', variable_end_string: '%]'\n[% SELF.port %]{{",
            "a\n{% if true %}\nb\n{% endif %}\nc",
            "{{ SELF.port | string }}",
            "{{ TOPOLOGY.inputs.who }} {{ ROOT.outputs.abs }} {{ TOPOLOGY.host.name }}",
            "{{ SELF.own.z }}",
            "{{ '.name' | eval }}",
            "{{ '::host::$k' | eval(k='ip') }}",
            "{{ '.targets' | eval | list }}",
            "{{ '.targets::host' | eval }} {{ ('.targets::host' | eval).ip }}",
            "{{ '::host::list' | eval(wantList=true) }}",
            "{{ __unfurl.to_label('a','b', sep='.') }}",
            "{{ lookup('env','HOME') }} {{ lookup('env','NOPE') or 'x' }}",
            "{{ lookup('unfurl', '::host::ip') }}",
            "{{ 'out.txt' | abspath('artifacts', true) }}",
            "{{ SELF.password }}",
            "{{ 'x' if false }}",
            "{{ SELF.login == 'me:hush-80' }}",
            "{{ {'a': SELF.port}['a'] }}",
            "{{ SELF.own == {'x': 1, 'y': 1, 'z': 2} }}",
            "{{ HOST.tags == ['a', 'b', 'c'] }}",
            "{{ 'a' in HOST.tags }} {{ 'k1' in HOST.m }} {{ HOST.tags | length }}",
            "{{ HOST.tags + ['d'] }}",
            "{{ HOST.m.items() | list }}",
            "{{ HOST.tags[-1] }} {{ HOST.tags[1:] }}",
        ]);
        insta::assert_snapshot!(table, @r#"
        {{ SELF.port }} => 80
        {{ SELF.port + 1 }} => 81
        {{ SELF.text }} => 12
        {{ 1 }}{{ 2 }} => 12
        [1, {{ SELF.port }}] => [1, 80]
        {{ HOST.tags }} => ['a', 'b', 'c']
        {{ HOST.tags }} x => "['a', 'b', 'c'] x"
        {{ HOST.m }} x => "{'k1': {'v': 1}, 'k2': {'v': 2}} x"
        {{ NODES.host.list[1].name }} => 'y'
        {{ SELF.flag }} => False
        {{ none }}x => 'Nonex'
        {{ '' }} => ''
        {% if false %}x{% endif %} => None
        {% if true %}{{ SELF.port }}{% endif %} => 80
        {% for i in HOST.tags %}{{ i }}{% endfor %} => 'abc'
        {{ HOST.items }} => error: `.items`: every map has a method of this name; write `['items']` for the entry of that name
        {{ SELF.nope | default('d') }} => 'd'
        {{ SELF.nope.nope | default('d') }} => 'd'
        {{ nope is defined }} => False
        {{ HOST.m | to_json }} => '{"k1": {"v": 1}, "k2": {"v": 2}}'
        {{ '{"a": [1, true]}' | from_json }} => {'a': [1, True]}
        {{ ' 1' }} => ' 1'
         {{ 1 }}  => 1
        {{ '"abc"' }} => '"abc"'
        {{ [1,2] | join(',') }} => [1, 2]
        {{ 7 // 2 }} {{ 7 / 2 }} => '3 3.5'
        {{ 1.0 }}x => '1.0x'
        {{ 2 ** 70 }} => 1180591620717411303424
        {'a': {{ SELF.port }}} => {'a': 80}
        #jinja2: variable_start_string: '[%', variable_end_string: '%]'
        [% SELF.port %]{{ => '80{{'
        a
        {% if true %}
        b
        {% endif %}
        c => 'a\n\nb\n\nc'
        {{ SELF.port | string }} => '80'
        {{ TOPOLOGY.inputs.who }} {{ ROOT.outputs.abs }} {{ TOPOLOGY.host.name }} => 'world 10.0.0.1 host'
        {{ SELF.own.z }} => 2
        {{ '.name' | eval }} => 'app'
        {{ '::host::$k' | eval(k='ip') }} => '10.0.0.1'
        {{ '.targets' | eval | list }} => ['host']
        {{ '.targets::host' | eval }} {{ ('.targets::host' | eval).ip }} => "NodeInstance('host') 10.0.0.1"
        {{ '::host::list' | eval(wantList=true) }} => [[{'name': 'x', 'n': 1}, {'name': 'y', 'n': 2}, {'name': 'x', 'n': 3}]]
        {{ __unfurl.to_label('a','b', sep='.') }} => 'a.b'
        {{ lookup('env','HOME') }} {{ lookup('env','NOPE') or 'x' }} => '/home/me x'
        {{ lookup('unfurl', '::host::ip') }} => '10.0.0.1'
        {{ 'out.txt' | abspath('artifacts', true) }} => '/e/artifacts/app/out.txt'
        {{ SELF.password }} => <<REDACTED>>
        {{ 'x' if false }} => None
        {{ SELF.login == 'me:hush-80' }} => <<REDACTED>>
        {{ {'a': SELF.port}['a'] }} => 80
        {{ SELF.own == {'x': 1, 'y': 1, 'z': 2} }} => True
        {{ HOST.tags == ['a', 'b', 'c'] }} => True
        {{ 'a' in HOST.tags }} {{ 'k1' in HOST.m }} {{ HOST.tags | length }} => 'True True 3'
        {{ HOST.tags + ['d'] }} => ['a', 'b', 'c', 'd']
        {{ HOST.m.items() | list }} => [['k1', {'v': 1}], ['k2', {'v': 2}]]
        {{ HOST.tags[-1] }} {{ HOST.tags[1:] }} => "c ['b', 'c']"
        "#);
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of templates and what they give"
    )]
    fn filters_and_tests_are_those_of_ansible() {
        let table = table(&[
            "{{ 'a=1' | regex_replace('a=(.)', 'b\\\\1') }}",
            "{{ 'abc' | regex_search('b.') }}",
            "{{ 'abc' | regex_search('z') }}",
            "{{ 'a1b2' | regex_findall('[0-9]') }}",
            "{{ '-a b' | regex_search('(?<!-)[a-z]') }} {{ 'abba' | regex_findall('(.)\\1') }}",
            "{{ 'my-name' is match('(?!-)[a-z-]+(?<!-)$') }} {{ 'aab' | regex_replace('(a)(?=b)', '<\\1>') }}",
            "{{ 'abc' | b64encode }} {{ 'YWJj' | b64decode }}",
            "{{ {'a':1} | combine({'b':2}) }}",
            "{{ {'a':{'x':1}} | combine({'a':{'y':2}}, recursive=true) }}",
            "{{ true | ternary('y','n') }}",
            "{{ 'a b' | quote }}",
            "{{ '/a/b.c' | basename }} {{ '/a/b.c' | dirname }}",
            "{{ 'x' | hash('sha1') }}",
            "{{ 'x' | md5 }} {{ '' | hash('md5') }}",
            "{{ 'abc' is match('a') }} {{ 'abc' is match('b') }} {{ 'abc' is search('c') }}",
            "{{ '12' | int }} {{ 'x' | int }} {{ '12' | bool }} {{ 'yes' | bool }}",
            "{{ HOST.tags | map('upper') | list }}",
            "{{ HOST.m | dict2items }}",
            "{{ [{'key':'a','value':1}] | items2dict }}",
            "{{ 'a: 1' | from_yaml }}",
            "{{ [1,2] | union([2,3]) }} {{ [1,2] | difference([2,3]) }} {{ [1,2] | intersect([2,3]) }}",
            "{{ '3 GB' | human_to_bytes }}",
            "{{ 'http://a.b/c?d' | urlsplit('hostname') }}",
            "{{ [[1,2],[3]] | flatten }}",
            "{{ 'a\\nb' | indent(2) }}",
            "{{ HOST.list | selectattr('name', 'equalto', 'x') | map(attribute='n') | list }}",
            "{{ '1.10.0' is version('1.9', '>') }}",
            "{{ HOST.list | map(attribute='n') | sum }}",
            "{{ HOST.m | to_nice_json }}",
            "{{ 'x' | sensitive }}",
            "{{ HOST.list | groupby('name') | list | length }}",
            "{{ 'Hello World' | truncate(5) }} {{ 'a b c' | wordcount }} {{ 'a b' | urlencode }}",
            "{{ 3 | pow(2) }} {{ '7' | int(default=3) }} {{ 'x' | center(5) }}|",
            "{{ [1, 2] | random(seed='a') in [1, 2] }}",
        ]);
        insta::assert_snapshot!(table, @r#"
        {{ 'a=1' | regex_replace('a=(.)', 'b\\1') }} => 'b\\1'
        {{ 'abc' | regex_search('b.') }} => 'bc'
        {{ 'abc' | regex_search('z') }} => None
        {{ 'a1b2' | regex_findall('[0-9]') }} => ['1', '2']
        {{ '-a b' | regex_search('(?<!-)[a-z]') }} {{ 'abba' | regex_findall('(.)\1') }} => "b ['b']"
        {{ 'my-name' is match('(?!-)[a-z-]+(?<!-)$') }} {{ 'aab' | regex_replace('(a)(?=b)', '<\1>') }} => 'True a<a>b'
        {{ 'abc' | b64encode }} {{ 'YWJj' | b64decode }} => 'YWJj abc'
        {{ {'a':1} | combine({'b':2}) }} => {'a': 1, 'b': 2}
        {{ {'a':{'x':1}} | combine({'a':{'y':2}}, recursive=true) }} => {'a': {'x': 1, 'y': 2}}
        {{ true | ternary('y','n') }} => 'y'
        {{ 'a b' | quote }} => "'a b'"
        {{ '/a/b.c' | basename }} {{ '/a/b.c' | dirname }} => 'b.c /a'
        {{ 'x' | hash('sha1') }} => '11f6ad8ec52a2984abaafd7c3b516503785c2072'
        {{ 'x' | md5 }} {{ '' | hash('md5') }} => '9dd4e461268c8034f5c8564e155c67a6 d41d8cd98f00b204e9800998ecf8427e'
        {{ 'abc' is match('a') }} {{ 'abc' is match('b') }} {{ 'abc' is search('c') }} => 'True False True'
        {{ '12' | int }} {{ 'x' | int }} {{ '12' | bool }} {{ 'yes' | bool }} => '12 0 False True'
        {{ HOST.tags | map('upper') | list }} => ['A', 'B', 'C']
        {{ HOST.m | dict2items }} => [{'key': 'k1', 'value': {'v': 1}}, {'key': 'k2', 'value': {'v': 2}}]
        {{ [{'key':'a','value':1}] | items2dict }} => {'a': 1}
        {{ 'a: 1' | from_yaml }} => {'a': 1}
        {{ [1,2] | union([2,3]) }} {{ [1,2] | difference([2,3]) }} {{ [1,2] | intersect([2,3]) }} => '[1, 2, 3] [1] [2]'
        {{ '3 GB' | human_to_bytes }} => 3221225472
        {{ 'http://a.b/c?d' | urlsplit('hostname') }} => 'a.b'
        {{ [[1,2],[3]] | flatten }} => [1, 2, 3]
        {{ 'a\nb' | indent(2) }} => 'a\\nb'
        {{ HOST.list | selectattr('name', 'equalto', 'x') | map(attribute='n') | list }} => [1, 3]
        {{ '1.10.0' is version('1.9', '>') }} => True
        {{ HOST.list | map(attribute='n') | sum }} => 6
        {{ HOST.m | to_nice_json }} => '{\n    "k1": {\n        "v": 1\n    },\n    "k2": {\n        "v": 2\n    }\n}'
        {{ 'x' | sensitive }} => <<REDACTED>>
        {{ HOST.list | groupby('name') | list | length }} => 2
        {{ 'Hello World' | truncate(5) }} {{ 'a b c' | wordcount }} {{ 'a b' | urlencode }} => 'He... 3 a%20b'
        {{ 3 | pow(2) }} {{ '7' | int(default=3) }} {{ 'x' | center(5) }}| => '9.0 7   x  |'
        {{ [1, 2] | random(seed='a') in [1, 2] }} => True
        "#);
    }

    #[test]
    fn what_is_wrong_with_a_template_is_said() {
        let table = table(&[
            "{{ SELF.nope }}",
            "{{ SELF.nope.nope }}",
            "{{ undefinedvar }}",
            "{% if nope %}x{% endif %}",
            "{{ NODES.nobody.x }}",
            "{{ SELF.port + }}",
            "a\n{{ 1 | nofilter }}",
            "{{ 1 / 0 }}",
            "{{ lookup('pipe', 'ls') }}",
            "{{ nofunction() }}",
            "{% for i in range(10000) %}{% for i in range(10000) %}{% endfor %}{% endfor %}",
            "{{ '::a[' | eval }}",
            "{% include 'other' %}",
            "#jinja2: what: 1\n{{ 1 }}",
            "{{ SELF.nope | default(other) }}",
            "{% for i in SELF.nope %}{% endfor %}",
            "{{ __unfurl.nothing() }}",
            "{% for k in SELF.items %}{% endfor %}",
            "{{ HOST.m.keys() | list }} {{ HOST.m['k1'] }} {% for k, v in HOST.m.items() %}{{ k }}{% endfor %}",
        ]);
        insta::assert_snapshot!(table, @r#"
        {{ SELF.nope }} => error: `nope` is not defined on `::app` in the template `{{ SELF.nope }}`
        {{ SELF.nope.nope }} => error: `nope` is not defined on `::app` in the template `{{ SELF.nope.nope }}`
        {{ undefinedvar }} => error: `undefinedvar` is not defined in the template `{{ undefinedvar }}`
        {% if nope %}x{% endif %} => error: `nope` is not defined in the template `{% if nope %}x{% endif %}`
        {{ NODES.nobody.x }} => error: unknown node `nobody` in the template `{{ NODES.nobody.x }}`
        {{ SELF.port + }} => error: cannot render the template `{{ SELF.port + }}`: unexpected end of variable block
        a
        {{ 1 | nofilter }} => error: cannot render the template `a
        {{ 1 | nofilter }}`: filter nofilter is unknown (line 2)
        {{ 1 / 0 }} => error: cannot render the template `{{ 1 / 0 }}`: unable to calculate 1 / 0
        {{ lookup('pipe', 'ls') }} => error: `pipe` runs a program while planning; allow it with `--allow pipe`
        {{ nofunction() }} => error: cannot render the template `{{ nofunction() }}`: nofunction is unknown
        {% for i in range(10000) %}{% for i in range(10000) %}{% endfor %}{% endfor %} => error: cannot render the template `{% for i in range(10000) %}{% for i in range(10000) %}{% endfor %}{% endfor %}`: engine ran out of fuel
        {{ '::a[' | eval }} => error: `::a[` is not an expression: a `]` is missing at character 5
        {% include 'other' %} => error: cannot render the template `{% include 'other' %}`: tried to include non-existing template 'other'
        #jinja2: what: 1
        {{ 1 }} => error: cannot render the template `#jinja2: what: 1
        {{ 1 }}`: its `#jinja2:` header has the unknown option `what`
        {{ SELF.nope | default(other) }} => error: `other` is not defined in the template `{{ SELF.nope | default(other) }}`
        {% for i in SELF.nope %}{% endfor %} => error: `nope` is not defined on `::app` in the template `{% for i in SELF.nope %}{% endfor %}`
        {{ __unfurl.nothing() }} => error: cannot render the template `{{ __unfurl.nothing() }}`: there is no function `nothing`
        {% for k in SELF.items %}{% endfor %} => error: `.items`: every map has a method of this name; write `.items()` to call it
        {{ HOST.m.keys() | list }} {{ HOST.m['k1'] }} {% for k, v in HOST.m.items() %}{{ k }}{% endfor %} => "['k1', 'k2'] {'v': 1} k1k2"
        "#);
    }
}
