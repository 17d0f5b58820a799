//! What templates of state files see of this machine: nothing.

use crate::diagnostic::Sources;
use crate::expr::{NullWorld, Still, YamlError};
use crate::value::Value;
use crate::yaml::{Limits, Node, Schema, parse_as};

const NOTHING: &str = "state files read the machine they are for, with `salt[…]`";

/// No machine.
pub(super) fn nowhere() -> NullWorld<Still> {
    NullWorld::new(NOTHING, Still(|text| parse_yaml(text).map_err(YamlError)))
}

/// What a YAML text holds, as Salt reads it.
pub(super) fn parse_yaml(text: &str) -> Result<Value, String> {
    let mut sources = Sources::default();
    let source = sources.add("", text, None);
    let root = parse_as(Schema::Salt, &sources, source, &Limits::default());
    let root = root.map_err(|problems| {
        let first = problems.iter().next();
        first.map_or_else(String::new, |problem| problem.message.clone())
    })?;
    Ok(Node::to_value(&root))
}
