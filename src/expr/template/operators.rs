//! Rewriting of expressions that the engine cannot evaluate: the operator `%` of texts becomes a filter, and
//! `x['get'](…)` becomes `x.get(…)`.

use std::borrow::Cow;

use super::delimiters::{Delimiters, expression_length, rewrite_tags, string_length};
use super::inserted_names::REMAINDER_FILTER;

/// The methods of maps. As in Jinja2, a name after a dot finds a method before it finds an entry.
pub(super) const METHODS: [&str; 11] = [
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

/// The words that end an operand.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "is", "if", "else", "recursive"];

/// Rewrites the expressions of a template. Borrows the text if nothing is to be rewritten.
pub(super) fn rewrite_operators<'a>(text: &'a str, delimiters: &Delimiters) -> Cow<'a, str> {
    if !has_remainder(text) && !has_named_method(text) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(rewrite_tags(text, delimiters, |_, expression, _| {
        Cow::Owned(rewrite(expression))
    }))
}

/// Returns true if a text can have the operator `%`. The delimiters of blocks do not count.
fn has_remainder(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_operator = |at: usize| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        before != Some(b'{') && bytes.get(at + 1) != Some(&b'}')
    };
    text.match_indices('%').any(|(at, _)| is_operator(at))
}

fn has_named_method(text: &str) -> bool {
    text.contains("'](") || text.contains("\"](")
}

/// The operand that is being read at one depth of brackets.
#[derive(Debug, Clone, Copy, Default)]
struct Operand {
    /// The start in the output. None between operands.
    start: Option<usize>,
    /// True if the operand can be a text: it is no number, and no other operator binds it more closely.
    can_be_text: bool,
    /// True if the next name or number continues the operand, after a `.` or `|`.
    continues: bool,
    /// True after an operator that binds as closely as `%`, or a sign.
    follows_operator: bool,
}

/// Rewrites an expression.
fn rewrite(expression: &str) -> String {
    let mut rewriter = ExpressionRewriter {
        output: String::with_capacity(expression.len() + 16),
        rest: expression,
        outer: Vec::new(),
        operand: Operand::default(),
    };
    while let Some(first) = rewriter.rest.chars().next() {
        if !rewriter.rewrite_operator(first) {
            let length = rewriter.read_token(first);
            rewriter.output.push_str(&rewriter.rest[..length]);
            rewriter.rest = &rewriter.rest[length..];
        }
    }
    rewriter.output
}

/// The rewriting of an expression from left to right.
struct ExpressionRewriter<'a> {
    output: String,
    rest: &'a str,
    /// The operands of the open brackets.
    outer: Vec<Operand>,
    operand: Operand,
}

impl ExpressionRewriter<'_> {
    /// Rewrites the operator `%` or a method in brackets at the current place. Returns false for other text.
    fn rewrite_operator(&mut self, first: char) -> bool {
        let Some(start) = self.operand.start else {
            return false;
        };
        if first == '['
            && let Some((method, length)) = method_in_brackets(self.rest)
        {
            self.output.push('.');
            self.output.push_str(method);
            self.rest = &self.rest[length..];
            return true;
        }
        if first != '%' || !self.operand.can_be_text {
            return false;
        }
        let length = operand_length(&self.rest[1..]);
        let right = rewrite(self.rest[1..=length].trim());
        let end = start + self.output[start..].trim_end().len();
        self.output.truncate(end);
        self.output
            .push_str(&format!("|{REMAINDER_FILTER}({right})"));
        self.rest = &self.rest[1 + length..];
        true
    }

    /// Returns the length of the token at the current place, and notes its meaning for the operand.
    fn read_token(&mut self, first: char) -> usize {
        let at = self.output.len();
        let operand = &mut self.operand;
        match first {
            '\'' | '"' => {
                operand.begin(at, true);
                string_length(self.rest)
            }
            c if c.is_alphanumeric() || c == '_' => {
                let length = word_length(self.rest);
                if KEYWORDS.contains(&&self.rest[..length]) && !operand.continues {
                    *operand = Operand::default();
                } else {
                    operand.begin(at, !c.is_ascii_digit() && !operand.follows_operator);
                }
                length
            }
            '(' | '[' | '{' => {
                operand.begin(at, !operand.follows_operator);
                self.outer.push(std::mem::take(operand));
                1
            }
            ')' | ']' | '}' => {
                *operand = self.outer.pop().unwrap_or_default();
                1
            }
            '.' | '|' => {
                operand.continues = operand.start.is_some();
                1
            }
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                *operand = Operand {
                    follows_operator: matches!(c, '*' | '/' | '%' | '-' | '+'),
                    ..Operand::default()
                };
                c.len_utf8()
            }
        }
    }
}

/// Returns the length of the name or number at the start of a text.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

impl Operand {
    /// Begins an operand at a place of the output, unless one is being read.
    fn begin(&mut self, at: usize, can_be_text: bool) {
        if self.start.is_none() {
            self.start = Some(at);
            self.can_be_text = can_be_text;
        }
        self.continues = false;
    }
}

/// Returns the method of a text such as `['get'](…)` and the length of its part in brackets.
fn method_in_brackets(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix('[')?;
    let quote = inner.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (name, after) = inner[1..].split_once(quote)?;
    let is_call = after.starts_with("](");
    (is_call && METHODS.contains(&name)).then_some((name, name.len() + 4))
}

/// Returns the length of the operand at the start of a text: a value with its attributes, calls and filters.
fn operand_length(text: &str) -> usize {
    let blank = text.len() - text.trim_start().len();
    let mut at = blank;
    at += text[at..].len() - text[at..].trim_start_matches(['-', '+']).len();
    let mut has_value = false;
    let mut continues = true;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        at += match first {
            '\'' | '"' if continues => string_length(rest),
            c if (c.is_alphanumeric() || c == '_') && continues => word_length(rest),
            '(' | '[' | '{' if continues || first != '{' => bracket_length(rest),
            '.' => {
                continues = true;
                at += 1;
                continue;
            }
            _ => {
                let after = rest.trim_start();
                if !has_value || !after.starts_with('|') {
                    return at;
                }
                let filter = after[1..].trim_start();
                continues = true;
                at += rest.len() - filter.len();
                continue;
            }
        };
        has_value = true;
        continues = false;
    }
    text.len()
}

/// Returns the length of the text in brackets at the start, with the brackets.
fn bracket_length(text: &str) -> usize {
    let close = match text.as_bytes().first() {
        Some(b'(') => ")",
        Some(b'[') => "]",
        _ => "}",
    };
    let inner = expression_length(&text[1..], close);
    (inner + 2).min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        rewrite_operators(text, &Delimiters::default()).into_owned()
    }

    #[test]
    fn the_operator_of_texts_becomes_a_filter() {
        let pairs = [
            ("{{ '%s' % x }}", "{{ '%s'|__remainder(x) }}"),
            (
                "{{ ('%s-%d' % (a, b)) ~ 'x' }}",
                "{{ ('%s-%d'|__remainder((a, b))) ~ 'x' }}",
            ),
            (
                "{% if a % 2 == 0 %}{{ a.b[0]|c % d.e|f(1) and g }}{% endif %}",
                "{% if a|__remainder(2) == 0 %}{{ a.b[0]|c|__remainder(d.e|f(1)) and g }}{% endif %}",
            ),
            (
                "{% set x = 'a %s' % y if z else 'b' -%}",
                "{% set x = 'a %s'|__remainder(y) if z else 'b' -%}",
            ),
            (
                "{{ '%s' % 'x' % 'y' }}",
                "{{ '%s'|__remainder('x')|__remainder('y') }}",
            ),
            ("{{ f('%s' % x, y) }}", "{{ f('%s'|__remainder(x), y) }}"),
            (
                "{{ '%s' % x['get']('a') }}",
                "{{ '%s'|__remainder(x.get('a')) }}",
            ),
        ];
        for (text, expected) in pairs {
            assert_eq!(rewritten(text), expected);
        }
    }

    #[test]
    fn numbers_and_plain_text_stay() {
        for text in [
            "100 % of {{ x }}",
            "{{ 7 % 2 }} {{ 2 * a % 3 }} {{ -a % 3 }}",
            "{# '%s' % x #}",
            "{% raw %}{{ '%s' % x }}{% endraw %}",
            "{{ '%' }}%",
            "{{ d['key'](1) }}",
        ] {
            assert_eq!(rewritten(text), text);
        }
    }

    #[test]
    fn a_method_that_is_named_in_brackets_is_called() {
        assert_eq!(rewritten("{{ x['get']('a', 1) }}"), "{{ x.get('a', 1) }}");
        assert_eq!(
            rewritten("{{ grains[\"items\"]() }}"),
            "{{ grains.items() }}"
        );
    }
}
