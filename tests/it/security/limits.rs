//! Limits: S1, S18 and S22, no input causes a hang or uses all memory.
