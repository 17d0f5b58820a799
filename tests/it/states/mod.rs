//! State modules against the real thing, and against what Salt says.

mod files;
mod hands;
