//! Turns a panic of the template engine into an error, so that no template ends the program.
//!
//! The engine computes with the numbers of a template, and some of its sums overflow.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use minijinja::{Error as JinjaError, ErrorKind};

thread_local! {
    /// True while this thread renders a template: a panic is then not printed.
    static IS_RENDERING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `render`. A panic becomes an error.
pub(super) fn without_panic<T>(
    render: impl FnOnce() -> Result<T, JinjaError>,
) -> Result<T, JinjaError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_RENDERING.get() {
                earlier(panic);
            }
        }));
    });
    let is_nested = IS_RENDERING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(render));
    IS_RENDERING.set(is_nested);
    result.unwrap_or_else(|_| {
        let problem = "the template engine failed; a number in the template may be too large";
        Err(JinjaError::new(ErrorKind::InvalidOperation, problem))
    })
}
