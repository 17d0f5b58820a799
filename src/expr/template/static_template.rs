//! Compiles templates without rendering them, for static checks.

use std::borrow::Cow;
use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior};

pub(in crate::expr) use super::variables::GLOBALS;

use super::delimiters::Delimiters;
use super::preprocess::prepare_template;
use super::{engine, header};

static ENVIRONMENT: LazyLock<Environment<'static>> =
    LazyLock::new(|| engine::environment(UndefinedBehavior::Strict, engine::FUEL));

/// Returns an environment with all filters, tests and functions.
pub(in crate::expr) fn compile_environment() -> &'static Environment<'static> {
    &ENVIRONMENT
}

/// Returns the text that the engine compiles. `None` if the template has delimiters of its own.
pub(in crate::expr) fn prepare(text: &str) -> Result<Option<Cow<'_, str>>, String> {
    let (other_syntax, text) = header::split(text)?;
    if other_syntax.is_some() {
        return Ok(None);
    }
    Ok(Some(prepare_template(text, &Delimiters::default())))
}
