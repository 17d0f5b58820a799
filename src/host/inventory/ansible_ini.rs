//! Parser for Ansible's INI inventories: sections of hosts, of variables and of child groups.

use crate::text::shlex_split;
use std::collections::HashSet;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceId, Span};
use crate::expr::python_literal;
use crate::value::{Fold, Map, Value};

use super::error::InventoryProblem;
use super::model::{ALL, Inventory, UNGROUPED};
use super::range;

/// The kind of section that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineSection {
    Hosts,
    Variables,
    Children,
}

/// Parses an inventory. Errors point to the lines.
pub(super) fn read(text: &str, source: SourceId) -> Result<Inventory, Diagnostics> {
    let mut reader = IniReader {
        inventory: Inventory::default(),
        group: UNGROUPED.to_owned(),
        section: LineSection::Hosts,
        declared: HashSet::default(),
        referenced: Vec::new(),
    };
    let mut problems = Diagnostics::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let begin = start + (line.len() - line.trim_start().len());
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span::new(source, place(begin), place(begin + trimmed.len()));
        start += line.len();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        match reader.line(trimmed, span) {
            Ok(()) => {}
            Err(problem @ InventoryProblem::TooMany(_)) => {
                problems.push(Diagnostic::error(problem).label(span, ""));
                break;
            }
            Err(problem) => problems.push(Diagnostic::error(problem).label(span, "")),
        }
    }
    // A group may be used before the section that declares it, so this check comes last.
    for (name, span) in &reader.referenced {
        let is_built_in = name == ALL || name == UNGROUPED;
        if !is_built_in && !reader.declared.contains(name) {
            let problem = InventoryProblem::NoGroup(name.clone());
            problems.push(Diagnostic::error(problem).label(*span, ""));
        }
    }
    if problems.has_errors() {
        Err(problems)
    } else {
        Ok(reader.inventory)
    }
}

struct IniReader {
    inventory: Inventory,
    group: String,
    section: LineSection,
    /// The groups with a section of hosts or of children.
    declared: HashSet<String, Fold>,
    /// The groups named as children or with a section of variables.
    referenced: Vec<(String, Span)>,
}

impl IniReader {
    fn line(&mut self, line: &str, span: Span) -> Result<(), InventoryProblem> {
        if line.starts_with('[')
            && let Some(heading) = heading(line)
        {
            return self.heading(heading, line, span);
        }
        match self.section {
            LineSection::Hosts => self.host(line),
            LineSection::Variables => {
                let (key, value) = line
                    .split_once('=')
                    .ok_or_else(|| InventoryProblem::GroupVariable(line.to_owned()))?;
                let data = Map::from_iter([(key.trim().into(), parse_value(value.trim()))]);
                self.inventory.add_group(self.group.as_str(), data);
                Ok(())
            }
            LineSection::Children => {
                let name = line.split('#').next().unwrap_or("").trim();
                if name.is_empty() || name.contains([':', ']', ' ', '\t']) {
                    return Err(InventoryProblem::Child(line.to_owned()));
                }
                self.referenced.push((name.to_owned(), span));
                self.inventory.add_child_group(name, &self.group)
            }
        }
    }

    fn heading(&mut self, inside: &str, line: &str, span: Span) -> Result<(), InventoryProblem> {
        let bad = || InventoryProblem::Section(line.to_owned());
        let (name, kind) = inside.split_once(':').unwrap_or((inside, "hosts"));
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == ']') {
            return Err(bad());
        }
        self.section = match kind {
            "hosts" => LineSection::Hosts,
            "vars" => LineSection::Variables,
            "children" => LineSection::Children,
            _ => return Err(bad()),
        };
        name.clone_into(&mut self.group);
        if self.section == LineSection::Variables {
            self.referenced.push((name.to_owned(), span));
        } else {
            self.declared.insert(name.to_owned());
            self.inventory.add_group(name, Map::new());
        }
        Ok(())
    }

    fn host(&mut self, line: &str) -> Result<(), InventoryProblem> {
        let words = split_words(line).ok_or(InventoryProblem::Quotes)?;
        let Some((pattern, variables)) = words.split_first() else {
            return Ok(());
        };
        let (names, port) = range::hosts(pattern)?;
        let mut data = Map::new();
        if let Some(port) = port {
            data.insert("ansible_port".into(), Value::Int(port.into()));
        }
        for word in variables {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| InventoryProblem::HostVariable(word.clone()))?;
            data.insert(key.into(), parse_value(value));
        }
        for name in names {
            self.inventory.add_host(name.as_str(), data.clone())?;
            self.inventory.add_to_group(&name, &self.group);
        }
        Ok(())
    }
}

/// Parses a value as a Python literal, or else as text.
///
/// An integer too large for [`Value::Int`] stays text.
fn parse_value(text: &str) -> Value {
    match python_literal(text.trim()) {
        None | Some(Value::Big(_)) => Value::str(text),
        Some(value) => value,
    }
}

/// Returns the text between the brackets of a section heading.
pub(super) fn heading(line: &str) -> Option<&str> {
    let (inside, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    // A line of hosts may also start with brackets: a range or an IPv6 address.
    let is_heading = rest.is_empty() || rest.starts_with('#');
    (is_heading && !is_address(inside)).then_some(inside)
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Splits a line into words as a shell does; `#` starts a comment.
///
/// None if a quote is not closed.
pub(super) fn split_words(line: &str) -> Option<Vec<String>> {
    shlex_split(line, Some('#'))
}
