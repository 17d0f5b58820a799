//! The blocks of a text in HCL, with their attributes, as deep as modules need them.

use super::tokens::{Token, tokens};

/// A block such as `variable "name" { … }`.
#[derive(Debug, Default)]
pub(super) struct Block<'a> {
    pub(super) kind: &'a str,
    pub(super) labels: Vec<&'a str>,
    /// The names of the attributes, each with its value if that is a single word or text.
    pub(super) attributes: Vec<(&'a str, Option<&'a str>)>,
    /// The blocks directly in this one.
    pub(super) blocks: Vec<Self>,
}

impl Block<'_> {
    pub(super) fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|(found, _)| *found == name)
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(found, _)| *found == name)?;
        found.1
    }
}

/// Returns the blocks at the top of a text. Blocks in blocks are read two levels deep.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let all = tokens(text);
    let mut reader = Reader {
        tokens: &all,
        at: 0,
    };
    reader.body(2).blocks
}

struct Reader<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'a> Reader<'_, 'a> {
    /// Reads attributes and blocks up to the end of the block.
    fn body(&mut self, depth: usize) -> Block<'a> {
        let mut body = Block::default();
        while let Some(token) = self.next() {
            match token {
                Token::Close => break,
                Token::Open => self.skip_to_close(),
                Token::Word(word) => self.statement(word, depth, &mut body),
                _ => {}
            }
        }
        body
    }

    /// Reads what follows a word at the start of a statement: an attribute, or the labels and the body of a block.
    fn statement(&mut self, word: &'a str, depth: usize, body: &mut Block<'a>) {
        if self.peek() == Some(Token::Equals) {
            self.at += 1;
            let value = self.attribute_value();
            body.attributes.push((word, value));
            return;
        }
        let mut labels = Vec::new();
        loop {
            match self.next() {
                Some(Token::Text(label) | Token::Word(label)) => labels.push(label),
                Some(Token::Open) if depth > 0 => {
                    let inner = self.body(depth - 1);
                    body.blocks.push(Block {
                        kind: word,
                        labels,
                        ..inner
                    });
                    return;
                }
                Some(Token::Open) => return self.skip_to_close(),
                Some(Token::Close) => {
                    self.at -= 1;
                    return;
                }
                _ => return,
            }
        }
    }

    /// Reads a value up to the end of its line, or of the brackets that it opens.
    fn attribute_value(&mut self) -> Option<&'a str> {
        let mut words = Vec::new();
        let mut is_simple = true;
        loop {
            match self.peek() {
                None | Some(Token::Newline | Token::Close) => break,
                Some(Token::Word(word) | Token::Text(word)) => words.push(word),
                Some(Token::Open) => {
                    is_simple = false;
                    self.at += 1;
                    self.skip_to_close();
                    continue;
                }
                Some(_) => is_simple = false,
            }
            self.at += 1;
        }
        match words[..] {
            [word] if is_simple => Some(word),
            _ => None,
        }
    }

    fn skip_to_close(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Some(Token::Open) => depth += 1,
                Some(Token::Close) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_labels_attributes_and_inner_blocks() {
        let text = r#"
terraform {
  backend "s3" { key = "a/b" }
  required_version = ">= 1.4"
}
variable "size" {
  type    = object({ default = number })
  default = { a = 1 }
  validation {
    condition     = var.size == 1
    error_message = "no } brace"
  }
  sensitive = true
}
output "ip" { value = aws_instance.web.ip }
"#;
        let found = blocks(text);
        let kinds: Vec<_> = found
            .iter()
            .map(|it| (it.kind, it.labels.clone()))
            .collect();
        assert_eq!(
            kinds,
            [
                ("terraform", vec![]),
                ("variable", vec!["size"]),
                ("output", vec!["ip"])
            ]
        );
        assert_eq!(found[0].blocks[0].labels, ["s3"]);
        assert_eq!(found[0].value("required_version"), Some(">= 1.4"));
        assert!(found[1].has("default") && !found[1].has("condition"));
        assert_eq!(found[1].value("sensitive"), Some("true"));
        assert_eq!(found[1].value("type"), None);
    }
}
