use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::converge::module::{Call, Function, Module, Reverse};
use crate::converge::{
    Chunk, ChunkIndex, Deed, Facts, Finish, Halt, Link, Low, Mode, Ordering, Outcome, Render,
    Requisite, Roots, RootsError, Target, Template, Verdict, World,
};
use crate::diagnostic::{Sources, Span};
use crate::hash::FoldMap;
use crate::host::change::{Change, Run};
use crate::host::fact::{Fact, Probed, Reading};
use crate::host::{Captured, Exit, RunOutput};
use crate::value::{Map, Value};

fn span() -> Span {
    Span::new(Sources::default().add("main.sls", "", None), 0, 0)
}

struct NoFiles;

impl Roots for NoFiles {
    fn read(&self, _: &str) -> Result<Option<Arc<[u8]>>, RootsError> {
        Ok(None)
    }
    fn list(&self, _: &str) -> Result<Vec<String>, RootsError> {
        Ok(Vec::new())
    }
    fn mode(&self, _: &str) -> Result<Option<u32>, RootsError> {
        Ok(None)
    }
}

struct Plain;

impl Render for Plain {
    fn render(&self, request: &Template<'_>, _: &Facts) -> Result<String, Halt> {
        Ok(request.text.to_owned())
    }
}

fn world() -> Arc<World> {
    Arc::new(World {
        id: "golden".into(),
        roots: Arc::new(NoFiles),
        renderer: Arc::new(Plain),
        grains: Value::map([("role", "web".into())]),
        pillar: Value::map([("port", 80.into())]),
        options: Value::Null,
    })
}

/// Low data as a test writes it: `id: module.function` and requisites of earlier or later IDs.
#[derive(Default)]
struct Tree {
    low: Low,
    links: Vec<(usize, Requisite, String)>,
}

fn yaml(text: &str) -> Map {
    fn value(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(it) => (*it).into(),
            serde_json::Value::Number(it) => it.as_i64().unwrap().into(),
            serde_json::Value::String(it) => Value::str(it.as_str()),
            serde_json::Value::Array(it) => Value::list(it.iter().map(value)),
            serde_json::Value::Object(it) => {
                Value::map(it.iter().map(|(key, it)| (key.as_str(), value(it))))
            }
        }
    }
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    value(&json).as_map().unwrap().clone()
}

impl Tree {
    fn state(&mut self, id: &str, fun: &str, args: &str, keywords: &str) -> &mut Self {
        let (state, fun) = fun.split_once('.').unwrap();
        let mut args = yaml(args);
        let name = args
            .shift_remove("name")
            .map_or(id.to_owned(), |it| it.to_string());
        self.low.chunks.push(Chunk {
            id: id.into(),
            sls: "main".into(),
            env: "base".into(),
            state: state.into(),
            fun: fun.into(),
            name: name.into(),
            order: 10_000.into(),
            args,
            keywords: yaml(keywords),
            links: Vec::new(),
            span: span(),
        });
        let at = ChunkIndex::try_from(self.low.chunks.len() - 1).unwrap();
        self.low.order.push(at);
        self
    }

    fn add(&mut self, id: &str, fun: &str) -> &mut Self {
        self.state(id, fun, "{}", "{}")
    }

    /// Gives the last state a requisite; `target` may name several IDs.
    fn on(&mut self, kind: Requisite, target: &str) -> &mut Self {
        self.links
            .push((self.low.chunks.len() - 1, kind, target.to_owned()));
        self
    }

    fn low(&self, ordering: Ordering) -> Arc<Low> {
        let mut low = self.low.clone();
        low.ordering = ordering;
        let mut places: FoldMap<String, u32> = FoldMap::default();
        for (at, kind, target) in &self.links {
            let ids: Vec<&str> = target.split(' ').collect();
            let found: Box<[u32]> = (0u32..)
                .zip(&low.chunks)
                .filter(|(_, chunk)| ids.contains(&&*chunk.id))
                .map(|(at, _)| at)
                .collect();
            let state = low.chunks[*at].state.clone();
            let target = if found.is_empty() {
                Target::Missing
            } else {
                let sets = &mut low.sets;
                Target::Set(*places.entry(target.clone()).or_insert_with(|| {
                    sets.push(found);
                    u32::try_from(sets.len() - 1).unwrap()
                }))
            };
            low.chunks[*at].links.push(Link {
                kind: *kind,
                target,
                written: Value::map([(state, ids[0].into())]),
                span: span(),
            });
        }
        low.has_links = !self.links.is_empty();
        Arc::new(low)
    }
}

/// A machine of a test: probes and commands answer by what they say.
#[derive(Default)]
struct Machine {
    log: Vec<String>,
    /// How often something was asked of it.
    trips: usize,
    /// How often a command still fails.
    fails: FoldMap<String, usize>,
}

impl Machine {
    fn read(&mut self, fact: &Fact) -> Reading {
        match fact {
            Fact::Probe(probe) => {
                self.log.push(format!("? {}", probe.text));
                let code = match probe.text.as_str() {
                    "true" => 0,
                    "false" => 1,
                    text if text.starts_with("has ") => {
                        i32::from(!self.log.contains(&text[4..].to_owned()))
                    }
                    _ => 0,
                };
                Reading::Probe(Probed {
                    code,
                    stdout: b"said\n".to_vec(),
                    stderr: Vec::new(),
                })
            }
            _ => Reading::Absent,
        }
    }

    fn change(&mut self, change: &Change) -> RunOutput {
        let Change::Run(run) = change else {
            panic!("{change:?}");
        };
        self.log.push(run.text.clone());
        let left = self.fails.entry(run.text.clone()).or_default();
        let fails = run.text.starts_with("bad") || *left > 0;
        *left = left.saturating_sub(1);
        RunOutput {
            stderr: Captured::of(if fails { "it is bad\n" } else { "" }),
            ..RunOutput::not_run(Exit::Code(i32::from(fails)))
        }
    }
}

fn drive(engine: &mut Engine, machine: &mut Machine, facts: &mut Facts) {
    let mut now = 0;
    let mut under_way: VecDeque<(DeedId, Vec<RunOutput>)> = VecDeque::new();
    for _ in 0..1_000_000 {
        now += 1000;
        match engine.next(facts, None, Stamp(now)) {
            Next::Read(needed) => {
                machine.trips += 1;
                for fact in needed {
                    let reading = machine.read(&fact);
                    facts.learn(fact, reading);
                }
            }
            Next::Change { deed, changes, .. } => {
                machine.trips += 1;
                let mut outputs = Vec::new();
                for change in &changes {
                    let output = machine.change(change);
                    let good = match change {
                        Change::Run(run) => run.good_codes.clone(),
                        _ => Vec::new(),
                    };
                    let code = output.exit.code().unwrap();
                    let fails = code != 0 && !good.contains(&code);
                    outputs.push(output);
                    if fails {
                        break;
                    }
                }
                under_way.push_back((deed, outputs));
            }
            Next::Sleep { deed, time, .. } => {
                now += i64::try_from(time.as_micros()).unwrap();
                engine.slept(deed, facts, Stamp(now));
            }
            Next::Wait => {
                let (deed, outputs) = under_way.pop_front().expect("something is under way");
                engine.changed(deed, outputs, facts, Stamp(now));
            }
            Next::AtGate => panic!("there is no gate"),
            Next::Done => return,
        }
    }
    panic!("it does not end");
}

fn run_with(tree: &Tree, ordering: Ordering, setup: Setup) -> (Vec<String>, Vec<String>) {
    let mut engine = Engine::new(tree.low(ordering), world(), setup);
    let mut machine = Machine::default();
    let mut facts = Facts::default();
    drive(&mut engine, &mut machine, &mut facts);
    (shown(&engine), machine.log)
}

fn shown(engine: &Engine) -> Vec<String> {
    let mut results: Vec<&StateResult> = engine.results().iter().collect();
    results.sort_by_key(|it| it.number);
    let show = |it: &&StateResult| {
        let result = match it.outcome.result {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "would",
        };
        let changed = if it.is_changed() { " changed" } else { "" };
        let skipped = if it.skipped { " skipped" } else { "" };
        format!(
            "{} {result}{changed}{skipped}: {}",
            it.id, it.outcome.comment
        )
    };
    results.iter().map(show).collect()
}

fn run(tree: &Tree) -> Vec<String> {
    run_with(tree, Ordering::Classic, Setup::default()).0
}

fn log(tree: &Tree) -> Vec<String> {
    run_with(tree, Ordering::Classic, Setup::default()).1
}

#[test]
fn a_chain_of_a_hundred_thousand_requires_runs_backwards() {
    let mut tree = Tree::default();
    const LENGTH: usize = 100_000;
    for at in 0..LENGTH {
        tree.add(&format!("s{at}"), "test.nop");
    }
    let mut low = Low::clone(&tree.low(Ordering::Classic));
    for at in 0..LENGTH - 1 {
        let next = u32::try_from(at + 1).unwrap();
        low.sets.push([next].into());
        low.chunks[at].links.push(Link {
            kind: Requisite::Require,
            target: Target::Set(next - 1),
            written: Value::Null,
            span: span(),
        });
    }
    let mut engine = Engine::new(Arc::new(low), world(), Setup::default());
    drive(&mut engine, &mut Machine::default(), &mut Facts::default());
    assert_eq!(engine.results().len(), LENGTH);
    assert_eq!(&*engine.results()[0].id, "s99999");
    assert!(
        engine
            .results()
            .iter()
            .all(|it| it.outcome.result == Some(true))
    );
}

#[test]
fn a_set_is_counted_once_for_all_that_require_it() {
    let mut tree = Tree::default();
    const LENGTH: u32 = 3_000;
    for at in 0..2 * LENGTH {
        tree.add(&format!("s{at}"), "test.nop");
    }
    let mut low = Low::clone(&tree.low(Ordering::Classic));
    low.sets.push((LENGTH..2 * LENGTH).collect());
    for at in 0..LENGTH as usize {
        low.chunks[at].links.push(Link {
            kind: Requisite::Require,
            target: Target::Set(0),
            written: Value::Null,
            span: span(),
        });
    }
    let mut engine = Engine::new(Arc::new(low), world(), Setup::default());
    drive(&mut engine, &mut Machine::default(), &mut Facts::default());
    assert_eq!(engine.results().len(), 2 * LENGTH as usize);
    assert_eq!(&*engine.results()[0].id, "s3000");
}

#[test]
fn what_is_required_runs_first_and_a_failure_is_passed_on() {
    let mut tree = Tree::default();
    tree.add("a", "test.nop").on(Requisite::Require, "b");
    tree.add("b", "test.fail_without_changes")
        .on(Requisite::Require, "c");
    tree.add("c", "test.nop");
    insta::assert_snapshot!(run(&tree).join("\n"), @r"");
}
