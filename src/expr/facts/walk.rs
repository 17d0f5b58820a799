//! Walks a raw value in the way in which the evaluator evaluates it, and collects the facts.

use std::collections::HashSet;
use std::sync::Arc;

use super::fact::{Fact, MemberRead};
use super::template_facts::template_facts;
use crate::expr::functions;
use crate::expr::path::{self, Key, Segment};
use crate::expr::syntax::{
    Expression, PARTS, STAND_ALONE, is_expression, is_stand_alone, is_template,
};
use crate::text::{is_close, most_similar};
use crate::value::{Map, Value};

/// The maximum depth in a value at which facts are collected.
const MAX_DEPTH: usize = 64;

/// Returns the facts about a raw value. Values that a task evaluates with further variables give the facts that
/// hold in any case.
pub fn facts(raw: &Value) -> Vec<Fact> {
    let mut walker = Walker::default();
    walker.value(raw, 0);
    walker.facts
}

/// Returns the facts about a text that is a template, even if it has no tag.
pub fn raw_template_facts(text: &str) -> Vec<Fact> {
    template_facts(text, &HashSet::new())
}

#[derive(Debug, Default)]
struct Walker {
    facts: Vec<Fact>,
    /// The variables that the expressions around the current value set.
    variables: HashSet<Arc<str>>,
}

impl Walker {
    fn value(&mut self, raw: &Value, depth: usize) {
        if depth > MAX_DEPTH || raw.own_marks().data {
            return;
        }
        match raw {
            Value::Str(text) if is_template(text) => {
                self.facts.extend(template_facts(text, &self.variables));
            }
            Value::List(items) => items.iter().for_each(|item| self.value(item, depth + 1)),
            Value::Map(map) if is_expression(raw) => self.expression(raw, map, depth),
            Value::Map(map) => {
                if let Some((name, argument)) = map.iter().next().filter(|_| map.len() == 1) {
                    self.misspelt_function(name, argument);
                }
                self.misspelt_part(map);
                map.values().for_each(|item| self.value(item, depth + 1));
            }
            _ => {}
        }
    }

    /// Notes the key of a map that resembles a function.
    fn misspelt_function(&mut self, name: &Arc<str>, argument: &Value) {
        // Most keys resemble none, so this is decided by the letters alone.
        let begins = |letters: &str| name.starts_with(|at: char| letters.contains(at));
        if !name.contains(['_', '-']) && !begins("gGhHeE") && name.len() != 4 {
            return;
        }
        let plain = |name: &str| name.replace(['-', '_'], "").to_lowercase();
        let long = || {
            STAND_ALONE
                .into_iter()
                .filter(|known| known.contains('_') && *known != "_generate")
        };
        let is_similar = name.contains(['_', '-']) && long().any(|known| is_close(name, known, 2))
            || long().any(|known| plain(known) == plain(name));
        let is_eval = &**name != "eval"
            && (name.eq_ignore_ascii_case("eval")
                || (is_close(name, "eval", 1) && looks_like_source(argument)));
        if (is_similar && !is_stand_alone(name) && functions::find(name).is_none()) || is_eval {
            self.facts.push(Fact::UnknownFunction(Arc::clone(name)));
        }
    }

    /// Notes a key beside `eval` that resembles a part of an expression and makes the map a plain one.
    fn misspelt_part(&mut self, map: &Map) {
        if !has_query(map) {
            return;
        }
        for name in map
            .keys()
            .filter(|name| !matches!(&***name, "eval" | "ref"))
        {
            if !PARTS.contains(&&**name) && most_similar(name, PARTS).is_some() {
                self.facts.push(Fact::UnknownPart(Arc::clone(name)));
            }
        }
    }

    /// An expression that is a map: `{eval: …}` or a function that stands alone.
    fn expression(&mut self, raw: &Value, map: &Map, depth: usize) {
        let form = Expression::parse_query(raw);
        let outer = self.variables.clone();
        for (name, value) in form.vars.into_iter().flatten() {
            self.value(value, depth + 1);
            self.variables.insert(Arc::clone(name));
        }
        if form.foreach.is_some() || form.select.is_some() {
            let of_loops = ["item", "index", "key", "collection", "break", "continue"];
            self.variables.extend(of_loops.map(Arc::from));
        }
        if map.contains_key("eval") || map.contains_key("ref") {
            self.source(form.source, depth + 1);
        } else {
            self.call(map, depth + 1);
        }
        for each in [form.foreach, form.select].into_iter().flatten() {
            match each {
                Value::Map(inner) if !is_expression(each) && is_call(inner) => {
                    self.call(inner, depth + 1);
                }
                // A text is a path from each item.
                Value::Str(text) if !is_template(text) => self.syntax_of_path(text),
                _ => self.value(each, depth + 1),
            }
        }
        self.variables = outer;
    }

    /// The source of the results of an expression.
    fn source(&mut self, source: &Value, depth: usize) {
        if depth > MAX_DEPTH || source.own_marks().data {
            return;
        }
        match source {
            Value::Str(text) if !is_template(text) => self.path(text),
            Value::Map(map) if is_expression(source) => self.expression(source, map, depth),
            Value::Map(map) => self.call(map, depth),
            _ => self.value(source, depth),
        }
    }

    /// A map whose key is a function.
    fn call(&mut self, map: &Map, depth: usize) {
        let called = map.iter().find(|(key, _)| functions::find(key).is_some());
        let Some((name, argument)) = called else {
            if let Some((name, _)) = map.iter().next().filter(|_| !has_query(map)) {
                self.facts.push(Fact::UnknownFunction(Arc::clone(name)));
            }
            return;
        };
        match (&**name, argument) {
            ("q", _) => return,
            ("get_input", Value::Str(input)) if !is_template(input) => {
                self.facts.push(Fact::Input(Arc::clone(input)));
            }
            ("get_input", Value::List(items)) if items.len() == 1 => {
                if let Some(Value::Str(input)) = items.first() {
                    self.facts.push(Fact::Input(Arc::clone(input)));
                }
            }
            ("get_property", Value::List(items)) => self.member("get_property", items),
            ("get_attribute", Value::List(items)) => self.member("get_attribute", items),
            ("get_artifact", Value::List(items)) => {
                if let [Value::Str(entity), Value::Str(name), ..] = items.as_slice() {
                    let (entity, name) = (Arc::clone(entity), Arc::clone(name));
                    self.facts.push(Fact::Artifact { entity, name });
                }
            }
            ("file", Value::Str(file)) if !map.contains_key("contents") && !is_template(file) => {
                self.facts.push(Fact::File(Arc::clone(file)));
            }
            _ => {}
        }
        let is_query = matches!(
            &**name,
            "if" | "and" | "or" | "not" | "foreach" | "validate"
        );
        for value in map.values() {
            match value {
                // Some functions evaluate their arguments as paths, which are checked where they are `eval`.
                Value::Str(text) if is_query && !is_template(text) => {}
                _ => self.value(value, depth + 1),
            }
        }
    }

    fn member(&mut self, function: &'static str, arguments: &[Value]) {
        let [Value::Str(entity), Value::Str(name), rest @ ..] = arguments else {
            return;
        };
        if is_template(entity) || is_template(name) || entity.contains(':') {
            return;
        }
        self.facts.push(Fact::Member(MemberRead {
            function,
            entity: Arc::clone(entity),
            name: Arc::clone(name),
            rest: rest
                .iter()
                .map(|part| Arc::from(part.to_string()))
                .collect(),
        }));
    }

    fn path(&mut self, text: &str) {
        match path::parse(text) {
            Ok(segments) => self.segments(&segments),
            Err(error) => self.wrong_path(text, &error),
        }
    }

    fn syntax_of_path(&mut self, text: &str) {
        if let Err(error) = path::parse(text) {
            self.wrong_path(text, &error);
        }
    }

    fn wrong_path(&mut self, text: &str, error: &crate::expr::Error) {
        self.facts.push(Fact::Syntax {
            message: error.to_string(),
            text: text.into(),
            line: 0,
        });
    }

    /// Notes the instance or the requirement at which a path starts, and its variables.
    fn segments(&mut self, segments: &[Segment]) {
        let plain = |segment: &Segment| {
            segment.test.is_none()
                && segment.filters.is_empty()
                && segment.modifier == path::Modifier::None
        };
        if let [start, first, ..] = segments
            && plain(start)
            && plain(first)
            && let Key::Name(name) = &first.key
            && !name.starts_with('.')
        {
            match &start.key {
                Key::None => self.facts.push(Fact::Instance(name.as_str().into())),
                Key::Name(targets) if targets == ".targets" => {
                    self.facts.push(Fact::Requirement(name.as_str().into()));
                }
                _ => {}
            }
        }
        for segment in segments {
            if let Key::Variable(name) = &segment.key
                && !self.variables.contains(name.as_str())
                && !KNOWN_VARIABLES.contains(&name.as_str())
            {
                self.facts.push(Fact::ExpressionVariable {
                    name: name.as_str().into(),
                    known: self.variables.iter().map(Arc::clone).collect(),
                });
            }
        }
    }
}

/// Returns true if a value looks like the source of an expression: a path, or the call of a function.
fn looks_like_source(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.starts_with(['.', '$']) || text.starts_with("::"),
        Value::Map(map) => map
            .keys()
            .next()
            .is_some_and(|key| functions::find(key).is_some()),
        _ => false,
    }
}

/// Variables that every expression has.
const KNOWN_VARIABLES: [&str; 7] = ["true", "false", "null", "none", "inputs", "start", "SELF"];

/// Returns true if a map calls a function that exists.
fn is_call(map: &Map) -> bool {
    map.len() == 1 && map.keys().all(|key| functions::find(key).is_some())
}

fn has_query(map: &Map) -> bool {
    map.contains_key("eval") || map.contains_key("ref")
}
