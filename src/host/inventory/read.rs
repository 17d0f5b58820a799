//! Parses the text of an inventory in any format, recognized by its name and content.

use std::sync::Arc;

use crate::diagnostic::{Diagnostics, SourceId, Sources};
use crate::yaml::{self, Limits, Node, TagReader};

use super::ansible_ini;
use super::ansible_yaml as ansible;
use super::model::Inventory;
use super::program_output;
use super::toml_text;
use super::unfurl_yaml;

/// The format that the name of a file tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InventoryFormat {
    /// The content decides: a text with a section heading is INI, and a text that is a YAML map is YAML.
    Unknown,
    /// YAML or JSON.
    Yaml,
    Toml,
}

impl InventoryFormat {
    /// Returns the format of a file with an ending, which has no dot.
    pub(super) fn of_ending(ending: Option<&str>) -> Self {
        match ending {
            Some("yaml" | "yml" | "json") => Self::Yaml,
            Some("toml") => Self::Toml,
            _ => Self::Unknown,
        }
    }
}

impl Inventory {
    /// Parses a text of `sources`. Warnings are returned with the inventory.
    ///
    /// # Errors
    ///
    /// The text is not a valid inventory.
    pub fn parse(
        source: SourceId,
        format: InventoryFormat,
        sources: &Sources,
        tags: &dyn TagReader,
    ) -> Result<(Self, Diagnostics), Diagnostics> {
        let text = sources.get(source).map(|source| Arc::clone(&source.text));
        let text = text.unwrap_or_else(|| Arc::from(""));
        let ini = || Ok((ansible_ini::read(&text, source)?, Diagnostics::default()));
        let is_yaml = format == InventoryFormat::Yaml;
        let root = match format {
            InventoryFormat::Toml => toml_text::read(&text, source)?,
            InventoryFormat::Unknown if has_heading(&text) => return ini(),
            _ => match yaml::parse(sources, source, &Limits::default()) {
                Ok(root) if is_yaml || root.as_map().is_some() => root,
                Err(problems) if is_yaml || is_probably_yaml(&text) => return Err(problems),
                _ => return ini(),
            },
        };
        let mut context = ansible::YamlReader {
            is_yaml: format != InventoryFormat::Toml,
            ..ansible::YamlReader::new(sources, tags)
        };
        let inventory = of_tree(&root, format, &mut context);
        Ok((inventory, context.finish()?))
    }
}

/// Reads a tree in the format that its keys tell.
fn of_tree(
    root: &Node,
    format: InventoryFormat,
    context: &mut ansible::YamlReader<'_>,
) -> Inventory {
    let Some(map) = context.entries(root, "the file") else {
        return Inventory::default();
    };
    let is_own = |key: &str| unfurl_yaml::KEYS.contains(&key);
    if format == InventoryFormat::Toml {
        ansible::read(map, context)
    } else if map.iter().all(|(key, _)| is_own(key)) {
        unfurl_yaml::read(map, context)
    } else if program_output::has_form(map) {
        program_output::read(map, context)
    } else {
        ansible::read(map, context)
    }
}

/// Returns true if a line of the text is a section heading.
fn has_heading(text: &str) -> bool {
    text.lines()
        .any(|line| ansible_ini::heading(line.trim()).is_some())
}

/// Returns true if the first line that is not a comment looks like YAML: `---`, `{`, or a key with a colon at the end.
fn is_probably_yaml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line == "---" || line.ends_with(':') || line.starts_with('{'))
}
