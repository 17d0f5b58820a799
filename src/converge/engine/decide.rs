//! The way of one state: its conditions and its function are asked, its changes are handed out,
//! and what came of them is judged (S32–S35, S43–S45).

use super::arguments::{function_of, merged, not_found, warnings};
use super::conditions::Conditions;
use super::doing::{Acting, Decided, Doing, Owner, Purpose, Stage, complaint};
use super::engine::{Advance, Engine, Next};
use super::retry::Retry;
use crate::converge::function::ENVIRON;
use crate::converge::slot;
use crate::converge::{
    Call, Chunk, Facts, Finish, Function, Halt, Mode, Outcome, StateFn, Verdict,
};
use crate::host::RunOutput;
use crate::host::fact::Fact;
use crate::value::Value;

/// How a function is called.
struct Ways<'a> {
    run: StateFn,
    function: &'a Function,
    /// Whether it reacts to what it watches.
    watches: bool,
    /// Whether it is called only to hear what it needs.
    ahead: bool,
}

impl Engine {
    /// Goes on with a state until it needs something.
    pub(super) fn advance_doing(
        &mut self,
        doing: &mut Doing,
        owner: Owner,
        facts: &mut Facts,
    ) -> Advance {
        loop {
            let stage = std::mem::replace(&mut doing.stage, Stage::Decide);
            match stage {
                Stage::Decide | Stage::Ask => {
                    let fresh = matches!(stage, Stage::Decide);
                    match self.decide_now(doing, fresh, facts) {
                        Err(needs) => {
                            doing.stage = stage;
                            return Advance::Next(Next::Read(needs));
                        }
                        Ok(Decided::Wrong(outcome)) => return Advance::Over(outcome),
                        Ok(Decided::Skip(outcome)) => doing.stage = Stage::Check(outcome),
                        Ok(Decided::Parallel) => {
                            doing.stage = Stage::Ask;
                            return Advance::Parallel;
                        }
                        Ok(Decided::Said(verdict, warnings)) => {
                            doing.warnings = warnings;
                            if let Some(next) = self.take_verdict(doing, owner, verdict, facts) {
                                return Advance::Next(next);
                            }
                        }
                    }
                }
                Stage::Acting(_) | Stage::Asleep => {
                    doing.stage = stage;
                    return Advance::Waits;
                }
                Stage::Judge(acting, outputs) => match judged(&acting, &outputs, facts) {
                    Ok(outcome) => doing.stage = Stage::Check(outcome),
                    Err(needs) => {
                        doing.stage = Stage::Judge(acting, outputs);
                        return Advance::Next(Next::Read(needs));
                    }
                },
                Stage::Check(outcome) => match self.checked(doing, outcome.clone(), facts) {
                    Ok(checked) => {
                        let outcome = self.settled(doing, checked);
                        match self.again(doing, outcome, owner) {
                            Ok(outcome) => return Advance::Over(outcome),
                            Err(pause) => return Advance::Next(pause),
                        }
                    }
                    Err(needs) => {
                        doing.stage = Stage::Check(outcome);
                        return Advance::Next(Next::Read(needs));
                    }
                },
            }
        }
    }

    fn mode_of(&self, purpose: Purpose) -> Mode {
        if purpose.is_test() {
            Mode::Test
        } else {
            self.setup.mode
        }
    }

    pub(super) fn decide_now(
        &self,
        doing: &mut Doing,
        fresh: bool,
        facts: &Facts,
    ) -> Result<Decided, Vec<Fact>> {
        facts.take_doubted();
        let decided = self.decide(doing, fresh, facts);
        if facts.take_doubted() && self.setup.mode == Mode::Test {
            doing.doubtful = true;
        }
        decided
    }

    /// Asks the conditions and the function of a state.
    pub(super) fn decide(
        &self,
        doing: &Doing,
        fresh: bool,
        facts: &Facts,
    ) -> Result<Decided, Vec<Fact>> {
        let chunk = &self.low.chunks[doing.chunk as usize];
        let (module, function) = match function_of(self.setup.modules, chunk) {
            Ok(found) => found,
            Err(comment) => return Ok(Decided::Wrong(Outcome::failed(comment))),
        };
        let watches = matches!(doing.purpose, Purpose::Watch | Purpose::Listen);
        let run = if watches {
            module.watch
        } else {
            Some(function.run)
        };
        let Some(run) = run else {
            let comment = not_found(self.setup.modules, chunk, "mod_watch");
            return Ok(Decided::Wrong(Outcome::failed(comment)));
        };
        let conditions = fresh.then(|| self.conditions(chunk, facts).skip());
        let needs = match conditions {
            None | Some(Ok(None)) => None,
            Some(Ok(Some(outcome))) => return Ok(Decided::Skip(outcome)),
            Some(Err(Halt::Failed(comment))) => return Ok(Decided::Skip(Outcome::failed(comment))),
            Some(Err(Halt::Needs(needs))) => Some(needs),
        };
        let beside =
            fresh && Self::is_parallel(chunk) && matches!(doing.purpose, Purpose::Run { .. });
        if beside {
            return needs.map_or(Ok(Decided::Parallel), Err);
        }
        let ways = Ways {
            run,
            function,
            watches,
            ahead: needs.is_some(),
        };
        let verdict = self.call(doing, &ways, facts);
        match (needs, verdict) {
            (Some(mut needs), Err(Halt::Needs(more))) => {
                needs.extend(more);
                Err(needs)
            }
            (Some(needs), _) | (None, Err(Halt::Needs(needs))) => Err(needs),
            (None, Ok(verdict)) => Ok(Decided::Said(verdict, warnings(chunk, function))),
            (None, Err(Halt::Failed(comment))) => Ok(Decided::Said(
                Verdict::Done(Outcome::failed(comment)),
                Vec::new(),
            )),
        }
    }

    fn conditions<'a>(&'a self, chunk: &'a Chunk, facts: &'a Facts) -> Conditions<'a> {
        Conditions {
            chunk,
            world: &self.world,
            facts,
            environ: &self.environ,
        }
    }

    fn is_parallel(chunk: &Chunk) -> bool {
        chunk.keywords.get("parallel").is_some_and(Value::is_truthy)
    }

    fn call(&self, doing: &Doing, ways: &Ways<'_>, facts: &Facts) -> Result<Verdict, Halt> {
        let chunk = &self.low.chunks[doing.chunk as usize];
        let mut args = merged(chunk, Some(ways.function), &self.environ);
        if let Some(joined) = &doing.args {
            for (key, value) in joined {
                args.to_mut().insert(key.clone(), value.clone());
            }
        }
        if ways.watches {
            let fun = Value::Str(chunk.fun.clone());
            args.to_mut().insert("sfun".into(), fun);
            if &*chunk.state == "test" {
                let changed = self.changed_watched(doing);
                args.to_mut().insert("__reqs__".into(), changed);
            }
        }
        if slot::has_slots(&args) {
            if ways.ahead {
                return Err(Halt::Needs(Vec::new()));
            }
            let filled = slot::fill(&args, &self.world, facts)?;
            *args.to_mut() = filled;
        }
        let call = Call {
            state: &chunk.state,
            fun: &chunk.fun,
            name: &chunk.name,
            id: &chunk.id,
            sls: &chunk.sls,
            args: &args,
            mode: self.mode_of(doing.purpose),
            world: &self.world,
            chunk: Some((&self.low, doing.chunk)),
        };
        (ways.run)(&call, facts)
    }

    /// Takes up what a function has said. Gives what is next, if its changes are due.
    fn take_verdict(
        &mut self,
        doing: &mut Doing,
        owner: Owner,
        verdict: Verdict,
        facts: &mut Facts,
    ) -> Option<Next> {
        let deed = match verdict {
            Verdict::Done(outcome) => {
                doing.stage = Stage::Check(outcome);
                return None;
            }
            Verdict::Act(deed) => deed,
        };
        if self.mode_of(doing.purpose) == Mode::Test {
            if !matches!(doing.purpose, Purpose::Test { .. }) {
                for step in &deed.steps {
                    facts.predict(step);
                }
            }
            let mut predicted = deed.predicted;
            predicted.steps = deed.steps;
            doing.stage = Stage::Check(predicted);
            return None;
        }
        let acting = Acting::of(&deed.steps, deed.finish);
        if deed.steps.is_empty() {
            doing.stage = Stage::Judge(acting, Vec::new());
            return None;
        }
        doing.stage = Stage::Acting(acting);
        Some(Next::Change {
            deed: self.deed_of(owner),
            changes: deed.steps,
            chunk: doing.chunk,
        })
    }

    /// Asks `check_cmd`, unless the function takes it for itself.
    fn checked(
        &self,
        doing: &mut Doing,
        outcome: Outcome,
        facts: &Facts,
    ) -> Result<Outcome, Vec<Fact>> {
        let chunk = &self.low.chunks[doing.chunk as usize];
        let Some(written) = chunk.keywords.get("check_cmd") else {
            return Ok(outcome);
        };
        let found = function_of(self.setup.modules, chunk);
        if found.is_ok_and(|(_, function)| function.takes("check_cmd")) {
            return Ok(outcome);
        }
        facts.take_doubted();
        let checked = self.conditions(chunk, facts).check(written, outcome);
        if facts.take_doubted() && self.setup.mode == Mode::Test {
            doing.doubtful = true;
        }
        match checked {
            Ok(outcome) => Ok(outcome),
            Err(Halt::Failed(comment)) => Ok(Outcome::failed(comment)),
            Err(Halt::Needs(needs)) => Err(needs),
        }
    }

    /// What comes of an outcome that is in doubt, and what a function sets for those after it.
    pub(super) fn settled(&mut self, doing: &mut Doing, mut outcome: Outcome) -> Outcome {
        if doing.doubtful && outcome.result == Some(false) {
            outcome.result = None;
        }
        outcome.warnings.append(&mut doing.warnings);
        if let Some(Value::Map(set)) = outcome.more.shift_remove(ENVIRON) {
            for (key, value) in set.iter() {
                self.environ.insert(key.clone(), value.clone());
            }
        }
        outcome
    }

    /// Whether a state is tried again, after a pause; else its outcome (S35).
    fn again(
        &mut self,
        doing: &mut Doing,
        mut outcome: Outcome,
        owner: Owner,
    ) -> Result<Outcome, Next> {
        let chunk = &self.low.chunks[doing.chunk as usize];
        let Some(written) = chunk.keywords.get("retry") else {
            return Ok(outcome);
        };
        if matches!(doing.purpose, Purpose::Test { .. }) {
            return Ok(outcome);
        }
        let retry = Retry::read(written);
        if self.setup.mode == Mode::Test {
            outcome.comment.push_str(&retry.note());
            return Ok(outcome);
        }
        let attempt = doing.attempts + 1;
        if !retry.goes_on(attempt, outcome.result) {
            doing.notes.push(outcome.comment);
            outcome.comment = doing.notes.join("\n");
            return Ok(outcome);
        }
        let result = match outcome.result {
            Some(true) => "True",
            Some(false) => "False",
            None => "None",
        };
        doing.notes.push(format!(
            "Attempt {attempt}: Returned a result of \"{result}\", with the following comment: \"{}\"",
            outcome.comment
        ));
        doing.attempts = attempt;
        doing.stage = Stage::Asleep;
        if doing.number.is_none() {
            self.next_number();
        }
        let seed = u64::from(doing.chunk) ^ self.now.0.unsigned_abs();
        Err(Next::Sleep {
            deed: self.deed_of(owner),
            time: retry.pause(seed),
            chunk: doing.chunk,
        })
    }
}

/// What became of changes.
fn judged(acting: &Acting, outputs: &[RunOutput], facts: &Facts) -> Result<Outcome, Vec<Fact>> {
    let outcome = match &acting.finish {
        Finish::Then(outcome) => match acting.failure(outputs) {
            None => Ok(outcome.clone()),
            Some(place) => Ok(Outcome::failed(complaint(outputs.get(place)))),
        },
        Finish::Ask(judge) => judge(outputs, facts),
    };
    match outcome {
        Ok(outcome) => Ok(outcome),
        Err(Halt::Failed(comment)) => Ok(Outcome::failed(comment)),
        Err(Halt::Needs(needs)) => Err(needs),
    }
}
