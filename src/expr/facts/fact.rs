//! A fact about an expression or a template.

use std::sync::Arc;

/// A name that an expression or a template uses, or an error of its syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// A function is called that does not exist. The text is its name.
    UnknownFunction(Arc<str>),
    /// A key beside `eval` that is no part of an expression.
    UnknownPart(Arc<str>),
    /// An input of the topology is read, without a default.
    Input(Arc<str>),
    /// A property or attribute of an entity is read.
    Member(MemberRead),
    /// An artifact of an entity is read: the entity and the name.
    Artifact {
        /// The name of a node template, or a keyword such as `SELF`.
        entity: Arc<str>,
        name: Arc<str>,
    },
    /// A path that starts at an instance of the topology, such as `::web`. The text is the name of the instance.
    Instance(Arc<str>),
    /// A file is read by its path.
    File(Arc<str>),
    /// A path that starts at a requirement of the own node, such as `.targets::db`. The text is the requirement.
    Requirement(Arc<str>),
    /// A variable of an expression that the expression does not set, with those that it sets.
    ExpressionVariable {
        name: Arc<str>,
        known: Vec<Arc<str>>,
    },
    /// A syntax error of a path or template.
    Syntax {
        message: String,
        /// The path or template.
        text: Arc<str>,
        /// The line within the template, counted from 1. Zero if unknown.
        line: usize,
    },
    /// A variable of a template that the template does not set itself.
    Variable {
        name: Arc<str>,
        /// The template.
        text: Arc<str>,
        /// The line within the template, counted from 1.
        line: usize,
    },
    /// A filter of a template that does not exist.
    UnknownFilter(Arc<str>),
    /// A test of a template that does not exist.
    UnknownTest(Arc<str>),
}

/// A read of a property or an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRead {
    /// The function, or `template` for an attribute of a variable of a template.
    pub function: &'static str,
    /// The name of a node template, or a keyword such as `SELF`.
    pub entity: Arc<str>,
    /// The name of the property, attribute, capability or requirement.
    pub name: Arc<str>,
    /// The names after it: the part of a value, or the property of a capability or of the target of a requirement.
    pub rest: Vec<Arc<str>>,
}
