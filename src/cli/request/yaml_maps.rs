//! Reads YAML maps from the command line, such as `--pillar`, as text or from a file.

use std::path::Path;

use crate::diagnostic::{Diagnostics, Sources};
use crate::ops::{Failure, FailureKind};
use crate::project::FolderKeys;
use crate::system::env::current_dir;
use crate::system::fs;
use crate::value::Map;
use crate::yaml::{Limits, Schema, parse_as};

/// Parses a YAML map, or the file named after `@`. Empty text gives an empty map.
pub(in crate::cli) fn map_of(option: &str, text: &str) -> Result<Map, Failure> {
    match text.strip_prefix('@') {
        Some(file) => map_of_file(Path::new(file)),
        None => map_of_text(option, text),
    }
}

/// Parses a file that contains a YAML map.
pub(in crate::cli) fn map_of_file(file: &Path) -> Result<Map, Failure> {
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::new(FailureKind::Usage, &error, error.hint()))?;
    map_of_text(&file.display().to_string(), &text)
}

/// Parses a text that is a YAML map. Problems name it by `name`.
pub(in crate::cli) fn map_of_text(name: &str, text: &str) -> Result<Map, Failure> {
    let mut sources = Sources::default();
    let source = sources.add(name, text, None);
    let root = match parse_as(Schema::Salt, &sources, source, &Limits::default()) {
        Ok(root) => root,
        Err(problems) => return Err(Failure::with_sources(FailureKind::Usage, problems, sources)),
    };
    let mut problems = Diagnostics::default();
    let folder = current_dir().unwrap_or_default();
    let root = root.opened(&FolderKeys::new(&folder, None), &mut problems);
    if problems.has_errors() {
        return Err(Failure::with_sources(FailureKind::Usage, problems, sources));
    }
    if root.is_null() {
        return Ok(Map::new());
    }
    if let Some(map) = root.to_value().as_map() {
        return Ok(map.clone());
    }
    let problem = root.type_mismatch("this", "a map");
    Err(Failure::with_sources(FailureKind::Usage, problem, sources))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn a_text_says_a_map() {
        let map = map_of("--pillar", "{a: 1, b: [x]}").unwrap();
        assert_eq!(map.len(), 2);
        assert!(map_of("--pillar", "").unwrap().is_empty());
    }

    #[test]
    fn what_is_tagged_as_sensitive_is_seen_by_nobody() {
        let map = map_of("--pillar", "{a: !sensitive hush, b: [!sensitive 1]}").unwrap();
        let shown = Value::from(map).redacted().to_string();
        assert!(
            !shown.contains("hush") && shown.contains("REDACTED"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_no_map_is_refused() {
        let failure = map_of("--pillar", "[1]").unwrap_err();
        insta::assert_snapshot!(failure, @"this must be a map, not a list");
        assert!(map_of("--pillar", "@/nowhere").is_err());
    }
}
