//! What templates of state files see of this machine: nothing.

use crate::expr::{FixedSources, NullContext, YamlError};
use crate::value::Value;
use crate::yaml::{Schema, parse_text};

const NO_MACHINE_REASON: &str = "state files read the machine they are for, with `salt[…]`";

/// No machine.
pub(super) fn null_context() -> NullContext<FixedSources> {
    NullContext::new(
        NO_MACHINE_REASON,
        FixedSources(|text| parse_yaml(text).map_err(YamlError)),
    )
}

/// What a YAML text holds, as Salt reads it.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    Ok(parse_text(Schema::Salt, text)?.to_value())
}
