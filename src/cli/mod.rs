//! Turns what was typed into one call of a use case and an exit code.
