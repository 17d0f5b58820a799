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
