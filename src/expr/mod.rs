//! Lazy expressions: parse, evaluate, track what was read.
