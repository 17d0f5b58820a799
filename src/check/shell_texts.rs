//! The shell commands of a model, for a checker of shell scripts.

use std::sync::Arc;

use super::calls::distinct;
use super::narrow::template_line;
use crate::diagnostic::{Check, Diagnostic, Sources, Span};
use crate::tosca::{ImplementationKind, Operation, TopologyTemplate};
use crate::value::Value;

/// A command that a shell runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellText {
    /// The command as written, with its templates.
    pub text: Arc<str>,
    /// The place of the command in the file.
    pub span: Span,
}

impl ShellText {
    /// Returns the script with a word in place of each template, so that each sign keeps its line and column.
    pub fn script(&self) -> String {
        let mut script = String::with_capacity(self.text.len());
        let mut rest = &*self.text;
        while let Some(start) = next_tag(rest) {
            let (before, tag) = rest.split_at(start);
            script.push_str(before);
            let is_value = tag.starts_with("{{");
            let close = if is_value { "}}" } else { "%}" };
            let end = tag.find(close).map_or(tag.len(), |end| end + close.len());
            let filler = if is_value { 'x' } else { ' ' };
            script.extend(
                tag[..end]
                    .chars()
                    .map(|at| if at == '\n' { '\n' } else { filler }),
            );
            rest = &tag[end..];
        }
        script.push_str(rest);
        script
    }

    /// Returns the finding of a checker at a line and column of the script, both counted from 1.
    pub fn finding(
        &self,
        sources: &Sources,
        line: usize,
        column: usize,
        message: &str,
    ) -> Diagnostic {
        let span = self.place(sources, line, column).unwrap_or(self.span);
        Diagnostic::warning(message)
            .label(span, "")
            .check(Check::Shell)
    }

    fn place(&self, sources: &Sources, line: usize, column: usize) -> Option<Span> {
        let leading = self.text.len() - self.text.trim_start().len();
        let skipped = self.text[..leading].matches('\n').count();
        let found = template_line(sources, self.span, &self.text, line.checked_sub(skipped)?)?;
        let own = self.text.lines().nth(line - 1)?;
        let indentation = own.chars().count() - own.trim_start().chars().count();
        let shown = sources.text(found);
        let offset = column.saturating_sub(indentation + 1);
        let bytes: usize = shown.chars().take(offset).map(char::len_utf8).sum();
        let start = found.start + u32::try_from(bytes).ok()?;
        Some(Span::new(found.source, start.min(found.end), found.end))
    }
}

fn next_tag(text: &str) -> Option<usize> {
    let found = ["{{", "{%"].map(|tag| text.find(tag));
    found.into_iter().flatten().min()
}

/// Returns the commands of all operations of a model that a shell runs.
pub fn shell_texts(topology: &TopologyTemplate) -> Vec<ShellText> {
    let nodes = topology.nodes.values();
    let of_nodes = nodes.flat_map(|node| {
        let relationships = node.requirements.iter();
        let relationships = relationships.flat_map(|it| it.relationship.operations.iter());
        node.operations.iter().chain(relationships)
    });
    distinct(of_nodes).filter_map(shell_text).collect()
}

fn shell_text(operation: &Operation) -> Option<ShellText> {
    let implementation = operation.implementation.as_ref()?;
    match &implementation.kind {
        ImplementationKind::Command(text) if text.contains(' ') => Some(ShellText {
            text: Arc::clone(text),
            span: implementation.span,
        }),
        ImplementationKind::Configurator(name) if matches!(&**name, "Shell" | "Cmd") => {
            let (name, value) = ["command", "cmd"].into_iter().find_map(|name| {
                let value = operation.inputs.get(name)?;
                Some((name, value))
            })?;
            let Value::Str(text) = value else { return None };
            Some(ShellText {
                text: Arc::clone(text),
                span: *operation.input_spans.get(name)?,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_become_words_and_places_lead_into_the_file() {
        let file = "command: |\n    echo {{ SELF.name }} 'a'\n      rm -r $x/*\n";
        let mut sources = Sources::default();
        let id = sources.add("a.yaml", file, None);
        let text = ShellText {
            text: "echo {{ SELF.name }} 'a'\n  rm -r $x/*\n".into(),
            span: Span::new(id, 9, u32::try_from(file.len()).unwrap()),
        };
        assert_eq!(text.script(), "echo xxxxxxxxxxxxxxx 'a'\n  rm -r $x/*\n");
        let finding = text.finding(&sources, 2, 9, "SC1: m");
        let place = sources.position(finding.span().unwrap()).unwrap();
        assert_eq!((place.line, place.column), (3, 13));
    }
}
