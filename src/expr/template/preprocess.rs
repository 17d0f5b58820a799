//! Preprocessing of template text before compilation: it treats backslashes as Ansible does, adds checks of
//! the size of assigned variables, and translates Salt's own tags.
use std::borrow::Cow;

use super::delimiters::{Delimiters, TagFinder, TagKind, expression_length, string_length};
use super::inserted_names::{
    CHANGING_FUNCTIONS, CHECK_FUNCTION, COUNT_FUNCTION, ISOLATED_FUNCTION, ITEMS_FUNCTION,
    MUTABLE_FUNCTION, STATEMENT_FUNCTION,
};
use super::operators::rewrite_operators;
use super::variadic::rewrite_macros;

/// The variable that receives the result of an inserted size check.
const CHECK_RESULT: &str = "__kept";

/// The length in bytes from which plain text between tags is counted as output, because a loop can repeat it.
const COUNTED_LENGTH: usize = 64;

/// The formats of the tags `load_…` and `import_…`.
const FORMATS: [&str; 3] = ["yaml", "json", "text"];

/// The meaning of a backslash in a string within `{{ … }}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backslashes {
    /// A backslash stands for itself, as in Ansible.
    Literal,
    /// A backslash escapes the next character, as in Jinja2.
    ///
    /// Documents use this mode. In it, Salt's tags work.
    Escape,
}

/// Prepares a template of an expression. A backslash in a string stands for itself, and assigned variables
/// are checked.
pub(super) fn prepare_template<'a>(text: &'a str, delimiters: &Delimiters) -> Cow<'a, str> {
    prepare_source(Backslashes::Literal, text, delimiters)
}

/// Prepares a text for compilation and adds checks of assigned variables.
pub(super) fn prepare_source<'a>(
    backslashes: Backslashes,
    text: &'a str,
    delimiters: &Delimiters,
) -> Cow<'a, str> {
    let rewritten = match rewrite_macros(text, delimiters) {
        Cow::Borrowed(text) => rewrite_operators(text, delimiters),
        Cow::Owned(text) => Cow::Owned(rewrite_operators(&text, delimiters).into_owned()),
    };
    match rewritten {
        Cow::Borrowed(text) => prepare_rewritten(backslashes, text, delimiters),
        Cow::Owned(text) => {
            Cow::Owned(prepare_rewritten(backslashes, &text, delimiters).into_owned())
        }
    }
}

/// Prepares a text whose operators the engine knows.
fn prepare_rewritten<'a>(
    backslashes: Backslashes,
    text: &'a str,
    delimiters: &Delimiters,
) -> Cow<'a, str> {
    let [block, variable, comment] = &delimiters.0;
    let contains = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let binds = || {
        contains(&[
            "set", "for", "with", "macro", "block", "import", "load_", "do",
        ])
    };
    let is_plain = !text.contains(block[0].as_str()) || !binds();
    if is_plain && (backslashes == Backslashes::Escape || !text.contains('\\')) {
        return Cow::Borrowed(text);
    }
    let mut scanner = TemplateScanner {
        rest: text,
        output: String::with_capacity(text.len() + 64),
        block: [&block[0], &block[1]],
        ends: [&block[1], &variable[1], &comment[1]],
        captures: Vec::new(),
        loads: Vec::new(),
        backslashes,
        repeats: contains(&["for", "macro", "block", "include"]),
    };
    let mut finder = TagFinder::new(text, delimiters);
    loop {
        let here = text.len() - scanner.rest.len();
        let Some((at, kind, [start, end])) = finder.find(here) else {
            scanner.plain(scanner.rest.len());
            return Cow::Owned(scanner.output);
        };
        scanner.plain(at - here);
        scanner.copy(start.len());
        match kind {
            TagKind::Variable => scanner.variable(end),
            TagKind::Comment => {
                let end = scanner.rest.find(end.as_str());
                scanner.copy(end.unwrap_or(scanner.rest.len()));
            }
            TagKind::Block => scanner.tag(),
        }
    }
}

struct TemplateScanner<'a> {
    rest: &'a str,
    output: String,
    block: [&'a str; 2],
    /// The ends of all kinds of tags.
    ends: [&'a str; 3],
    /// The variables of the open `{% set name %}` blocks.
    captures: Vec<String>,
    /// The variables of the open `{% load_yaml as name %}` blocks and similar.
    loads: Vec<String>,
    backslashes: Backslashes,
    /// Whether the template can repeat a part of itself.
    repeats: bool,
}

impl TemplateScanner<'_> {
    fn copy(&mut self, length: usize) {
        self.output.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
    }

    /// Copies plain text. In a long one that the template can repeat, adds a tag that counts it as output.
    ///
    /// The tag stands after a character that is no white space, so that it changes no white space around tags.
    fn plain(&mut self, length: usize) {
        let text = &self.rest[..length];
        if !self.repeats || length < COUNTED_LENGTH {
            return self.copy(length);
        }
        // The end of the previous tag comes first.
        let start = text.trim_start_matches(['-', '+']);
        let end = self.ends.iter().find_map(|end| start.strip_prefix(*end));
        let begin = length - end.unwrap_or(text).len();
        let mut characters = text[begin..].char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let at = begin + at;
            let next = characters.peek().map(|(_, next)| *next);
            if !character.is_whitespace() && next.is_some_and(|next| !next.is_whitespace()) {
                self.copy(at + character.len_utf8());
                let [start, end] = self.block;
                self.output.push_str(&format!(
                    "{start} set {CHECK_RESULT} = {COUNT_FUNCTION}({length}) {end}"
                ));
                return self.copy(length - at - character.len_utf8());
            }
        }
        self.copy(length);
    }

    /// Copies an expression up to its end delimiter and doubles the backslashes if they are literal.
    fn variable(&mut self, end: &str) {
        let length = expression_length(self.rest, end);
        if self.backslashes == Backslashes::Escape {
            return self.copy(length);
        }
        let (mut expression, rest) = self.rest.split_at(length);
        self.rest = rest;
        while let Some(start) = expression.find(['\'', '"']) {
            let quote = expression[start..].chars().next().unwrap_or('"');
            let length = string_length(&expression[start..]);
            self.output.push_str(&expression[..start]);
            let mut string = expression[start..start + length].chars();
            while let Some(character) = string.next() {
                self.output.push(character);
                if character == '\\' {
                    // A quote of the same kind stays part of the string.
                    match string.next() {
                        Some('\\') => self.output.push_str("\\\\\\"),
                        Some(next) if next == quote => self.output.push(next),
                        next => self.output.extend(std::iter::once('\\').chain(next)),
                    }
                }
            }
            expression = &expression[start + length..];
        }
        self.output.push_str(expression);
    }

    /// Copies a tag and adds a check of the variables that it assigns.
    fn tag(&mut self) {
        let length = expression_length(self.rest, self.block[1]);
        let inner = &self.rest[..length];
        let words = inner.trim_start_matches(['-', '+']).trim_start();
        let name_end = words
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(words.len());
        let (name, body) = words.split_at(name_end);
        let body = body.trim_end_matches(['-', '+']).trim();
        if name == "raw" {
            return self.raw();
        }
        if let Some(tag) = self.translated_tag(inner, name, body) {
            self.output.push_str(&tag);
            self.rest = &self.rest[length..];
            return;
        }
        let bound = match name {
            "set" => match split_at_equals(body) {
                Some(target) => target.to_owned(),
                None => {
                    let target = body.split('|').next().unwrap_or_default();
                    self.captures.push(target.trim().to_owned());
                    String::new()
                }
            },
            "endset" => self.captures.pop().unwrap_or_default(),
            "for" => body.split(" in ").next().unwrap_or_default().to_owned(),
            "with" => targets(body),
            "macro" => match (body.find('('), body.rfind(')')) {
                (Some(open), Some(close)) if open < close => targets(&body[open + 1..close]),
                _ => String::new(),
            },
            _ => String::new(),
        };
        let length = length - self.for_head(inner, name);
        let control = inner.ends_with(['-', '+']) && !inner.trim_start().is_empty();
        self.copy(length - usize::from(control && !bound.trim().is_empty()));
        if bound.trim().is_empty() {
            return;
        }
        let [start, end] = self.block;
        self.output.push_str(&format!(
            "{end}{start} set {CHECK_RESULT} = {CHECK_FUNCTION}({bound}) "
        ));
    }

    /// Copies the expressions of a `for` tag with the checks of what they give. Returns the length of what was copied,
    /// 0 for other tags.
    fn for_head(&mut self, inner: &str, name: &str) -> usize {
        if name != "for" {
            return 0;
        }
        let mut copied = 0;
        let condition = expression_length(inner, " if ");
        let items = expression_length(inner, " in ") + " in ".len();
        let whole = inner.trim_end_matches(['-', '+']).trim_end();
        let end = condition.min(whole.strip_suffix(" recursive").unwrap_or(whole).len());
        if items < end {
            self.copy(items);
            self.output.push_str(&format!("{ITEMS_FUNCTION}("));
            self.copy(end - items);
            self.output.push(')');
            copied = end;
        }
        if condition < inner.len() {
            // The engine checks the condition for all items before the first round.
            let condition = condition + " if ".len();
            self.copy(condition - copied);
            self.output.push_str(&format!("{COUNT_FUNCTION}(0) and "));
            copied = condition;
        }
        copied
    }

    /// Translates a tag that the engine does not know. None for other tags.
    fn translated_tag(&mut self, inner: &str, name: &str, body: &str) -> Option<String> {
        let is_document = self.backslashes == Backslashes::Escape;
        if name == "do" {
            return Some(self.do_tag(inner, body, is_document));
        }
        if name == "set" {
            return assignment(inner, body, self.block);
        }
        if !is_document {
            return None;
        }
        self.load_tag(inner, name, body)
            .or_else(|| import_tag(inner, name, body, self.block))
    }

    /// Translates a `do` statement: the engine accepts only a call, Jinja2 accepts any expression.
    fn do_tag(&self, inner: &str, body: &str, is_document: bool) -> String {
        let (start, end) = whitespace_control(inner);
        let changes = |function: &&str| body.contains(*function);
        if !is_document || !CHANGING_FUNCTIONS.iter().any(changes) {
            return format!("{start} set {CHECK_RESULT} = ({body}) {end}");
        }
        let [open, close] = self.block;
        format!(
            "{start} set {CHECK_RESULT} = {STATEMENT_FUNCTION}(true) and ({body}) {close}{open} set {CHECK_RESULT} = {STATEMENT_FUNCTION}(false) {end}"
        )
    }

    /// Translates the start or the end of a block whose text is loaded into a variable.
    fn load_tag(&mut self, inner: &str, name: &str, body: &str) -> Option<String> {
        let (start, end) = whitespace_control(inner);
        if name == "endload" {
            let variable = self.loads.pop()?;
            let [open, close] = self.block;
            return Some(format!(
                "{start} endset {close}{open} set {variable} = {MUTABLE_FUNCTION}({variable}) {end}"
            ));
        }
        let format = name.strip_prefix("load_")?;
        let variable = body.strip_prefix("as")?.trim();
        if !FORMATS.contains(&format) || variable.is_empty() {
            return None;
        }
        self.loads.push(variable.to_owned());
        Some(format!("{start} set {variable} | load_{format} {end}"))
    }

    fn raw(&mut self) {
        let mut from = 0;
        while let Some(found) = self.rest[from..].find(self.block[0]) {
            from += found + self.block[0].len();
            let word = self.rest[from..]
                .trim_start_matches(['-', '+'])
                .trim_start();
            if word.starts_with("endraw") {
                let end = self.rest[from..].find(self.block[1]);
                from = end.map_or(self.rest.len(), |end| from + end);
                break;
            }
        }
        self.copy(if from == 0 { self.rest.len() } else { from });
    }
}

/// Translates an assignment, whose value becomes mutable. None for other tags.
fn assignment(inner: &str, body: &str, block: [&str; 2]) -> Option<String> {
    let [open, close] = block;
    let (start, end) = whitespace_control(inner);
    let target = split_at_equals(body)?;
    let value = body[target.len()..].trim_start().strip_prefix('=')?;
    Some(format!(
        "{start} set {target} = {MUTABLE_FUNCTION}({value}) {close}{open} set {CHECK_RESULT} = {CHECK_FUNCTION}({target}) {end}"
    ))
}

/// Translates a tag that imports a template. None for other tags.
///
/// The engine shares all variables with imported templates, so tags without `with context` ask for a template that
/// hides them. The engine also keeps what an included template sets, which `with` ends.
fn import_tag(inner: &str, name: &str, body: &str, block: [&str; 2]) -> Option<String> {
    let [open, close] = block;
    let (start, end) = whitespace_control(inner);
    let (body, shares) = without_context_words(body, name == "include");
    let template = |path: &str| {
        if shares {
            path.trim().to_owned()
        } else {
            format!("{ISOLATED_FUNCTION}({})", path.trim())
        }
    };
    match name {
        "import" | "from" => {
            let word = if name == "import" { " as " } else { " import " };
            let path = &body[..expression_length(body, word)];
            let rest = body.get(path.len()..).filter(|rest| !rest.is_empty())?;
            Some(format!("{start} {name} {}{rest} {end}", template(path)))
        }
        "include" => {
            let path = body.strip_suffix("ignore missing").unwrap_or(body);
            let rest = &body[path.len()..];
            Some(format!(
                "{start} with {close}{open} include {} {rest} {close}{open} endwith {end}",
                template(path)
            ))
        }
        "import_yaml" | "import_json" | "import_text" => {
            let (path, name) = body.rsplit_once(" as ")?;
            let format = format_of(inner)?;
            let name = name.trim();
            Some(format!(
                "{start} set {name} | load_{format} {close}{open} with {close}{open} include {} {close}{open} endwith {close}{open} endset {close}{open} set {name} = {MUTABLE_FUNCTION}({name}) {end}",
                template(path)
            ))
        }
        _ => None,
    }
}

/// Removes `with context` or `without context` from the end of a tag. The flag is true if the template that is
/// imported sees all variables.
fn without_context_words(body: &str, shares: bool) -> (&str, bool) {
    let Some(rest) = body.strip_suffix("context").map(str::trim_end) else {
        return (body, shares);
    };
    for (word, shares) in [(" without", false), (" with", true)] {
        if let Some(rest) = rest.strip_suffix(word) {
            return (rest.trim_end(), shares);
        }
    }
    (body, shares)
}

/// Returns the signs at the start and the end of a tag that remove white space around the tag.
fn whitespace_control(inner: &str) -> (&'static str, &'static str) {
    let sign = |has: &dyn Fn(char) -> bool| match (has('-'), has('+')) {
        (true, _) => "-",
        (false, true) => "+",
        (false, false) => "",
    };
    (
        sign(&|sign| inner.starts_with(sign)),
        sign(&|sign| inner.ends_with(sign)),
    )
}

/// Returns the file format of an `import_…` tag.
fn format_of(inner: &str) -> Option<&'static str> {
    let (_, rest) = inner.split_once("import_")?;
    FORMATS.into_iter().find(|format| rest.starts_with(format))
}

/// Returns the target of an assignment: the text before the `=`. None if the text is not an assignment.
fn split_at_equals(body: &str) -> Option<&str> {
    let at = body.find('=')?;
    let is_assignment = !body[at + 1..].starts_with('=') && !body[..at].contains('|');
    is_assignment.then(|| body[..at].trim())
}

/// Returns the names in a list of `name` or `name = value`.
fn targets(list: &str) -> String {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let length = expression_length(rest, ",");
        let part = &rest[..length];
        names.push(part.split('=').next().unwrap_or_default().trim());
        rest = rest[length..].strip_prefix(',').unwrap_or_default();
    }
    names.retain(|name| !name.is_empty());
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        prepare_template(text, &Delimiters::default()).into_owned()
    }

    #[test]
    fn a_backslash_in_an_expression_stands_for_itself() {
        assert_eq!(
            shown(r"a\n{{ 'x\n' ~ '}}\1' }}\n{% if '\n' %}"),
            r"a\n{{ 'x\\n' ~ '}}\\1' }}\n{% if '\n' %}"
        );
        assert_eq!(
            shown(r"{{ 'it\'s' }} {{ 'a\\' }}"),
            r"{{ 'it\'s' }} {{ 'a\\\\' }}"
        );
        assert_eq!(
            shown(r"{% raw %}{{ '\n' }}{% endraw %}{# {{ '\n' #}"),
            r"{% raw %}{{ '\n' }}{% endraw %}{# {{ '\n' #}"
        );
        assert_eq!(
            shown(r"{{ {'a': {'b': '\d'}}}}\d"),
            r"{{ {'a': {'b': '\\d'}}}}\d"
        );
        assert_eq!(shown(r"{{ '\"), r"{{ '\\");
    }

    #[test]
    fn long_text_that_a_loop_can_repeat_is_counted() {
        let text = "x ".repeat(40);
        let counted = |tag: &str, text: &str, end: &str| {
            let all = text.len() + end.len() + "-".len();
            let count = format!("{{% set {CHECK_RESULT} = {COUNT_FUNCTION}({all}) %}}");
            let (first, rest) = text.split_at(text.find("xx").unwrap() + 1);
            format!("{tag}{end}{first}{count}{rest}")
        };
        let long = format!(" \n{text}xx {text}");
        let first_loop = "{% for a in b -";
        let check = format!("%}}{{% set {CHECK_RESULT} = {CHECK_FUNCTION}(a) -");
        assert_eq!(
            shown(&format!("{first_loop}%}}{long}{{%- endfor %}}{text}")),
            counted("{% for a in b ", &long, "%}").replacen(
                "{% for a in b ",
                &format!("{{% for a in {ITEMS_FUNCTION}(b) {check}"),
                1
            ) + &format!("{{%- endfor %}}{text}")
        );
        let raw = format!("{{% for %}}{{% raw %}}{{{{ {text} }}}}{{% endraw %}}{text}");
        assert_eq!(shown(&raw), raw);
        assert_eq!(
            shown(&format!("{{% if for %}}{text}")),
            format!("{{% if for %}}{text}")
        );
    }

    #[test]
    fn what_tags_bind_is_checked() {
        let check = format!("%}}{{% set {CHECK_RESULT} = {CHECK_FUNCTION}");
        let pairs = [
            (
                "{% set a = 1 %}",
                format!("{{% set a = {MUTABLE_FUNCTION}( 1) {check}(a) %}}"),
            ),
            (
                "{%- set ns.a = ns.a ~ 'b' -%}",
                format!("{{%- set ns.a = {MUTABLE_FUNCTION}( ns.a ~ 'b') {check}(ns.a) -%}}"),
            ),
            (
                "{%- for a, b in c if d -%}",
                format!(
                    "{{%- for a, b in {ITEMS_FUNCTION}(c) if {COUNT_FUNCTION}(0) and d {check}(a, b) -%}}"
                ),
            ),
            (
                "{% with a = [1, 2], b = c %}",
                format!("{{% with a = [1, 2], b = c {check}(a, b) %}}"),
            ),
            (
                "{% macro m(a, b=(1, 2)) %}",
                format!("{{% macro m(a, b=(1, 2)) {check}(a, b) %}}"),
            ),
            (
                "{% set a %}x{% endset %}",
                format!("{{% set a %}}x{{% endset {check}(a) %}}"),
            ),
            (
                "{% for a in (b if c else d) %}",
                format!("{{% for a in {ITEMS_FUNCTION}((b if c else d)) {check}(a) %}}"),
            ),
            ("{% if set == for %}x", "{% if set == for %}x".to_owned()),
            ("{% for", "{% for".to_owned()),
        ];
        for (text, expected) in pairs {
            assert_eq!(shown(text), expected);
        }
    }
}
