//! What templates of state files see of this machine: nothing.

use crate::expr::{NullWorld, Still, YamlError};
use crate::value::Value;
use crate::yaml::{Schema, parse_text};

const NOTHING: &str = "state files read the machine they are for, with `salt[…]`";

/// No machine.
pub(super) fn nowhere() -> NullWorld<Still> {
    NullWorld::new(NOTHING, Still(|text| parse_yaml(text).map_err(YamlError)))
}

/// What a YAML text holds, as Salt reads it.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    Ok(parse_text(Schema::Salt, text)?.to_value())
}
