//! Judges the facts about a value: names that do not exist, and syntax errors.

use std::sync::Arc;

use super::checker::Checker;
use super::narrow::template_line;
use super::syntax_text::explain_syntax;
use super::value_place::ValuePlace;
use crate::diagnostic::Check;
use crate::expr::{
    Fact, facts, filter_hint, function_hint, is_template, needs_evaluation, part_hint, test_hint,
};
use crate::text::did_you_mean;
use crate::value::Value;

/// The maximum number of problems of one value.
const MAX_OF_VALUE: usize = 20;

impl Checker<'_> {
    /// Checks the expressions and templates of a value.
    pub(super) fn value(&mut self, raw: &Value, place: ValuePlace<'_>) {
        // A list or map may have a misspelt function in it, which makes it no expression.
        if matches!(raw, Value::Str(_)) && !needs_evaluation(raw) {
            return;
        }
        self.facts(facts(raw), place);
    }

    /// Judges the facts about a value, the first ones if there are very many.
    pub(super) fn facts(&mut self, facts: Vec<Fact>, place: ValuePlace<'_>) {
        let before = self.problems.len();
        for fact in facts {
            if self.is_full() || self.problems.len() >= before + MAX_OF_VALUE {
                return;
            }
            self.fact(fact, place);
        }
    }

    pub(super) fn fact(&mut self, fact: Fact, place: ValuePlace<'_>) {
        match fact {
            Fact::Input(name) => self.input(&name, place),
            Fact::Member(read) => self.member(&read, place),
            Fact::Instance(name) => self.instance(&name, place),
            Fact::Requirement(name) => self.requirement_path(&name, place),
            Fact::Artifact { entity, name } => self.artifact(&entity, &name, place),
            Fact::File(path) => self.file(&path, place),
            Fact::UnknownFunction(name) => {
                let hint = function_hint(&name);
                self.unknown(Check::UnknownFunction, "a function", &name, hint, place);
            }
            Fact::UnknownPart(name) => {
                let subject = (place.subject)();
                let message =
                    format!("an expression has no key `{name}`, so {subject} is a plain map");
                let hint = part_hint(&name);
                self.error(Check::UnknownKey, message, place.span, &name, hint);
            }
            Fact::Syntax {
                message,
                text,
                line,
            } => self.syntax(&message, &text, line, place),
            Fact::Variable { name, text, line } if !place.open_variables => {
                let line = template_line(self.sources, place.span, &text, line);
                let span = line.unwrap_or(place.span);
                self.variable(&name, ValuePlace { span, ..place });
            }
            Fact::ExpressionVariable { name, known } if !place.open_variables => {
                self.expression_variable(&name, &known, place);
            }
            Fact::UnknownFilter(name) => {
                let hint = filter_hint(&name);
                self.unknown(Check::UnknownFilter, "a filter", &name, hint, place);
            }
            Fact::UnknownTest(name) => {
                let hint = test_hint(&name);
                self.unknown(Check::UnknownFilter, "a test", &name, hint, place);
            }
            Fact::Variable { .. } | Fact::ExpressionVariable { .. } => {}
        }
    }

    /// Reports the name of a function, filter or test that does not exist.
    fn unknown(
        &mut self,
        check: Check,
        kind: &str,
        name: &str,
        hint: Option<String>,
        place: ValuePlace<'_>,
    ) {
        let message = format!("`{name}` in {} is not {kind}", (place.subject)());
        self.error(check, message, place.span, name, hint);
    }

    fn syntax(&mut self, message: &str, text: &str, line: usize, place: ValuePlace<'_>) {
        let (message, hint) = explain_syntax(message);
        let kind = if is_template(text) {
            "template"
        } else {
            "path"
        };
        let message = format!(
            "the {kind} of {} has a syntax error: {message}",
            (place.subject)()
        );
        let line = template_line(self.sources, place.span, text, line.max(1));
        self.error(
            Check::TemplateSyntax,
            message,
            line.unwrap_or(place.span),
            "",
            hint,
        );
    }

    fn input(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        let declared = self.inputs_of(place.within);
        if declared.contains_key(name) || (place.within.is_none() && self.given.contains(name)) {
            return;
        }
        let message = format!(
            "{} reads the input `{name}`, which is not declared",
            (place.subject)()
        );
        let hint = did_you_mean(name, declared.keys().map(|name| &**name));
        let hint =
            hint.or_else(|| Some(format!("declare `{name}` under `topology_template.inputs`")));
        self.error(Check::UndeclaredInput, message, place.span, name, hint);
    }

    /// Reports a file that an expression reads and that does not exist.
    fn file(&mut self, path: &Arc<str>, place: ValuePlace<'_>) {
        if path.starts_with(['/', '~', '$']) || self.is_written(path) {
            return;
        }
        let Some(hint) = self.missing_file(path, self.base_dir) else {
            return;
        };
        let message = format!(
            "{} reads the file `{path}`, which does not exist",
            (place.subject)()
        );
        self.error(Check::MissingFile, message, place.span, path, Some(hint));
    }

    fn expression_variable(&mut self, name: &Arc<str>, known: &[Arc<str>], place: ValuePlace<'_>) {
        if self.variables.contains(name) {
            return;
        }
        let message = format!(
            "the expression of {} uses the variable `${name}`, which nothing sets",
            (place.subject)()
        );
        let hint = did_you_mean(name, known.iter().map(|name| &**name));
        self.warning(Check::EmptyPath, message, place.span, name, hint);
    }

    fn variable(&mut self, name: &Arc<str>, place: ValuePlace<'_>) {
        if self.variables.contains(name) {
            return;
        }
        let message = format!(
            "the template of {} uses `{name}`, which no scope has",
            (place.subject)()
        );
        let known = [
            "SELF",
            "NODES",
            "TOPOLOGY",
            "HOST",
            "SOURCE",
            "TARGET",
            "ORCHESTRATOR",
            "inputs",
        ];
        let hint = did_you_mean(name, known).or_else(|| {
            let is_node = self.topology.nodes.contains_key(&**name);
            is_node.then(|| format!("write `NODES.{name}` or `'::{name}' | eval`"))
        });
        self.error(Check::UnknownVariable, message, place.span, name, hint);
    }
}
