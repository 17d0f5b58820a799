//! Performs effects on this machine.
