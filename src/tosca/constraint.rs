//! Constraints on values.

use std::sync::Arc;

use crate::diagnostic::Span;
use crate::value::Value;

/// Something that must hold for a value.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// What must hold.
    pub rule: Rule,
    /// Where it stands.
    pub span: Span,
}

/// What must hold for a value.
#[derive(Debug, Clone)]
pub enum Rule {
    /// It equals this.
    Equal(Value),
    /// It is greater.
    GreaterThan(Value),
    /// It is as great or greater.
    GreaterOrEqual(Value),
    /// It is less.
    LessThan(Value),
    /// It is as great or less.
    LessOrEqual(Value),
    /// It lies between both, inclusive; no upper bound is `UNBOUNDED`.
    InRange(Value, Option<Value>),
    /// It is one of these.
    ValidValues(Vec<Value>),
    /// It has so many characters, items or keys.
    Length(u64),
    /// It has at least so many.
    MinLength(u64),
    /// It has at most so many.
    MaxLength(u64),
    /// All of it matches a regular expression.
    Pattern(Arc<str>, regex::Regex),
    /// It meets a JSON schema, raw.
    Schema(Value),
    /// It is a version that a requirement such as `^1.2` or `>=1, <2` admits.
    Version(Arc<str>),
}
