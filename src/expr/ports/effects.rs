//! The port through which the effects of expressions are performed. Implementations stand outside of this module.

use super::error::EffectError;
use super::secrets::{SecretError, SecretRequest};
use crate::expr::effect::{Effect, EffectOutput};
use crate::value::Value;

/// The port that performs the effects of expressions.
pub trait Effects {
    /// Performs an effect. The caller has checked that the user allowed it.
    fn perform(&self, effect: &Effect) -> Result<EffectOutput, EffectError>;

    /// Returns an error if the effect changes a file where expressions must not write. Changes nothing.
    fn check(&self, effect: &Effect) -> Result<(), EffectError>;

    /// Gets a secret that is stored outside of the project, if the user permits it.
    fn fetch_secret(&self, _request: &SecretRequest) -> Result<Value, SecretError> {
        let reason = "no environment with secret backends applies here";
        Err(SecretError::Failed(reason.to_owned()))
    }
}
