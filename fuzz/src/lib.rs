//! What the fuzz targets share: a deep stack, a small topology and a world in which nothing happens.

mod world;

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use unfurl::testing::diagnostic::{Diagnostics, Sources, Span};
use unfurl::testing::expr::{Context, Evaluator, Memo};
use unfurl::testing::name::Status;
use unfurl::testing::topology::{Topology, TopologyInputs};
use unfurl::testing::tosca::{self, NoImports, ReadOptions};
use unfurl::testing::ui::DiagnosticRenderer;
use unfurl::testing::value::Value;
use unfurl::testing::yaml::{Limits, Node, parse};

pub use world::Nowhere;

/// How many groups of inputs there are where no branches are seen.
const GROUPS: usize = 1024;

/// What libFuzzer reads after each input, beside the branches that it sees.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static TRIED: [AtomicU8; GROUPS] = [const { AtomicU8::new(0) }; GROUPS];

/// Counts an input for its group, so that the first of each group is kept and changed further. Which
/// branches are taken depends on the seeds of hash maps; this depends on the input alone, so that a
/// run finds the same again. In a search the branches say more.
pub fn count(bytes: &[u8]) {
    if cfg!(fuzzing) {
        return;
    }
    let group = bytes.iter().fold(0_usize, |group, byte| {
        group.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    TRIED[group % GROUPS].store(1, Ordering::Relaxed);
}

/// As large as that of the program's own thread.
const STACK: usize = 1 << 30;

/// Runs a check on texts, with a stack as deep as the program has.
pub fn on_text(bytes: &[u8], check: impl Fn(&str) + Sync) {
    count(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread
            .spawn_scoped(scope, || check(text))
            .expect("a thread starts");
        thread.join().expect("no check panics");
    });
}

/// Reads a text; what is wrong with it must be fit to be shown.
pub fn read(sources: &mut Sources, text: &str) -> Option<Node> {
    let source = sources.add("fuzz.yaml", text, None);
    match parse(sources, source, &Limits::default()) {
        Ok(root) => Some(root),
        Err(problems) => {
            show(&problems, sources);
            None
        }
    }
}

/// Writes problems as the program shows them.
pub fn show(problems: &Diagnostics, sources: &Sources) {
    let mut renderer = DiagnosticRenderer::new(sources, 100);
    assert!(problems.is_empty() || !renderer.render(problems.iter()).is_empty());
    drop(renderer.json(problems.iter()));
}

const FIXTURE: &str = include_str!("fixture.yaml");

/// An evaluator over the topology of `fixture.yaml`, and the surroundings of its node `web`.
pub fn evaluator() -> (Evaluator, Context) {
    static TOPOLOGY: OnceLock<Arc<Topology>> = OnceLock::new();
    let topology = Arc::clone(TOPOLOGY.get_or_init(topology));
    let web = topology.find("web").expect("the fixture has it");
    let inputs = Value::map([("port", 80.into())]);
    let context = Context::new(web).with("inputs", inputs);
    let evaluator = Evaluator::new(topology, Arc::new(Nowhere), Arc::new(Memo::default()));
    (evaluator, context)
}

fn topology() -> Arc<Topology> {
    let mut sources = Sources::default();
    let root = read(&mut sources, FIXTURE).expect("the fixture is YAML");
    let options = ReadOptions::default();
    let (service, problems) = tosca::read(&root, Path::new("/"), &mut NoImports, &options);
    assert!(problems.is_empty(), "{problems:?}");
    let service = Arc::new(service.expect("the fixture is a service template"));
    let mut inputs = TopologyInputs::default();
    inputs.set("size".into(), 3.into(), Span::NONE);
    let mut topology = Topology::new(Arc::clone(&service), inputs);
    let root = topology.root();
    for (name, template) in &service.topology.nodes {
        let name = name.as_str().into();
        topology.add_node(name, Arc::clone(template), root, Some(Status::Ok));
    }
    Arc::new(topology)
}
