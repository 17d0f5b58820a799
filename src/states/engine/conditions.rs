//! The conditions of a state: `unless`, `onlyif` and `creates` decide whether it runs, `check_cmd` whether it
//! succeeded (S32–S34).
//!
//! Commands in conditions are facts: an unknown result is returned as [`Halt::Needs`], and the condition is
//! evaluated again later.

use std::borrow::Cow;
use std::sync::Arc;

use super::arguments::merge_environment;
use crate::host::fact::{CommandSetting, Fact};
use crate::states::command_args::{parse_setting, volatile_probe};
use crate::states::execution_modules::{ExecutionCall, call_execution, traverse};
use crate::states::slot;
use crate::states::{Chunk, FactCache, Halt, ModuleContext, StateOutcome, refuse};
use crate::value::{Map, Value};

/// The arguments of a state that also apply to the commands in its conditions.
const COMMAND_OPTIONS: [&str; 7] = [
    "cwd",
    "root",
    "runas",
    "env",
    "umask",
    "timeout",
    "success_retcodes",
];

/// The conditions of a chunk and the data to evaluate them.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateConditions<'a> {
    pub(super) chunk: &'a Chunk,
    pub(super) context: &'a ModuleContext,
    pub(super) facts: &'a FactCache,
    /// The variables set by `environ.setenv` so far.
    pub(super) environ: &'a Map,
}

/// A function that evaluates one kind of condition.
type ConditionFn<'a> = fn(&StateConditions<'a>, &Value) -> Result<ConditionResult, Halt>;

/// The result of one kind of condition: whether to skip the state, and why.
struct ConditionResult {
    skip: bool,
    comment: String,
}

impl ConditionResult {
    fn new(skip: bool, comment: impl Into<String>) -> Self {
        Self {
            skip,
            comment: comment.into(),
        }
    }
}

impl<'a> StateConditions<'a> {
    /// Evaluates `onlyif`, `unless` and `creates`. Returns the outcome of a skipped state, or `None` if the
    /// state is to run.
    pub(super) fn skip_outcome(&self) -> Result<Option<StateOutcome>, Halt> {
        let mut needs: Vec<Fact> = Vec::new();
        let mut results: Vec<ConditionResult> = Vec::new();
        let forms: [(&str, ConditionFn<'_>); 3] = [
            ("onlyif", Self::onlyif),
            ("unless", Self::unless),
            ("creates", Self::creates),
        ];
        for (word, check) in forms {
            let Some(written) = self.chunk.keywords.get(word) else {
                continue;
            };
            match check(self, written.reveal()) {
                Ok(one) => results.push(one),
                Err(Halt::Needs(facts)) => needs.extend(facts),
                Err(failed) => return Err(failed),
            }
        }
        if !needs.is_empty() {
            return Err(Halt::Needs(needs));
        }
        if !results.iter().any(|one| one.skip) {
            return Ok(None);
        }
        let comments: Vec<&str> = results.iter().map(|one| one.comment.as_str()).collect();
        Ok(Some(StateOutcome {
            skip_watch: true,
            ..StateOutcome::unchanged(comments.join("\n"))
        }))
    }

    /// Evaluates `onlyif`: the state runs only if every entry succeeds.
    fn onlyif(&self, written: &Value) -> Result<ConditionResult, Halt> {
        for entry in to_entries(written, "onlyif")?.iter() {
            match entry.reveal() {
                Value::Str(text) => {
                    if self.exit_code(text, 100)? != 0 {
                        return Ok(ConditionResult::new(true, "onlyif condition is false"));
                    }
                }
                Value::Map(map) => match self.call_function(map)? {
                    None => {
                        let comment = format!("no `fun` argument in onlyif: {entry}");
                        return Ok(ConditionResult::new(false, comment));
                    }
                    Some(answer) if !answer.is_truthy() => {
                        return Ok(ConditionResult::new(true, "onlyif condition is false"));
                    }
                    Some(_) => {}
                },
                _ => {
                    let comment = "onlyif execution failed, bad type passed";
                    return Ok(ConditionResult::new(false, comment));
                }
            }
        }
        Ok(ConditionResult::new(false, "onlyif condition is true"))
    }

    /// Evaluates `unless`: the state is skipped if every entry succeeds.
    fn unless(&self, written: &Value) -> Result<ConditionResult, Halt> {
        let mut last = ConditionResult::new(false, "unless condition is false");
        for entry in to_entries(written, "unless")?.iter() {
            match entry.reveal() {
                Value::Str(text) => {
                    if self.exit_code(text, 0)? != 0 {
                        return Ok(ConditionResult::new(false, "unless condition is false"));
                    }
                    last = ConditionResult::new(true, "unless condition is true");
                }
                Value::Map(map) => match self.call_function(map)? {
                    None => {
                        let comment = format!("no `fun` argument in unless: {entry}");
                        return Ok(ConditionResult::new(last.skip, comment));
                    }
                    Some(answer) if !answer.is_truthy() => {
                        return Ok(ConditionResult::new(false, "unless condition is false"));
                    }
                    Some(_) => last = ConditionResult::new(true, "unless condition is true"),
                },
                _ => {
                    last =
                        ConditionResult::new(false, "unless condition is false, bad type passed");
                }
            }
        }
        Ok(last)
    }

    /// Evaluates `creates`: the state is skipped if every path exists.
    fn creates(&self, written: &Value) -> Result<ConditionResult, Halt> {
        let missing = || ConditionResult::new(false, "Creates files not found");
        Ok(match written {
            Value::Str(path) if self.exists(path)? => {
                ConditionResult::new(true, format!("{path} exists"))
            }
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
                    ConditionResult::new(true, "All files in creates exist")
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

    /// Evaluates `check_cmd` and sets the outcome by its result (S34).
    pub(super) fn apply_check_cmd(
        &self,
        written: &Value,
        mut outcome: StateOutcome,
    ) -> Result<StateOutcome, Halt> {
        let commands = to_entries(written.reveal(), "check_cmd")?;
        let plain = || parse_setting(|_| None);
        for entry in commands.iter() {
            let found = self
                .facts
                .probe(volatile_probe(entry.reveal().to_string(), plain()?));
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

    /// The exit code of a command, or `otherwise` if the command cannot be run. Codes in `success_retcodes`
    /// count as 0.
    fn exit_code(&self, text: &str, otherwise: i32) -> Result<i32, Halt> {
        let code = match self
            .facts
            .probe(volatile_probe(text, self.command_setting()?))
        {
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

    fn command_setting(&self) -> Result<CommandSetting, Halt> {
        let env =
            (!self.environ.is_empty()).then(|| merge_environment(self.option("env"), self.environ));
        parse_setting(|key| match (&env, key) {
            (Some(env), "env") => Some(env),
            _ => self.option(key),
        })
    }

    fn option(&self, key: &str) -> Option<&'a Value> {
        let applies = key == "shell" || COMMAND_OPTIONS.contains(&key);
        let excluded = match self.argument("cmd_opts_exclude") {
            Some(Value::List(keys)) => keys.iter().any(|it| it.as_str() == Some(key)),
            Some(one) => one.as_str() == Some(key),
            None => false,
        };
        self.argument(key).filter(|_| applies && !excluded)
    }

    fn argument(&self, key: &str) -> Option<&'a Value> {
        let Chunk { args, keywords, .. } = self.chunk;
        args.get(key)
            .or_else(|| keywords.get(key))
            .map(Value::reveal)
    }

    /// Calls the execution function of a condition such as `{fun: module.function, …}`. Returns `None` if
    /// `fun` is missing.
    fn call_function(&self, written: &Map) -> Result<Option<Value>, Halt> {
        let Some(fun) = written.get("fun").map(Value::to_string) else {
            return Ok(None);
        };
        let filled = if slot::has_slots(written) {
            Cow::Owned(slot::fill_slots(written, self.context, self.facts)?)
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
        let call = ExecutionCall {
            fun: &fun,
            args: &args,
            named: &named,
            context: self.context,
            facts: self.facts,
        };
        let unknown = || {
            refuse(format!(
                "An exception occurred in this state: '{fun}' is not available"
            ))
        };
        let answer = call_execution(&call).unwrap_or_else(unknown)?;
        Ok(Some(
            match written.get("get_return").map(Value::to_string) {
                Some(path) if !path.is_empty() => traverse(&answer, &path, ":").unwrap_or_default(),
                _ => answer,
            },
        ))
    }
}

/// The entries of a condition: one value or a list. An empty list is an error, as in Salt.
fn to_entries<'a>(written: &'a Value, word: &str) -> Result<Cow<'a, [Value]>, Halt> {
    match written {
        Value::List(items) if items.is_empty() => refuse(format!(
            "An exception occurred in this state: `{word}` is an empty list"
        )),
        Value::List(items) => Ok(Cow::Borrowed(items)),
        one => Ok(Cow::Owned(vec![one.clone()])),
    }
}
