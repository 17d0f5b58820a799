//! Brings machines to what state files describe, or reads facts of them.

use super::failure::Failure;
use crate::fleet::states::{
    self, CompiledMachine, FactsOf, FactsRequest, StatesReport, StatesRequest, StatesView,
};

/// Applies states, or says what they would change.
pub fn perform(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<StatesReport, Failure> {
    Ok(states::perform(request, view)?)
}

/// Compiles the states of all machines, and runs none.
pub fn compile_all(
    request: &StatesRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<CompiledMachine>, Failure> {
    Ok(states::compile_all(request, view)?)
}

/// Reads the facts of all machines, in their order.
pub fn read_facts(
    request: &FactsRequest,
    view: &mut dyn StatesView,
) -> Result<Vec<FactsOf>, Failure> {
    Ok(states::read_facts(request, view)?)
}
