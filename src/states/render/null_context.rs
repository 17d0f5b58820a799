//! The expression context of state templates: the functions that read the local machine are disabled, because
//! templates are about the target host.

use crate::expr::{FixedSources, NullContext, YamlError};
use crate::value::Value;
use crate::yaml::{Schema, parse_text};

const NO_LOCAL_MACHINE_REASON: &str =
    "state files cannot read the local machine: use `salt[…]` to read the target machine";

/// Makes a context without access to the local machine.
pub(super) fn null_context() -> NullContext<FixedSources> {
    NullContext::new(
        NO_LOCAL_MACHINE_REASON,
        FixedSources(|text| parse_yaml(text).map_err(YamlError)),
    )
}

/// Parses a YAML text by Salt's rules.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    Ok(parse_text(Schema::Salt, text)?.to_value())
}
