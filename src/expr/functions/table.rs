//! The names of the functions.

use super::call::Function;
use super::{
    arithmetic, control, env, files, generate, image, logic, port, scalar, strings, tosca, values,
};

/// The function of a name.
pub(in crate::expr) fn find(name: &str) -> Option<Function> {
    let function: Function = match name {
        "if" => logic::if_else,
        "and" => logic::and,
        "or" => logic::or,
        "not" => logic::not,
        "eq" => logic::equal,
        "ne" => logic::unequal,
        "lt" => logic::less,
        "le" => logic::less_or_equal,
        "gt" => logic::greater,
        "ge" => logic::greater_or_equal,
        "add" => arithmetic::add,
        "sub" => arithmetic::sub,
        "mul" => arithmetic::mul,
        "div" | "truediv" => arithmetic::div,
        "floordiv" => arithmetic::floordiv,
        "mod" => arithmetic::modulo,
        "pow" => arithmetic::pow,
        "foreach" => control::foreach,
        "q" => control::quote,
        "is_function_defined" => control::is_function_defined,
        "template" => control::template,
        "validate_json" => control::validate_json,
        "lookup" => control::lookup,
        "get_input" => tosca::get_input,
        "get_property" | "get_attribute" => tosca::get_attribute,
        "get_nodes_of_type" => tosca::get_nodes_of_type,
        "get_artifact" => tosca::get_artifact,
        "find_connection" => tosca::find_connection,
        "concat" => strings::concat,
        "token" => strings::token,
        "urljoin" => strings::urljoin,
        "to_label" | "to_dns_label" | "to_kubernetes_label" | "to_googlecloud_label" => {
            strings::label
        }
        "_generate" | "generate_string" => generate::generate,
        "get_env" => env::get_env,
        "has_env" => env::has_env,
        "to_env" => env::to_env,
        "file" => files::file,
        "tempfile" => files::temporary,
        "abspath" => files::abspath,
        "path" => files::path,
        "get_dir" => files::get_dir,
        "scalar" => scalar::scalar,
        "scalar_value" => scalar::scalar_value,
        "portspec" => port::portspec,
        "container_image" => image::container_image,
        "sensitive" => values::sensitive,
        "local" | "secret" => values::context_value,
        "external" => values::external,
        "get_ensemble_metadata" => values::metadata,
        "_arguments" => values::arguments,
        "python" | "kubectl" => values::not_here,
        _ => return None,
    };
    Some(function)
}

#[cfg(test)]
mod tests {
    use crate::expr::fixture::shown;

    fn table(expressions: &[&str]) -> String {
        let line = |expression: &&str| format!("{expression} => {}", shown(expression));
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
        {eval: {nofunc: 1}} => error: there is no function in {'nofunc': 1}
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
        {eval: {portspec: '80:8080/tcp'}, select: source} => 80
        {eval: {lookup: {env: [NOPE_X]}}} => ''
        {eval: {lookup: {pipe: ls}}} => error: `pipe` runs a program while planning; allow it with `--allow pipe`
        {eval: {abspath: foo.txt}} => '/e/foo.txt'
        {eval: {abspath: [x, artifacts, true]}} => '/e/artifacts/app/x'
        {eval: {get_dir: ensemble}} => '/e'
        {eval: {get_dir: nowhere}} => error: `get_dir`: there is no directory `nowhere`
        {eval: {container_image: 'reg.example.com/a/B:1.0'}} => 'reg.example.com/a/b:1.0'
        {eval: {file: w.txt, dir: /tmp, contents: written}, select: path} => '/tmp/w.txt'
        {eval: {file: w.txt, dir: /tmp, contents: {a: 1}}, select: contents} => '{\n  "a": 1\n}\n'
        {eval: {sensitive: hush}} => <<REDACTED>>
        {concat: [a, {eval: {sensitive: hush}}]} => <<REDACTED>>
        {_generate: {preset: number, len: 4}} => '6048'
        "#);
    }
}
