//! The dialect of expressions: templates with the recorded answers of Jinja2's native templates, the last
//! field but one of `tests/data/dialect/dialect.tsv`.

use crate::expr::fixture::evaluate;
use crate::value::Value;

/// The first characters of a note about templates that this program renders and Python does not.
const ALSO: &str = "also: ";

/// The first characters of a note about a value that this program writes in another way.
const DIFFERS: &str = "differs: ";

#[test]
fn templates_give_the_native_values_of_jinja2_or_an_error() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let lines = include_str!("../../../tests/data/dialect/dialect.tsv").lines();
    for line in lines.filter(|line| !line.starts_with("# ")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (template, recorded) = (fields[0], fields.get(2).copied().unwrap_or_default());
        if recorded.is_empty() {
            continue;
        }
        count += 1;
        let note = fields.get(3).copied().unwrap_or_default();
        let quoted = serde_json::to_string(&Value::from(template)).unwrap();
        let own = evaluate(&quoted);
        let expected: Option<String> = serde_json::from_str(recorded).ok();
        let is_right = match (&own, &expected) {
            (Ok(own), Some(expected)) => {
                format!("{own:?}") == *expected || note.starts_with(DIFFERS)
            }
            (Ok(_), None) => note.starts_with(ALSO) || note.starts_with(DIFFERS),
            (Err(_), Some(_)) => !note.is_empty() && !note.starts_with(ALSO),
            (Err(_), None) => true,
        };
        if !is_right {
            wrong.push(format!("{template}\n    {expected:?}\n    {own:?}"));
        }
    }
    assert!(count > 300, "{count} templates");
    assert!(
        wrong.is_empty(),
        "{} of {count} templates are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
