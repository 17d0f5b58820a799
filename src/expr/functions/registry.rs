//! The registry of expression functions: maps names to implementations and decides which functions a
//! sandboxed evaluation may call.

use std::cmp::Ordering;

use crate::expr::error::Error;
use crate::expr::evaluator::Evaluator;
use crate::expr::lazy::LazyValue;

use super::call::{ExpressionFunction, FunctionCall};
use super::{
    arithmetic, control, env, files, generate, image, logic, port, scalar, strings, tosca, values,
};

/// Returns the function with a name.
pub(in crate::expr) fn find(name: &str) -> Option<ExpressionFunction> {
    sandboxed_function(name).or_else(|| unrestricted_function(name))
}

impl Evaluator {
    /// Returns an error for a function that a sandboxed evaluator does not allow.
    pub(in crate::expr) fn check_function_allowed(&self, function: &str) -> Result<(), Error> {
        if self.is_sandboxed() && sandboxed_function(function).is_none() {
            return Err(Error::NotInSandbox {
                function: function.to_owned(),
            });
        }
        Ok(())
    }
}

/// Returns a function that reads nothing outside the model.
fn sandboxed_function(name: &str) -> Option<ExpressionFunction> {
    let function: ExpressionFunction = match name {
        "if" => logic::if_else,
        "and" => logic::and,
        "or" => logic::or,
        "not" => logic::not,
        "eq" => |call| logic::compare_equality(call, true),
        "ne" => |call| logic::compare_equality(call, false),
        "lt" => |call| logic::compare(call, Ordering::is_lt),
        "le" => |call| logic::compare(call, Ordering::is_le),
        "gt" => |call| logic::compare(call, Ordering::is_gt),
        "ge" => |call| logic::compare(call, Ordering::is_ge),
        "add" => arithmetic::add,
        "sub" => arithmetic::sub,
        "mul" => arithmetic::mul,
        "div" | "truediv" => arithmetic::div,
        "floordiv" => arithmetic::floordiv,
        "mod" => arithmetic::modulo,
        "pow" => arithmetic::pow,
        "foreach" => control::foreach,
        "q" => control::quote,
        "is_function_defined" => is_function_defined,
        "template" => control::template,
        "validate_json" => control::validate_json,
        "get_input" => tosca::get_input,
        "get_property" => tosca::get_property,
        "get_attribute" => tosca::get_attribute,
        "get_nodes_of_type" => tosca::get_nodes_of_type,
        "find_connection" => tosca::find_connection,
        "concat" => strings::concat,
        "token" => strings::token,
        "urljoin" => strings::urljoin,
        "to_label" | "to_dns_label" | "to_kubernetes_label" | "to_googlecloud_label" => {
            strings::label
        }
        "_generate" | "generate_string" => generate::generate,
        "scalar" => scalar::scalar,
        "scalar_value" => scalar::scalar_value,
        "portspec" => port::portspec,
        "sensitive" => values::sensitive,
        _ => return None,
    };
    Some(function)
}

/// Returns a function that reads outside the model or is unsuitable for untrusted expressions.
fn unrestricted_function(name: &str) -> Option<ExpressionFunction> {
    let function: ExpressionFunction = match name {
        "lookup" => control::lookup,
        "get_artifact" => tosca::get_artifact,
        "get_env" => env::get_env,
        "has_env" => env::has_env,
        "to_env" => env::to_env,
        "file" => files::file,
        "tempfile" => files::tempfile,
        "abspath" | "path" => files::abspath,
        "get_dir" => files::get_dir,
        "container_image" => image::container_image,
        "local" | "secret" => values::context_value,
        "get_secret" => values::backend_secret,
        "external" => values::external,
        "get_ensemble_metadata" => values::metadata,
        "_arguments" => values::arguments,
        "_left_out" => values::removed_secret,
        "python" | "kubectl" => values::unsupported_python,
        _ => return None,
    };
    Some(function)
}

fn is_function_defined(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let name = call.value()?;
    let defined = name.as_str().is_some_and(|name| find(name).is_some());
    Ok(LazyValue::Value(defined.into()))
}

#[cfg(test)]
mod tests {
    use crate::expr::fixture::evaluate_to_text;

    fn table(expressions: &[&str]) -> String {
        let line = |expression: &&str| format!("{expression} => {}", evaluate_to_text(expression));
        expressions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of expressions and what they give"
    )]
    fn logic_and_control_give_what_upstreams_give() {
        let table = table(&[
            "{eval: {if: $a, then: $b, else: no}, vars: {a: true, b: yes!}}",
            "{eval: {if: $a, then: 1, else: {q: two}}, vars: {a: false}}",
            "{eval: {and: [$true, '::host::ip']}}",
            "{eval: {or: [$false, '::host::ip']}}",
            "{eval: {not: $true}}",
            "{eval: {eq: [1, 1]}}",
            "{eval: {eq: [{eval: '::host::ip'}, 10.0.0.1]}}",
            "{eval: {ne: [1, 2]}}",
            "{eval: {gt: [3, 2]}}",
            "{eval: {le: [3, 2]}}",
            "{eval: {le: [3, a]}}",
            "{q: {eval: '::host::ip'}}",
            "{eval: {get_nodes_of_type: unfurl.nodes.Generic}, foreach: .name}",
            "{eval: '::host::tags', foreach: $item}",
            "{eval: '::host::list', foreach: {key: '$item::name', value: '$item::n'}}",
            "{eval: '::host::list', foreach: {eval: {if: {eq: [$index, 1]}, then: $break, else: '$item::n'}}}",
            "{eval: '::host::list', foreach: {eval: {if: {eq: [{eval: $index}, 1]}, then: $continue, else: '$item::n'}}}",
            "{eval: '::host', select: ip}",
            "{eval: '::host::list', select: name}",
            "{eval: '::host::nope', foreach: $item}",
            "{eval: {template: '{% if x %}yes{% else %}no{% endif %}'}, vars: {x: 1}}",
            "{eval: {is_function_defined: nope}}",
            "{eval: {is_function_defined: concat}}",
            "{eval: {validate_json: [{a: 1}, {type: object}]}}",
            "{eval: {validate_json: [{a: 1}, {required: [b]}]}}",
            "{eval: $foo::bar, vars: {foo: {bar: 9}}}",
            "{eval: '::host::$k', vars: {k: ip}}",
            "{eval: '::host::nope', strict: required}",
            "{eval: {nofunc: 1}}",
            "{eval: {concat: [a], foreach: $item}}",
            "{eval: $a, vars: {a: {eval: $a}}}",
        ]);
        insta::assert_snapshot!(table, @"
        {eval: {if: $a, then: $b, else: no}, vars: {a: true, b: yes!}} => 'yes!'
        {eval: {if: $a, then: 1, else: {q: two}}, vars: {a: false}} => 'two'
        {eval: {and: [$true, '::host::ip']}} => '10.0.0.1'
        {eval: {or: [$false, '::host::ip']}} => '10.0.0.1'
        {eval: {not: $true}} => False
        {eval: {eq: [1, 1]}} => True
        {eval: {eq: [{eval: '::host::ip'}, 10.0.0.1]}} => True
        {eval: {ne: [1, 2]}} => True
        {eval: {gt: [3, 2]}} => True
        {eval: {le: [3, 2]}} => False
        {eval: {le: [3, a]}} => error: `le`: cannot compare an integer and a string
        {q: {eval: '::host::ip'}} => {'eval': '::host::ip'}
        {eval: {get_nodes_of_type: unfurl.nodes.Generic}, foreach: .name} => ['host', 'app']
        {eval: '::host::tags', foreach: $item} => ['a', 'b', 'c']
        {eval: '::host::list', foreach: {key: '$item::name', value: '$item::n'}} => [{'x': 3, 'y': 2}]
        {eval: '::host::list', foreach: {eval: {if: {eq: [$index, 1]}, then: $break, else: '$item::n'}}} => [1, 2, 3]
        {eval: '::host::list', foreach: {eval: {if: {eq: [{eval: $index}, 1]}, then: $continue, else: '$item::n'}}} => [1, 3]
        {eval: '::host', select: ip} => '10.0.0.1'
        {eval: '::host::list', select: name} => ['x', 'y', 'x']
        {eval: '::host::nope', foreach: $item} => []
        {eval: {template: '{% if x %}yes{% else %}no{% endif %}'}, vars: {x: 1}} => 'yes'
        {eval: {is_function_defined: nope}} => False
        {eval: {is_function_defined: concat}} => True
        {eval: {validate_json: [{a: 1}, {type: object}]}} => True
        {eval: {validate_json: [{a: 1}, {required: [b]}]}} => False
        {eval: $foo::bar, vars: {foo: {bar: 9}}} => 9
        {eval: '::host::$k', vars: {k: ip}} => '10.0.0.1'
        {eval: '::host::nope', strict: required} => error: the expression '::host::nope' must return results
        {eval: {nofunc: 1}} => error: {'nofunc': 1} is a map without a known function name
        {eval: {concat: [a], foreach: $item}} => error: `concat`: `foreach` belongs beside `eval`, one level up
        {eval: $a, vars: {a: {eval: $a}}} => error: expressions refer to each other more than 60 levels deep
        ");
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of expressions and what they give"
    )]
    fn other_functions_give_what_upstreams_give() {
        let table = table(&[
            "{eval: {add: [1, 2]}}",
            "{eval: {sub: [5, 2]}}",
            "{eval: {mul: [5, 2]}}",
            "{eval: {div: [5, 2]}}",
            "{eval: {floordiv: [-5, 2]}}",
            "{eval: {mod: [-5, 2]}}",
            "{eval: {pow: [2, 8]}}",
            "{eval: {div: [5, 0]}}",
            "{concat: [a, {eval: '::host::ip'}, c]}",
            "{eval: {concat: [a, b], sep: '-'}}",
            "{token: ['a:b:c', ':', 1]}",
            "{get_env: [NOPE, dflt]}",
            "{get_env: HOME}",
            "{has_env: HOME}",
            "{eval: {to_env: {A: '${HOME}/x', ^PATH: /opt, +HO*: null, B: true}}}",
            "{eval: {to_env: {A: x}, update_os_environ: false}}",
            "{eval: {to_env: {A: x}, update_os_environ: true}}",
            "{get_input: who}",
            "{get_input: num}",
            "{get_input: [nope, {eval: .name}]}",
            "{get_input: nope}",
            "{get_property: [app, port]}",
            "{get_attribute: [SELF, port]}",
            "{get_attribute: [HOST, ip]}",
            "{get_attribute: [HOST, m, k1, v]}",
            "{get_attribute: [host, list, 1, name]}",
            "{eval: {urljoin: [http, localhost, 8080, p, q, f]}}",
            "{eval: {urljoin: [http, localhost, 80, path]}}",
            "{eval: {to_label: 1 convert me, replace: _, max: 10, case: upper, digestlen: 0}}",
            "{eval: {to_label: [longprefix, name, suffix], sep: '.', max: 20}}",
            "{eval: {to_dns_label: A_b c.d}}",
            "{eval: {to_kubernetes_label: a b/c}}",
            "{eval: {to_googlecloud_label: A b}}",
            "{eval: {scalar_value: 6 mb, unit: gb, round: 2}}",
            "{eval: {scalar_value: 2 GB, unit: MB}}",
            "{eval: {scalar: 4 gb}}",
            "{eval: {ge: [{eval: {scalar: 4 GB}}, {eval: {scalar: 4000 MB}}]}}",
            "{eval: {eq: [{eval: {scalar: 4 GB}}, {eval: {scalar: 4000 MB}}]}}",
            "{eval: {gt: [{eval: {scalar: 4 GB}}, 1]}}",
            "{eval: {eq: [{eval: {scalar: 1 GB}}, {eval: {scalar: 1 GHz}}]}}",
            "{eval: {portspec: '80:8080/tcp'}, select: source}",
            "{eval: {lookup: {env: [NOPE_X]}}}",
            "{eval: {lookup: {pipe: ls}}}",
            "{eval: {abspath: foo.txt}}",
            "{eval: {abspath: [x, artifacts, true]}}",
            "{eval: {get_dir: ensemble}}",
            "{eval: {get_dir: nowhere}}",
            "{eval: {container_image: 'reg.example.com/a/B:1.0'}}",
            "{eval: {file: w.txt, dir: /tmp, contents: written}, select: path}",
            "{eval: {file: w.txt, dir: /tmp, contents: {a: 1}}, select: contents}",
            "{eval: {sensitive: hush}}",
            "{concat: [a, {eval: {sensitive: hush}}]}",
            "{_generate: {preset: number, len: 4}}",
        ]);
        insta::assert_snapshot!(table, @r#"
        {eval: {add: [1, 2]}} => 3
        {eval: {sub: [5, 2]}} => 3
        {eval: {mul: [5, 2]}} => 10
        {eval: {div: [5, 2]}} => 2.5
        {eval: {floordiv: [-5, 2]}} => -3
        {eval: {mod: [-5, 2]}} => 1
        {eval: {pow: [2, 8]}} => 256
        {eval: {div: [5, 0]}} => error: `div`: cannot divide by zero
        {concat: [a, {eval: '::host::ip'}, c]} => 'a10.0.0.1c'
        {eval: {concat: [a, b], sep: '-'}} => 'a-b'
        {token: ['a:b:c', ':', 1]} => 'b'
        {get_env: [NOPE, dflt]} => 'dflt'
        {get_env: HOME} => '/home/me'
        {has_env: HOME} => True
        {eval: {to_env: {A: '${HOME}/x', ^PATH: /opt, +HO*: null, B: true}}} => {'A': '/home/me/x', 'PATH': '/opt:/bin', 'HOME': '/home/me', 'B': 'true'}
        {eval: {to_env: {A: x}, update_os_environ: false}} => {'A': 'x'}
        {eval: {to_env: {A: x}, update_os_environ: true}} => error: `to_env`: cannot change the environment of this process (`update_os_environ`): all tasks share it and run at the same time; set the map as the `environment` of the operations that need it
        {get_input: who} => 'world'
        {get_input: num} => 3
        {get_input: [nope, {eval: .name}]} => 'app'
        {get_input: nope} => error: undefined input `nope`
        {get_property: [app, port]} => 80
        {get_attribute: [SELF, port]} => 80
        {get_attribute: [HOST, ip]} => '10.0.0.1'
        {get_attribute: [HOST, m, k1, v]} => 1
        {get_attribute: [host, list, 1, name]} => 'y'
        {eval: {urljoin: [http, localhost, 8080, p, q, f]}} => 'http://localhost:8080/p?q#f'
        {eval: {urljoin: [http, localhost, 80, path]}} => 'http://localhost/path'
        {eval: {to_label: 1 convert me, replace: _, max: 10, case: upper, digestlen: 0}} => 'X1CON_RTME'
        {eval: {to_label: [longprefix, name, suffix], sep: '.', max: 20}} => 'longpr.name.suffixRC'
        {eval: {to_dns_label: A_b c.d}} => 'a--b--c--d'
        {eval: {to_kubernetes_label: a b/c}} => 'a__b__c'
        {eval: {to_googlecloud_label: A b}} => 'a__b'
        {eval: {scalar_value: 6 mb, unit: gb, round: 2}} => 0.01
        {eval: {scalar_value: 2 GB, unit: MB}} => 2000
        {eval: {scalar: 4 gb}} => '4 GB'
        {eval: {ge: [{eval: {scalar: 4 GB}}, {eval: {scalar: 4000 MB}}]}} => True
        {eval: {eq: [{eval: {scalar: 4 GB}}, {eval: {scalar: 4000 MB}}]}} => True
        {eval: {gt: [{eval: {scalar: 4 GB}}, 1]}} => True
        {eval: {eq: [{eval: {scalar: 1 GB}}, {eval: {scalar: 1 GHz}}]}} => False
        {eval: {portspec: '80:8080/tcp'}, select: source} => 80
        {eval: {lookup: {env: [NOPE_X]}}} => ''
        {eval: {lookup: {pipe: ls}}} => error: `pipe` runs a program while planning; allow it with `--allow pipe`
        {eval: {abspath: foo.txt}} => '/e/foo.txt'
        {eval: {abspath: [x, artifacts, true]}} => '/e/artifacts/app/x'
        {eval: {get_dir: ensemble}} => '/e'
        {eval: {get_dir: nowhere}} => error: `get_dir`: the location `nowhere` is not known
        {eval: {container_image: 'reg.example.com/a/B:1.0'}} => 'reg.example.com/a/b:1.0'
        {eval: {file: w.txt, dir: /tmp, contents: written}, select: path} => '/tmp/w.txt'
        {eval: {file: w.txt, dir: /tmp, contents: {a: 1}}, select: contents} => '{\n  "a": 1\n}'
        {eval: {sensitive: hush}} => <<REDACTED>>
        {concat: [a, {eval: {sensitive: hush}}]} => <<REDACTED>>
        {_generate: {preset: number, len: 4}} => '6048'
        "#);
    }

    #[test]
    #[expect(
        clippy::too_many_lines,
        reason = "a table of expressions and what they give"
    )]
    fn what_depends_on_kinds_of_values_gives_what_upstreams_give() {
        let table = table(&[
            "{eval: {if: [0, 1], then: {q: a}, else: {q: b}}}",
            "{eval: {if: [1, 0], then: {q: a}, else: {q: b}}}",
            "{eval: {not: [0, 1]}}",
            "{eval: {if: null, then: {q: a}, else: {q: b}}}",
            "{eval: {eq: [1, true]}}",
            "{eval: {ne: [0, false]}}",
            "{eval: {eq: [1, '1']}}",
            "{eval: {mul: [a, 3]}}",
            "{eval: {mul: [2, [1, x]]}}",
            "{eval: {mul: [-1, a]}}",
            "{eval: {mul: ['', 9223372036854775807]}}",
            "{eval: {mul: [ab, 9223372036854775807]}}",
            "{eval: {mul: [a, b]}}",
            "{eval: {pow: [2, -1]}}",
            "{eval: {pow: [0, -1]}}",
            "{eval: {pow: [-8, 0.5]}}",
            "{eval: '0', select: .name}",
            "{eval: '-1', select: .name}",
            "{eval: {portspec: '80-90:8080-8090'}, select: source_range}",
            "{eval: {portspec: '80-90:8080-8090/udp'}, select: spec}",
            "{eval: {scalar_value: 4.6 MB}}",
            "{eval: {scalar_value: 4.6 MB, round: 0}}",
            "{eval: {scalar_value: 4 MB, round: 1}}",
            "{eval: {scalar_value: 4 MB, unit: GB}}",
            "{eval: {scalar_value: 4 GB, unit: MiB}}",
            "{eval: {scalar_value: 90 s, unit: m}}",
            "{eval: {scalar_value: 4.6 MB, round: ceil}}",
            "{eval: {scalar_value: 4.6 MB, round: floor}}",
            "{eval: {scalar_value: 4.6}}",
            "{eval: '::root::inputs'}",
            "{eval: '::root::inputs::*'}",
            "{eval: {foreach: {key: $key, value: $item}}, vars: {start: {eval: '::root::inputs'}}}",
        ]);
        insta::assert_snapshot!(table, @"
        {eval: {if: [0, 1], then: {q: a}, else: {q: b}}} => 'b'
        {eval: {if: [1, 0], then: {q: a}, else: {q: b}}} => 'a'
        {eval: {not: [0, 1]}} => True
        {eval: {if: null, then: {q: a}, else: {q: b}}} => 'b'
        {eval: {eq: [1, true]}} => True
        {eval: {ne: [0, false]}} => False
        {eval: {eq: [1, '1']}} => False
        {eval: {mul: [a, 3]}} => 'aaa'
        {eval: {mul: [2, [1, x]]}} => [1, 'x', 1, 'x']
        {eval: {mul: [-1, a]}} => ''
        {eval: {mul: ['', 9223372036854775807]}} => ''
        {eval: {mul: [ab, 9223372036854775807]}} => error: `mul`: the repeated text or list would be longer than the limit
        {eval: {mul: [a, b]}} => error: `mul`: takes two numbers, not a string and a string
        {eval: {pow: [2, -1]}} => 0.5
        {eval: {pow: [0, -1]}} => error: `pow`: the result is not a finite number
        {eval: {pow: [-8, 0.5]}} => error: `pow`: the result is not a finite number
        {eval: '0', select: .name} => 'app'
        {eval: '-1', select: .name} => 'root'
        {eval: {portspec: '80-90:8080-8090'}, select: source_range} => ['80', '90']
        {eval: {portspec: '80-90:8080-8090/udp'}, select: spec} => '8080-8090:80-90/udp'
        {eval: {scalar_value: 4.6 MB}} => 5
        {eval: {scalar_value: 4.6 MB, round: 0}} => 5.0
        {eval: {scalar_value: 4 MB, round: 1}} => 4
        {eval: {scalar_value: 4 MB, unit: GB}} => 0.004
        {eval: {scalar_value: 4 GB, unit: MiB}} => 3815
        {eval: {scalar_value: 90 s, unit: m}} => 2
        {eval: {scalar_value: 4.6 MB, round: ceil}} => 5
        {eval: {scalar_value: 4.6 MB, round: floor}} => 4
        {eval: {scalar_value: 4.6}} => 5
        {eval: '::root::inputs'} => {'who': 'world', 'num': 3}
        {eval: '::root::inputs::*'} => ['world', 3]
        {eval: {foreach: {key: $key, value: $item}}, vars: {start: {eval: '::root::inputs'}}} => {'who': 'world', 'num': 3}
        ");
    }

    #[test]
    fn files_are_written_as_upstream_writes_them() {
        let table = table(&[
            "{eval: {file: w.txt, contents: written}, select: contents}",
            "{eval: {file: w.txt, contents: 5}, select: contents}",
            "{eval: {file: w.txt, contents: null}, select: contents}",
            "{eval: {file: w.txt, contents: {b: 1, a: [true, null]}}, select: contents}",
            "{eval: {file: w.json, contents: {b: 1, a: 2}}, select: contents}",
            "{eval: {file: w.txt, contents: text, encoding: json}, select: contents}",
            "{eval: {file: w.env, contents: {B: 1, A: it's, C: true}}, select: contents}",
            "{eval: {file: w, contents: {B: x}, encoding: env}, select: contents}",
            "{eval: {file: w, dir: sub, contents: x}, select: path}",
            "{eval: {tempfile: {b: 1, a: 2}, suffix: .env}, select: contents}",
            "{eval: {tempfile: null}, select: contents}",
        ]);
        insta::assert_snapshot!(table, @r#"
        {eval: {file: w.txt, contents: written}, select: contents} => 'written'
        {eval: {file: w.txt, contents: 5}, select: contents} => '5'
        {eval: {file: w.txt, contents: null}, select: contents} => ''
        {eval: {file: w.txt, contents: {b: 1, a: [true, null]}}, select: contents} => '{\n  "a": [\n    true,\n    null\n  ],\n  "b": 1\n}'
        {eval: {file: w.json, contents: {b: 1, a: 2}}, select: contents} => '{\n  "b": 1,\n  "a": 2\n}'
        {eval: {file: w.txt, contents: text, encoding: json}, select: contents} => '"text"'
        {eval: {file: w.env, contents: {B: 1, A: it's, C: true}}, select: contents} => 'B=\'1\'\nA="it\'s"\nC=\'True\''
        {eval: {file: w, contents: {B: x}, encoding: env}, select: contents} => "B='x'"
        {eval: {file: w, dir: sub, contents: x}, select: path} => '/e/sub/w'
        {eval: {tempfile: {b: 1, a: 2}, suffix: .env}, select: contents} => "b='1'\na='2'"
        {eval: {tempfile: null}, select: contents} => ''
        "#);
    }

    #[test]
    fn map_value_leaves_what_was_evaluated_already() {
        let table = table(&[
            "'{{ {\"eval\": \"::host::ip\"} | map_value }}'",
            "'{{ (\"{\" ~ \"{ 1 + 1 }\" ~ \"}\") | map_value }}'",
            "{eval: '{{ x | map_value }}', vars: {x: '{{ \"{\" ~ \"{ 1 + 1 }\" ~ \"}\" }}'}}",
            "{eval: '{{ [x] | map_value }}', vars: {x: '{{ \"{\" ~ \"{ 1 + 1 }\" ~ \"}\" }}'}}",
            "{eval: '{{ {\"a\": x} | map_value }}', vars: {x: {q: '{{ 1 }}'}}}",
            "{eval: '{{ x | map_value }}', vars: {x: {q: {eval: .name}}}}",
            "{eval: '{{ [\"\" | from_yaml_all, \"# no\" | from_yaml_all, none | from_yaml_all] }}'}",
        ]);
        insta::assert_snapshot!(table, @r##"
        '{{ {"eval": "::host::ip"} | map_value }}' => '10.0.0.1'
        '{{ ("{" ~ "{ 1 + 1 }" ~ "}") | map_value }}' => 2
        {eval: '{{ x | map_value }}', vars: {x: '{{ "{" ~ "{ 1 + 1 }" ~ "}" }}'}} => '{{ 1 + 1 }}'
        {eval: '{{ [x] | map_value }}', vars: {x: '{{ "{" ~ "{ 1 + 1 }" ~ "}" }}'}} => ['{{ 1 + 1 }}']
        {eval: '{{ {"a": x} | map_value }}', vars: {x: {q: '{{ 1 }}'}}} => {'a': '{{ 1 }}'}
        {eval: '{{ x | map_value }}', vars: {x: {q: {eval: .name}}}} => {'eval': '.name'}
        {eval: '{{ ["" | from_yaml_all, "# no" | from_yaml_all, none | from_yaml_all] }}'} => [[], [], None]
        "##);
    }
}
