//! The way from state files to an order.

use std::sync::Arc;

use super::dag::{self, Turn};
use super::high::{Exclusion, High};
use super::lower::Lowered;
use super::request::{Compiled, Request, Stop, Targets};
use super::show;
use super::top::{self, Top};
use super::tree::Tree;
use crate::converge::render::{Renderer, traced};
use crate::converge::{Facts, Low, Ordering};
use crate::diagnostic::{Diagnostic, Diagnostics, Sources};
use crate::host::fact::Fact;
use crate::value::Value;

/// Compiles state files for a machine (S1–S31). It is called again where templates ask for facts
/// that are not known yet.
pub fn compile(request: &Request, renderer: &Renderer, facts: &Facts) -> Result<Compiled, Stop> {
    let mut tree = Tree::new(renderer, facts)
        .map_err(|error| Stop::Problems(Diagnostic::error(error).into(), Box::default()))?;
    let mut chosen = Top::default();
    match &request.targets {
        Targets::Sls(names) => names.iter().for_each(|name| tree.add(name)),
        Targets::Highstate => {
            chosen = top::choose(renderer, facts, &mut tree)?;
            chosen.names().iter().for_each(|name| tree.add(name));
        }
    }
    tree.finish();
    let Tree {
        high,
        sources,
        needs,
        problems,
        ..
    } = tree;
    if !needs.is_empty() {
        return Err(Stop::Needs(distinct(needs)));
    }
    let is_unmatched = request.targets == Targets::Highstate && chosen.names().is_empty();
    let stage = Stage {
        request,
        renderer,
        high,
        problems,
    };
    match stage.run() {
        Err(problems) => {
            let problems = traced(problems, &sources);
            Err(Stop::Problems(problems, Box::new(sources)))
        }
        Ok(done) => Ok(done.compiled(sources, &chosen, is_unmatched)),
    }
}

fn distinct(mut needs: Vec<Fact>) -> Vec<Fact> {
    needs.sort_unstable();
    needs.dedup();
    needs
}

struct Stage<'a> {
    request: &'a Request,
    renderer: &'a Renderer,
    high: High,
    problems: Diagnostics,
}

struct Done {
    low: Low,
    turns: Vec<Turn>,
    shown: Value,
    files: Vec<(Arc<str>, String)>,
}

impl Stage<'_> {
    /// Where something is wrong, what follows from it is not told.
    fn run(mut self) -> Result<Done, Diagnostics> {
        let ordering = self.request.ordering;
        let shown = show::high(&self.high);
        let added = self
            .request
            .exclude
            .iter()
            .map(|name| Exclusion::Sls(name.as_str().into()));
        self.high.exclusions.extend(added);
        let is_whole = !self.problems.has_errors();
        if is_whole {
            self.high.extend(&mut self.problems);
        }
        self.high.verify(ordering, &mut self.problems);
        self.check()?;
        let disabled = self.disabled();
        self.high.inject(&disabled, &mut self.problems);
        self.high.apply_exclusions();
        self.check()?;
        let (low, turns) = self.order(&disabled)?;
        let files = std::mem::take(&mut self.high.files);
        let files = files
            .into_iter()
            .map(|file| (file.sls, file.path))
            .collect();
        Ok(Done {
            low,
            turns,
            shown,
            files,
        })
    }

    fn check(&mut self) -> Result<(), Diagnostics> {
        if self.problems.has_errors() {
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(())
    }

    fn disabled(&self) -> Vec<String> {
        match self.renderer.option("disabled_requisites") {
            Some(Value::List(words)) => words.iter().map(Value::to_string).collect(),
            Some(Value::Str(word)) => vec![word.to_string()],
            _ => Vec::new(),
        }
    }

    fn order(&mut self, disabled: &[String]) -> Result<(Low, Vec<Turn>), Diagnostics> {
        let ordering = self.request.ordering;
        let Lowered {
            mut low,
            numbers,
            places,
        } = self.high.lower(ordering, disabled, &mut self.problems);
        self.check()?;
        let turn = |chunk: &u32| Turn {
            chunk: *chunk,
            is_test: false,
        };
        if ordering == Ordering::Classic {
            let turns = low.order.iter().map(turn).collect();
            return Ok((low, turns));
        }
        let numbers: Vec<_> = places.iter().map(|place| numbers[*place].clone()).collect();
        let times: Vec<u32> = places
            .iter()
            .map(|place| u32::try_from(*place).unwrap_or(u32::MAX))
            .collect();
        let turns =
            dag::order(&low, &numbers, &times).map_err(|problem| Diagnostics::from(*problem))?;
        let runs = turns.iter().filter(|turn| !turn.is_test);
        low.order = runs.map(|turn| turn.chunk).collect();
        Ok((low, turns))
    }
}

impl Done {
    fn compiled(self, sources: Sources, top: &Top, is_unmatched: bool) -> Compiled {
        Compiled {
            low: Arc::new(self.low),
            turns: self.turns,
            high: self.shown,
            top: top.value(),
            is_unmatched,
            files: self.files,
            sources,
            warnings: Diagnostics::default(),
        }
    }
}
