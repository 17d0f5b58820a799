//! The function `cycler` of Jinja2: an object that returns its items in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Object, ObjectRepr, Rest, Value as JinjaValue};
use minijinja::{Error as JinjaError, ErrorKind, State};

use super::error::{Result, filter_error};

/// The items and the index of the current one.
#[derive(Debug)]
struct Cycler {
    items: Vec<JinjaValue>,
    index: AtomicUsize,
}

/// Creates a cycler.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine passes arguments by value"
)]
pub(super) fn cycler(items: Rest<JinjaValue>) -> Result<JinjaValue> {
    if items.is_empty() {
        return Err(filter_error("`cycler` needs at least one item"));
    }
    Ok(JinjaValue::from_object(Cycler {
        items: items.to_vec(),
        index: AtomicUsize::new(0),
    }))
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        let current = self.index.load(Ordering::Relaxed);
        (key.as_str() == Some("current")).then(|| self.items[current].clone())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        _args: &[JinjaValue],
    ) -> Result<JinjaValue> {
        match method {
            "next" => {
                let current = self.index.load(Ordering::Relaxed);
                let next = (current + 1) % self.items.len();
                self.index.store(next, Ordering::Relaxed);
                Ok(self.items[current].clone())
            }
            "reset" => {
                self.index.store(0, Ordering::Relaxed);
                Ok(JinjaValue::from(()))
            }
            _ => Err(JinjaError::new(
                ErrorKind::UnknownMethod,
                format!("a cycler has no method `{method}`"),
            )),
        }
    }
}
