//! The dialect of state files: templates with the recorded answers of Salt, the second field of
//! `tests/data/dialect/dialect.tsv`.

use std::sync::Arc;

use super::location_vars::template_location_vars;
use super::renderer::{MinionData, StateRenderer, TemplateError};
use crate::states::{FactCache, FileRoots, FileRootsError};
use crate::value::Value;

/// The first characters of a note about templates that this program renders and Salt does not.
const ALSO: &str = "also: ";

/// The first characters of a note about a value that this program writes in another way.
const DIFFERS: &str = "differs: ";

/// A state tree without files.
struct EmptyTree;

impl FileRoots for EmptyTree {
    fn read(&self, _path: &str) -> Result<Option<Arc<[u8]>>, FileRootsError> {
        Ok(None)
    }

    fn list(&self, _folder: &str) -> Result<Vec<String>, FileRootsError> {
        Ok(Vec::new())
    }

    fn mode(&self, _path: &str) -> Result<Option<u32>, FileRootsError> {
        Ok(None)
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str::<serde_json::Value>(text)
        .unwrap()
        .into()
}

fn minion() -> MinionData {
    MinionData {
        id: "web-1".into(),
        roots: Arc::new(EmptyTree).into(),
        grains: json(
            r#"{"os": "Debian", "os_family": "Debian", "roles": ["web", "db"], "nested": {"a": {"b": "deep"}}}"#,
        ),
        pillar: json(
            r#"{"app": {"port": 80, "hosts": ["b", "a"], "name": "web", "nested": {"x": {"y": 1}}}}"#,
        ),
        options: json("{}"),
    }
}

#[test]
fn templates_give_the_texts_of_salt_or_an_error() {
    let renderer = StateRenderer::new(minion());
    let mut wrong = Vec::new();
    let mut count = 0;
    let lines = include_str!("../../../tests/data/dialect/dialect.tsv").lines();
    for line in lines.filter(|line| !line.starts_with("# ")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (template, recorded) = (fields[0], fields[1]);
        count += 1;
        let note = fields.get(3).copied().unwrap_or_default();
        let words = template_location_vars("main", "main.sls");
        let own = renderer.render_document(
            ("base", "main.sls"),
            template,
            &words,
            &FactCache::default(),
        );
        let own = own
            .map(|document| document.text)
            .map_err(|error| match error {
                TemplateError::Failed(error) => error.problem,
                TemplateError::Needs(facts) => format!("needs {facts:?}"),
            });
        let expected: Option<String> = serde_json::from_str(recorded).ok();
        let is_right = match (&own, &expected) {
            (Ok(own), Some(expected)) => own == expected || note.starts_with(DIFFERS),
            (Ok(_), None) => note.starts_with(ALSO) || note.starts_with(DIFFERS),
            (Err(_), Some(_)) => !note.is_empty() && !note.starts_with(ALSO),
            (Err(_), None) => true,
        };
        if !is_right {
            wrong.push(format!("{template}\n    {expected:?}\n    {own:?}"));
        }
    }
    assert!(count > 400, "{count} templates");
    assert!(
        wrong.is_empty(),
        "{} of {count} templates are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
