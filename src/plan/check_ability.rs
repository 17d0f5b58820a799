//! The answer to the question how the effect of an operation can be looked at without changing anything.

/// How a configurator can look at what an operation has made, without changing anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckAbility {
    /// A run in test mode compares what the operation has made with what it would make now.
    Compares,
    /// The operation itself makes nothing, so nothing of it can drift.
    MakesNothing,
    /// Only a run of the operation would show what it makes.
    #[default]
    Cannot,
}
