//! The facts about a template: it is compiled, not rendered, and the instructions tell the names that it uses.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use minijinja::machinery::{Instruction, Instructions, get_compiled_template};
use minijinja::{Environment, ErrorKind};
use regex::Regex;

use super::fact::{Fact, MemberRead};
use crate::expr::template::static_template::{GLOBALS, compile_environment, prepare};

/// The variables and constants that every template has, besides the global functions.
const KNOWN: [&str; 16] = [
    "SELF",
    "Self",
    "NODES",
    "ROOT",
    "TOPOLOGY",
    "HOST",
    "SOURCE",
    "TARGET",
    "ORCHESTRATOR",
    "caller",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
];

/// Returns true if a template has a name in any case. A loop has its own variable `loop`.
fn is_known(name: &str) -> bool {
    let is_global = GLOBALS.contains(&name) && name != "loop";
    KNOWN.contains(&name) || is_global || name.starts_with("__")
}

/// Variables of templates whose attributes are those of an entity.
const ENTITIES: [&str; 4] = ["SELF", "SOURCE", "TARGET", "HOST"];

/// The maximum number of unknown names of one template.
const MAX_NAMES: usize = 20;

/// Compiles a template and returns its facts. `variables` are those that its expression sets.
pub(super) fn template_facts(text: &str, variables: &HashSet<Arc<str>>) -> Vec<Fact> {
    let prepared = match prepare(text.trim()) {
        Ok(Some(prepared)) => prepared,
        // Templates with their own delimiters are checked when they are rendered.
        Ok(None) => return Vec::new(),
        Err(message) => {
            let (text, line) = (text.into(), 0);
            return vec![Fact::Syntax {
                message,
                text,
                line,
            }];
        }
    };
    let environment = compile_environment();
    let template = match environment.template_from_str(&prepared) {
        Ok(template) => template,
        Err(error) => {
            let detail = error.detail().map(str::to_owned);
            let message = detail.unwrap_or_else(|| error.kind().to_string());
            let line = error.line().unwrap_or_default();
            let text = text.into();
            return vec![Fact::Syntax {
                message,
                text,
                line,
            }];
        }
    };
    let compiled = get_compiled_template(&template);
    let all = std::iter::once(&compiled.instructions).chain(compiled.blocks.values());
    let mut names = TemplateNames::default();
    for instructions in all {
        names.collect(instructions);
    }
    names.facts(text, variables, environment)
}

/// The names that a template uses and sets.
#[derive(Debug, Default)]
struct TemplateNames<'t> {
    /// The variables that the template sets outside of loops and blocks.
    set: HashSet<&'t str>,
    /// The variables of the open loops and blocks.
    scopes: Vec<HashSet<&'t str>>,
    /// The variables that are read, with their lines.
    used: Vec<(&'t str, usize)>,
    members: Vec<(&'t str, Vec<&'t str>)>,
    filters: Vec<&'t str>,
    tests: Vec<&'t str>,
    /// Filters and tests that are arguments of filters.
    named_filters: Vec<String>,
    named_tests: Vec<String>,
    functions: Vec<(&'t str, usize)>,
}

impl<'t> TemplateNames<'t> {
    fn collect(&mut self, instructions: &Instructions<'t>) {
        let at = |index: u32| instructions.get(index);
        let line = |index: u32| instructions.get_line(index).unwrap_or(1);
        let mut index = 0;
        while let Some(instruction) = at(index) {
            match instruction {
                Instruction::PushLoop(_) | Instruction::PushWith => {
                    self.scopes.push(HashSet::new());
                }
                Instruction::PopFrame | Instruction::PopLoopFrame => drop(self.scopes.pop()),
                Instruction::StoreLocal(name) | Instruction::BuildMacro(name, ..) => {
                    self.scopes.last_mut().unwrap_or(&mut self.set).insert(name);
                }
                Instruction::Lookup("loop") if !self.scopes.is_empty() => {}
                Instruction::Lookup(name) if !self.is_local(name) => {
                    self.used.push((name, line(index)));
                    let mut chain = Vec::new();
                    while let Some(Instruction::GetAttr(member)) = at(index + 1) {
                        chain.push(*member);
                        index += 1;
                    }
                    if !chain.is_empty() {
                        self.members.push((name, chain));
                    }
                }
                Instruction::ApplyFilter(name, count, _) => {
                    self.filters.push(name);
                    self.collect_argument(name, *count, at(index.wrapping_sub(1)));
                }
                Instruction::PerformTest(name, ..) => self.tests.push(name),
                Instruction::CallFunction(name, ..) if !self.is_local(name) => {
                    self.functions.push((name, line(index)));
                }
                _ => {}
            }
            index += 1;
        }
        self.scopes.clear();
    }

    /// Notes a filter or test whose name is the argument of another filter, such as `map('upper')`.
    fn collect_argument(
        &mut self,
        filter: &str,
        count: Option<u16>,
        argument: Option<&Instruction<'t>>,
    ) {
        let Some(Instruction::LoadConst(value)) = argument else {
            return;
        };
        let Some(name) = value.as_str().map(str::to_owned) else {
            return;
        };
        match (filter, count) {
            ("map", Some(2)) => self.named_filters.push(name),
            ("select" | "reject", Some(2)) | ("selectattr" | "rejectattr", Some(3)) => {
                self.named_tests.push(name);
            }
            _ => {}
        }
    }

    /// Returns true if an open loop or block has the variable.
    fn is_local(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn facts(
        &self,
        text: &str,
        variables: &HashSet<Arc<str>>,
        environment: &Environment<'_>,
    ) -> Vec<Fact> {
        let mut facts = Vec::new();
        let unknown = |(name, _): &&(&str, usize)| {
            !self.set.contains(name) && !variables.contains(*name) && !is_known(name)
        };
        let Tested { names, all } = Tested::of(text);
        if !all {
            let used = self.used.iter().chain(&self.functions).filter(unknown);
            let used = used.filter(|(name, _)| !names.contains(*name));
            let shared: Arc<str> = text.into();
            let mut seen = HashSet::new();
            let used = used.filter(|(name, _)| seen.insert(*name)).take(MAX_NAMES);
            facts.extend(used.map(|(name, line)| Fact::Variable {
                name: Arc::from(*name),
                text: Arc::clone(&shared),
                line: *line,
            }));
            facts.extend(self.member_facts(&names));
        }
        let named = self.named_filters.iter().map(String::as_str);
        let filters = self.filters.iter().copied().chain(named);
        let filters = filters.filter(|name| !exists(environment, Kind::Filter, name));
        facts.extend(filters.map(|name| Fact::UnknownFilter(Arc::from(name))));
        let named = self.named_tests.iter().map(String::as_str);
        let tests = self.tests.iter().copied().chain(named);
        let tests = tests.filter(|name| !exists(environment, Kind::Test, name));
        facts.extend(tests.map(|name| Fact::UnknownTest(Arc::from(name))));
        facts
    }

    fn member_facts(&self, tested: &HashSet<String>) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (name, chain) in &self.members {
            let path = |length: usize| format!("{name}.{}", chain[..length].join("."));
            if self.set.contains(*name)
                || (1..=chain.len()).any(|length| tested.contains(&path(length)))
            {
                continue;
            }
            let member = |entity: &str, chain: &[&str]| {
                let (first, rest) = chain.split_first()?;
                Some(Fact::Member(MemberRead {
                    function: "template",
                    entity: entity.into(),
                    name: Arc::from(*first),
                    rest: rest.iter().map(|part| Arc::from(*part)).collect(),
                }))
            };
            if ENTITIES.contains(name) {
                facts.extend(member(name, chain));
            } else if *name == "NODES" {
                match member(chain[0], &chain[1..]) {
                    Some(read) => facts.push(read),
                    None => facts.push(Fact::Instance(Arc::from(chain[0]))),
                }
            } else if matches!(*name, "TOPOLOGY" | "ROOT") && chain[0] == "inputs" {
                facts.extend(chain.get(1).map(|input| Fact::Input(Arc::from(*input))));
            }
        }
        facts
    }
}

/// The names of a template that may be undefined, because the template tests them or supplies a default.
#[derive(Debug, Default)]
struct Tested {
    /// Variables and paths of attributes, such as `SELF.port`.
    names: HashSet<String>,
    /// True if a whole expression is tested, so that every name may be undefined.
    all: bool,
}

/// A test or a default after an operand.
static TEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:\|\s*(?:default|d)\b|\bis\s+(?:not\s+)?(?:un)?defined\b)"));

/// A test whether an entity has a name, such as `'port' in SELF`.
static MEMBERSHIP: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"['"]([\w-]+)['"]\s+(?:not\s+)?in\s+(\w+)"#));

/// A filter that leaves out undefined values.
static SELECTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:select|reject)(?:attr)?\([^)]*(?:un)?defined"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap_or_else(|_| unreachable!("the pattern is constant"))
}

impl Tested {
    fn of(text: &str) -> Self {
        let mut tested = Self {
            all: SELECTION.is_match(text),
            ..Self::default()
        };
        for found in MEMBERSHIP.captures_iter(text) {
            tested.names.insert(format!("{}.{}", &found[2], &found[1]));
        }
        for found in TEST.find_iter(text) {
            tested.add_operand(text[..found.start()].trim_end());
        }
        tested
    }

    /// Adds the operand at the end of a text: a path with all of its beginnings.
    fn add_operand(&mut self, before: &str) {
        let is_path = |at: char| at.is_alphanumeric() || matches!(at, '_' | '.');
        let start = before.trim_end_matches(is_path).len();
        let path = &before[start..];
        // The operand has brackets or filters, so that its names are not known.
        if path.is_empty() || path.starts_with('.') || before[..start].trim_end().ends_with('|') {
            self.all = true;
        }
        for (at, _) in path.match_indices('.') {
            self.names.insert(path[..at].to_owned());
        }
        self.names.insert(path.to_owned());
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Filter,
    Test,
}

/// The filters and tests that were looked up before.
static LOOKED_UP: LazyLock<Mutex<HashMap<(Kind, String), bool>>> = LazyLock::new(Mutex::default);

/// Returns true if a filter or test exists. The engine tells by the error of a small template that uses it.
fn exists(environment: &Environment<'_>, kind: Kind, name: &str) -> bool {
    if !name
        .chars()
        .all(|at| at.is_alphanumeric() || matches!(at, '_' | '.'))
    {
        // Operators such as `==` are tests, too.
        return true;
    }
    let key = (kind, name.to_owned());
    let mut known = LOOKED_UP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&key) {
        return *found;
    }
    let (probe, missing) = match kind {
        Kind::Filter => (format!("{{{{ 0 | {name} }}}}"), ErrorKind::UnknownFilter),
        Kind::Test => (format!("{{{{ 0 is {name} }}}}"), ErrorKind::UnknownTest),
    };
    let result = environment.render_str(&probe, ());
    let found = result.err().is_none_or(|error| error.kind() != missing);
    known.insert(key, found);
    found
}
