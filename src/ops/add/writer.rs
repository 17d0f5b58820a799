//! A writer of the lines of a node template, with comments.

use crate::value::Value;
use crate::yaml;

/// The maximum length of a comment's line, in characters without its indentation.
const COMMENT_WIDTH: usize = 90;

/// The lines of a node template, in block YAML.
#[derive(Debug, Default)]
pub(super) struct TemplateWriter {
    text: String,
    depth: usize,
}

impl TemplateWriter {
    /// Adds a comment, wrapped into lines.
    pub(super) fn comment(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= COMMENT_WIDTH {
                self.line(&format!("# {line}"));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        if !line.is_empty() {
            self.line(&format!("# {line}"));
        }
    }

    /// Adds a line as it is.
    pub(super) fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.text.push_str(&"  ".repeat(self.depth));
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a key with a value.
    pub(super) fn entry(&mut self, key: &str, value: &Value) {
        let entry = Value::map([(key, value.clone())]);
        self.text.push_str(&yaml::emit(&entry, self.depth * 2));
    }

    /// Adds a key whose value `inner` writes, one level deeper.
    pub(super) fn section(&mut self, key: &str, inner: impl FnOnce(&mut Self)) {
        let name = yaml::emit(&Value::map([(key, Value::Null)]), 0);
        let name = name.trim_end();
        let name = name.strip_suffix("null").unwrap_or(name).trim_end();
        self.line(name);
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    /// Adds a text that keeps its lines.
    pub(super) fn block_text(&mut self, key: &str, text: &str) {
        self.line(&format!("{key}: |"));
        self.depth += 1;
        for line in text.lines() {
            self.line(line);
        }
        self.depth -= 1;
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_valid_and_comments_are_wrapped() {
        let mut writer = TemplateWriter::default();
        writer.comment(&"word ".repeat(30));
        writer.section("a: b", |writer| {
            writer.section("yes", |writer| writer.entry("no", &Value::from("#1")));
            writer.block_text("main", "x {\n}\n");
        });
        let text = writer.finish();
        insta::assert_snapshot!(text, @r##"
        # word word word word word word word word word word word word word word word word word word
        # word word word word word word word word word word word word
        'a: b':
          'yes':
            'no': '#1'
          main: |
            x {
            }
        "##);
    }
}
