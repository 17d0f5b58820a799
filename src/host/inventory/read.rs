//! Reads an inventory file of any format, recognized by its name and content.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Sources};
use crate::system::fs;
use crate::yaml::{self, Limits, TagReader};

use super::ansible_ini;
use super::ansible_yaml as ansible;
use super::error::InventoryProblem;
use super::model::Inventory;
use super::unfurl_yaml;

/// The maximum size of a file in bytes.
const MAX_BYTES: u64 = 256 << 20;

impl Inventory {
    /// Reads a file.
    ///
    /// The errors point into `sources`. Warnings are returned with the inventory. `tags` decrypts
    /// encrypted values.
    pub fn read(
        path: &Path,
        sources: &mut Sources,
        tags: &dyn TagReader,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let bytes = fs::read_within(path, MAX_BYTES).map_err(Diagnostic::error)?;
        let Ok(text) = String::from_utf8(bytes) else {
            let message = format!("`{}` is not UTF-8 text", path.display());
            return Err(Diagnostic::error(message).into());
        };
        if text.starts_with("#!") && fs::is_program(path) {
            let message = format!("`{}`: {}", path.display(), InventoryProblem::Program);
            let help = "write its output to a file, or make it the `command` of a group";
            return Err(Diagnostic::error(message).help(help).into());
        }
        let source = sources.add(path, text, None);
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_yaml = matches!(ending, Some("yaml" | "yml" | "json"));
        Self::parse(source, is_yaml, sources, tags)
    }

    /// Parses a text of `sources`.
    ///
    /// Without `is_yaml`, a text with a section heading is INI, and a text that is a YAML map is
    /// YAML.
    pub fn parse(
        source: SourceId,
        is_yaml: bool,
        sources: &Sources,
        tags: &dyn TagReader,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let text = sources.get(source).map(|source| Arc::clone(&source.text));
        let text = text.unwrap_or_else(|| Arc::from(""));
        if !is_yaml && has_heading(&text) {
            return Ok((ansible_ini::read(&text, source)?, Diagnostics::default()));
        }
        let parsed = yaml::parse(sources, source, &Limits::default());
        let root = match parsed {
            Ok(root) if is_yaml || root.as_map().is_some() => root,
            Err(problems) if is_yaml || is_probably_yaml(&text) => return Err(problems),
            _ => return Ok((ansible_ini::read(&text, source)?, Diagnostics::default())),
        };
        let mut context = ansible::YamlReader {
            sources,
            tags,
            problems: Diagnostics::default(),
        };
        let map = context.entries(&root, "the file");
        let inventory = match map {
            None => Self::default(),
            Some(map)
                if map
                    .iter()
                    .all(|(key, _)| unfurl_yaml::KEYS.contains(&&**key)) =>
            {
                unfurl_yaml::read(map, &mut context)
            }
            Some(map) => ansible::read(map, &mut context),
        };
        if context.problems.has_errors() {
            return Err(context.problems);
        }
        Ok((inventory, context.problems))
    }
}

/// Whether a line of the text is a section heading.
fn has_heading(text: &str) -> bool {
    text.lines()
        .any(|line| ansible_ini::heading(line.trim()).is_some())
}

/// Whether the first line that is not a comment looks like YAML: `---`, `{`, or a key with a colon
/// at the end.
fn is_probably_yaml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line == "---" || line.ends_with(':') || line.starts_with('{'))
}
