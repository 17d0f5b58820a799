//! The findings of a test run that reports its differences one by one, such as a playbook in check mode.

use super::check::Check;
use crate::drift::{Difference, Finding};
use crate::value::Value;

/// Returns a finding for each difference that the result of a test run lists: a map with a `name` and perhaps `lines`.
pub(super) fn difference_findings(check: &Check<'_>, result: &Value) -> Vec<Finding> {
    let listed = result.get("differences").and_then(Value::as_list);
    let findings = listed.into_iter().flatten().map(|item| {
        let text = |key: &str| item.get(key).and_then(Value::as_str);
        let difference = Difference {
            from: None,
            to: None,
            lines: text("lines").map(Into::into),
        };
        let mut finding = check.finding(text("name").unwrap_or("status"), check.kind, difference);
        if text("lines").is_none() {
            finding.reason = Some("the operation would change this".into());
        }
        finding
    });
    findings.collect()
}
