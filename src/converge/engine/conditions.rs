//! What decides whether a state runs, and whether it has succeeded: `unless`, `onlyif`, `creates`
//! and `check_cmd` (S32–S34).

use std::borrow::Cow;
use std::sync::Arc;

use super::arguments::environment;
use crate::converge::execution::{Asked, ask, traverse};
use crate::converge::shell::{probe, setting};
use crate::converge::slot;
use crate::converge::{Chunk, Facts, Halt, Outcome, World, refuse};
use crate::host::fact::{Fact, Setting};
use crate::value::{Map, Value};

/// The options of commands that a state's own apply to.
const OPTIONS: [&str; 7] = [
    "cwd",
    "root",
    "runas",
    "env",
    "umask",
    "timeout",
    "success_retcodes",
];

/// The conditions of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions<'a> {
    pub(super) chunk: &'a Chunk,
    pub(super) world: &'a World,
    pub(super) facts: &'a Facts,
    /// What `environ.setenv` has set so far.
    pub(super) environ: &'a Map,
}

/// Asks one kind of condition.
type Check<'a> = fn(&Conditions<'a>, &Value) -> Result<Said, Halt>;

/// What one condition says.
struct Said {
    skip: bool,
    comment: String,
}

impl Said {
    fn new(skip: bool, comment: impl Into<String>) -> Self {
        Self {
            skip,
            comment: comment.into(),
        }
    }
}

impl<'a> Conditions<'a> {
    /// The outcome of a state that is not to run; none if it is.
    pub(super) fn skip(&self) -> Result<Option<Outcome>, Halt> {
        let mut needs: Vec<Fact> = Vec::new();
        let mut said: Vec<Said> = Vec::new();
        let forms: [(&str, Check<'_>); 3] = [
            ("onlyif", Self::onlyif),
            ("unless", Self::unless),
            ("creates", Self::creates),
        ];
        for (word, check) in forms {
            let Some(written) = self.chunk.keywords.get(word) else {
                continue;
            };
            match check(self, written.reveal()) {
                Ok(one) => said.push(one),
                Err(Halt::Needs(facts)) => needs.extend(facts),
                Err(failed) => return Err(failed),
            }
        }
        if !needs.is_empty() {
            return Err(Halt::Needs(needs));
        }
        if !said.iter().any(|one| one.skip) {
            return Ok(None);
        }
        let comments: Vec<&str> = said.iter().map(|one| one.comment.as_str()).collect();
        Ok(Some(Outcome {
            skip_watch: true,
            ..Outcome::same(comments.join("\n"))
        }))
    }

    /// It runs only if all succeed.
    fn onlyif(&self, written: &Value) -> Result<Said, Halt> {
        for entry in entries(written, "onlyif")?.iter() {
            match entry.reveal() {
                Value::Str(text) => {
                    if self.code(text, 100)? != 0 {
                        return Ok(Said::new(true, "onlyif condition is false"));
                    }
                }
                Value::Map(map) => match self.function(map)? {
                    None => {
                        let comment = format!("no `fun` argument in onlyif: {entry}");
                        return Ok(Said::new(false, comment));
                    }
                    Some(answer) if !answer.is_truthy() => {
                        return Ok(Said::new(true, "onlyif condition is false"));
                    }
                    Some(_) => {}
                },
                _ => {
                    let comment = "onlyif execution failed, bad type passed";
                    return Ok(Said::new(false, comment));
                }
            }
        }
        Ok(Said::new(false, "onlyif condition is true"))
    }

    /// It runs unless all succeed.
    fn unless(&self, written: &Value) -> Result<Said, Halt> {
        let mut last = Said::new(false, "unless condition is false");
        for entry in entries(written, "unless")?.iter() {
            match entry.reveal() {
                Value::Str(text) => {
                    if self.code(text, 0)? != 0 {
                        return Ok(Said::new(false, "unless condition is false"));
                    }
                    last = Said::new(true, "unless condition is true");
                }
                Value::Map(map) => match self.function(map)? {
                    None => {
                        let comment = format!("no `fun` argument in unless: {entry}");
                        return Ok(Said::new(last.skip, comment));
                    }
                    Some(answer) if !answer.is_truthy() => {
                        return Ok(Said::new(false, "unless condition is false"));
                    }
                    Some(_) => last = Said::new(true, "unless condition is true"),
                },
                _ => last = Said::new(false, "unless condition is false, bad type passed"),
            }
        }
        Ok(last)
    }

    /// It runs unless all these paths lead to something.
    fn creates(&self, written: &Value) -> Result<Said, Halt> {
        let missing = || Said::new(false, "Creates files not found");
        Ok(match written {
            Value::Str(path) if self.exists(path)? => Said::new(true, format!("{path} exists")),
            Value::List(paths) => {
                let mut needs = Vec::new();
                let mut all = true;
                for path in paths.iter() {
                    match self.exists(&path.reveal().to_string()) {
                        Ok(there) => all &= there,
                        Err(Halt::Needs(facts)) => needs.extend(facts),
                        Err(failed) => return Err(failed),
                    }
                }
                if !needs.is_empty() {
                    return Err(Halt::Needs(needs));
                }
                if all {
                    Said::new(true, "All files in creates exist")
                } else {
                    missing()
                }
            }
            _ => missing(),
        })
    }

    fn exists(&self, path: &str) -> Result<bool, Halt> {
        Ok(self.facts.target(path)?.is_some())
    }

    /// What `check_cmd` makes of an outcome (S34).
    pub(super) fn check(&self, written: &Value, mut outcome: Outcome) -> Result<Outcome, Halt> {
        let commands = entries(written.reveal(), "check_cmd")?;
        let plain = || setting(|_| None);
        for entry in commands.iter() {
            let found = self
                .facts
                .probe(probe(entry.reveal().to_string(), plain()?));
            let code = match found {
                Ok(found) => found.code,
                Err(Halt::Failed(_)) => 1,
                Err(needs) => return Err(needs),
            };
            if code != 0 {
                outcome.result = Some(false);
                "check_cmd determined the state failed".clone_into(&mut outcome.comment);
                return Ok(outcome);
            }
        }
        outcome.result = Some(true);
        "check_cmd determined the state succeeded".clone_into(&mut outcome.comment);
        Ok(outcome)
    }

    /// The exit code of a command; another if it cannot be run.
    fn code(&self, text: &str, otherwise: i32) -> Result<i32, Halt> {
        let code = match self.facts.probe(probe(text, self.setting()?)) {
            Ok(found) => found.code,
            Err(Halt::Failed(_)) => return Ok(otherwise),
            Err(needs) => return Err(needs),
        };
        let good = self.option("success_retcodes").map(Value::reveal);
        let is_good = |good: &Value| match good {
            Value::List(codes) => codes.iter().any(|it| it.as_int() == Some(code.into())),
            one => one.as_int() == Some(code.into()),
        };
        Ok(if good.is_some_and(is_good) { 0 } else { code })
    }

    fn setting(&self) -> Result<Setting, Halt> {
        let env = (!self.environ.is_empty()).then(|| environment(self.option("env"), self.environ));
        setting(|key| match (&env, key) {
            (Some(env), "env") => Some(env),
            _ => self.option(key),
        })
    }

    fn option(&self, key: &str) -> Option<&'a Value> {
        let applies = key == "shell" || OPTIONS.contains(&key);
        let excluded = match self.written("cmd_opts_exclude") {
            Some(Value::List(keys)) => keys.iter().any(|it| it.as_str() == Some(key)),
            Some(one) => one.as_str() == Some(key),
            None => false,
        };
        self.written(key).filter(|_| applies && !excluded)
    }

    fn written(&self, key: &str) -> Option<&'a Value> {
        let Chunk { args, keywords, .. } = self.chunk;
        args.get(key)
            .or_else(|| keywords.get(key))
            .map(Value::reveal)
    }

    /// What `{fun: module.function, …}` gives; none without `fun`.
    fn function(&self, written: &Map) -> Result<Option<Value>, Halt> {
        let Some(fun) = written.get("fun").map(Value::to_string) else {
            return Ok(None);
        };
        let filled = if slot::has_slots(written) {
            Cow::Owned(slot::fill(written, self.world, self.facts)?)
        } else {
            Cow::Borrowed(written)
        };
        let args: Vec<Value> = match filled.get("args").map(Value::reveal) {
            None => Vec::new(),
            Some(Value::List(items)) => items.to_vec(),
            Some(one) => vec![one.clone()],
        };
        let named: Map = filled
            .iter()
            .filter(|(key, _)| !matches!(&***key, "fun" | "args" | "get_return"))
            .map(|(key, value)| (Arc::clone(key), value.clone()))
            .collect();
        let asked = Asked {
            fun: &fun,
            args: &args,
            named: &named,
            world: self.world,
            facts: self.facts,
        };
        let unknown = || {
            refuse(format!(
                "An exception occurred in this state: '{fun}' is not available"
            ))
        };
        let answer = ask(&asked).unwrap_or_else(unknown)?;
        Ok(Some(
            match written.get("get_return").map(Value::to_string) {
                Some(path) if !path.is_empty() => traverse(&answer, &path, ":").unwrap_or_default(),
                _ => answer,
            },
        ))
    }
}

/// One condition or several. None at all is a mistake, as in Salt.
fn entries<'a>(written: &'a Value, word: &str) -> Result<Cow<'a, [Value]>, Halt> {
    match written {
        Value::List(items) if items.is_empty() => refuse(format!(
            "An exception occurred in this state: `{word}` is an empty list"
        )),
        Value::List(items) => Ok(Cow::Borrowed(items)),
        one => Ok(Cow::Owned(vec![one.clone()])),
    }
}
