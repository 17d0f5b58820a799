//! Suggestions for misspelt functions and filters.

use crate::text::did_you_mean;

/// The functions that users write most often.
const FUNCTIONS: [&str; 50] = [
    "if",
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "sub",
    "mul",
    "div",
    "floordiv",
    "mod",
    "pow",
    "foreach",
    "q",
    "template",
    "validate_json",
    "get_input",
    "get_property",
    "get_attribute",
    "get_nodes_of_type",
    "find_connection",
    "concat",
    "token",
    "urljoin",
    "to_label",
    "to_dns_label",
    "to_kubernetes_label",
    "to_googlecloud_label",
    "scalar",
    "scalar_value",
    "portspec",
    "sensitive",
    "lookup",
    "get_artifact",
    "get_env",
    "has_env",
    "to_env",
    "file",
    "tempfile",
    "abspath",
    "get_dir",
    "container_image",
    "local",
    "secret",
    "external",
];

/// The filters that users write most often.
const FILTERS: [&str; 48] = [
    "abspath",
    "b64decode",
    "b64encode",
    "basename",
    "bool",
    "capitalize",
    "combine",
    "default",
    "dict2items",
    "difference",
    "dirname",
    "eval",
    "first",
    "flatten",
    "float",
    "from_json",
    "from_yaml",
    "get_dir",
    "groupby",
    "hash",
    "indent",
    "int",
    "intersect",
    "items2dict",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "map_value",
    "quote",
    "regex_replace",
    "regex_search",
    "reject",
    "replace",
    "select",
    "selectattr",
    "sensitive",
    "sort",
    "split",
    "string",
    "to_json",
    "to_yaml",
    "trim",
    "union",
    "unique",
    "upper",
];

/// Returns the hint for the name of a function that does not exist.
pub fn function_hint(name: &str) -> Option<String> {
    let with_underscores = name.replace('-', "_").to_lowercase();
    let plain = with_underscores.replace('_', "");
    let joined = FUNCTIONS
        .iter()
        .find(|known| known.replace('_', "") == plain);
    match joined {
        Some(known) if *known != name => Some(format!("did you mean `{known}`?")),
        _ if name.len() <= 5 && did_you_mean(name, ["eval"]).is_some() => {
            did_you_mean(name, ["eval"])
        }
        _ => did_you_mean(&with_underscores, FUNCTIONS),
    }
}

/// Returns the hint for a key beside `eval` that is no part of an expression.
pub fn part_hint(name: &str) -> Option<String> {
    did_you_mean(name, crate::expr::syntax::PARTS)
}

/// Returns the hint for the name of a filter that does not exist.
pub fn filter_hint(name: &str) -> Option<String> {
    did_you_mean(name, FILTERS)
}

/// The tests that users write most often.
const TESTS: [&str; 30] = [
    "abs",
    "any",
    "all",
    "boolean",
    "contains",
    "defined",
    "directory",
    "divisibleby",
    "eq",
    "even",
    "exists",
    "failed",
    "false",
    "file",
    "in",
    "integer",
    "iterable",
    "link",
    "lower",
    "mapping",
    "match",
    "none",
    "number",
    "odd",
    "regex",
    "search",
    "sequence",
    "string",
    "subset",
    "version",
];

/// Returns the hint for the name of a test that does not exist.
pub fn test_hint(name: &str) -> Option<String> {
    did_you_mean(name, TESTS)
}
