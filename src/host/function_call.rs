//! The call of a function that neither this program nor a host has.

use std::fmt::{Debug, Formatter};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A function that only an executor of the user's can perform, with its arguments (X9). [`Debug`] shows no arguments.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCall {
    /// The name, as `MODULE.FUNCTION`.
    pub function: String,
    /// The arguments without a name, in order.
    pub arguments: Vec<Value>,
    /// The arguments with a name.
    pub keywords: Map<String, Value>,
}

impl FunctionCall {
    /// Returns the message that no executor can perform the function, in the words of Salt.
    pub(super) fn unavailable(&self) -> String {
        format!("'{}' is not available", self.function)
    }
}

impl Debug for FunctionCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "FunctionCall({})", self.function)
    }
}
