//! The parts that the fuzz targets share: a deep stack, a small topology (`fixture.yaml`) and an environment
//! without files and programs (`world.rs`).

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

pub use world::EmptyEnvironment;

/// The number of groups into which [`count`] sorts inputs where branches are not measured.
const GROUPS: usize = 1024;

/// Counters that libFuzzer reads after each input, in addition to the branches that it measures.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static TRIED: [AtomicU8; GROUPS] = [const { AtomicU8::new(0) }; GROUPS];

/// Counts an input for its group, so that libFuzzer keeps the first input of each group and mutates it.
///
/// The branches taken depend on the seeds of hash maps. The group depends on the input alone, so a run is
/// reproducible. In a search (`cfg(fuzzing)`) the branches say more, so nothing is counted.
pub fn count(bytes: &[u8]) {
    if cfg!(fuzzing) {
        return;
    }
    let group = bytes.iter().fold(0_usize, |group, byte| {
        group.wrapping_mul(31).wrapping_add(usize::from(*byte))
    });
    TRIED[group % GROUPS].store(1, Ordering::Relaxed);
}

/// The stack size of the check: as large as that of the program's own thread.
const STACK: usize = 1 << 30;

/// Runs a check on an input that is UTF-8 text, with a stack as deep as that of the program.
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

/// Reads a text as YAML. Errors are rendered, which must not panic.
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

/// Renders problems as the program shows them: as text and as JSON.
pub fn show(problems: &Diagnostics, sources: &Sources) {
    let mut renderer = DiagnosticRenderer::new(sources, 100);
    assert!(problems.is_empty() || !renderer.render(problems.iter()).is_empty());
    drop(renderer.json(problems.iter()));
}

const FIXTURE: &str = include_str!("fixture.yaml");

/// Returns an evaluator over the topology of `fixture.yaml`, and the context of its node `web`.
pub fn evaluator() -> (Evaluator, Context) {
    static TOPOLOGY: OnceLock<Arc<Topology>> = OnceLock::new();
    let topology = Arc::clone(TOPOLOGY.get_or_init(topology));
    let web = topology.find("web").expect("the fixture has it");
    let inputs = Value::map([("port", 80.into())]);
    let context = Context::new(web).with("inputs", inputs);
    let evaluator = Evaluator::new(
        topology,
        Arc::new(EmptyEnvironment),
        Arc::new(Memo::default()),
    );
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
