//! What jobs did to an instance, told from what follows from others.

use super::three::Three;
use crate::value::Value;

/// What jobs did to an instance, without what follows from others and what stands on it.
pub(super) struct Deeds {
    pub(super) base: Option<Value>,
    pub(super) first: Option<Value>,
    pub(super) second: Option<Value>,
}

impl Deeds {
    pub(super) fn of(three: Three<'_>) -> Self {
        let [base, first, second] =
            [three.base, three.first, three.second].map(|value| deeds(value?));
        Self {
            base,
            first,
            second,
        }
    }
}

/// What jobs did to an instance; nothing if it only is to be.
fn deeds(record: &Value) -> Option<Value> {
    let mut deeds = record.as_map()?.clone();
    for key in [
        "attributes",
        "instances",
        "priority",
        "properties",
        "substitution",
    ] {
        deeds.shift_remove(key);
    }
    if let Some(ready) = deeds.get("readyState").and_then(Value::as_map) {
        let mut ready = ready.clone();
        ready.shift_remove("effective");
        let waits =
            ready.len() == 1 && ready.get("local").and_then(Value::as_str) == Some("pending");
        if waits
            && deeds
                .keys()
                .all(|key| matches!(&**key, "template" | "readyState"))
        {
            return None;
        }
        deeds.insert("readyState".into(), Value::from(ready));
    }
    Some(Value::from(deeds))
}
