//! A runner that performs nothing: effects end one after the other, in any order.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use unfurl::testing::diagnostic::{Diagnostic, Diagnostics, Sources};
use unfurl::testing::exec::{self, ActionRunner, RunnerEvent};
use unfurl::testing::host::{
    Action, ActionRequest, ActionResult, CapturedOutput, Command, Exit, RunOutput,
};
use unfurl::testing::job::{JobEvent, Proposal};
use unfurl::testing::ops::{Decision, JobFrontend};

/// What a simulation thinks of next: the same for the same seed.
#[derive(Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// What becomes of the effects of a job, and what else happens while it runs.
pub(super) trait Script: 'static {
    fn chance(&mut self) -> &mut Chance;

    /// An effect begins.
    fn begins(&mut self, _id: u64, _command: &Command) {}

    /// The job waits for the end of an effect.
    fn waits(&mut self) {}

    /// An effect ends; gives its exit code.
    fn ends(&mut self, id: u64) -> i32;

    /// The job says something.
    fn hears(&mut self, event: &JobEvent);
}

/// Performs effects by a script; also hears for it what the job says.
#[derive(Debug)]
pub(super) struct Simulated<S> {
    script: Rc<RefCell<S>>,
    /// The effects that run, with what they print.
    running: BTreeMap<u64, String>,
}

impl<S: Script> Simulated<S> {
    pub(super) fn new(script: &Rc<RefCell<S>>) -> Self {
        Self {
            script: Rc::clone(script),
            running: BTreeMap::new(),
        }
    }
}

impl<S: Script> ActionRunner for Simulated<S> {
    fn begin(&mut self, id: u64, request: ActionRequest) -> Result<(), exec::Error> {
        let Action::Run(command) = request.action else {
            unreachable!("the topologies transfer nothing");
        };
        let words = command.program.argv();
        self.running.insert(id, words[1..].join(" "));
        self.script.borrow_mut().begins(id, &command);
        Ok(())
    }

    fn next_event(&mut self, _until: Option<Instant>) -> Result<Option<RunnerEvent>, exec::Error> {
        let mut script = self.script.borrow_mut();
        script.waits();
        let turn = script.chance().below(self.running.len());
        let id = *self.running.keys().nth(turn).unwrap();
        let output = self.running.remove(&id).unwrap();
        let code = script.ends(id);
        let output = RunOutput {
            stdout: CapturedOutput::of(format!("{output}\n")),
            ..RunOutput::not_run(Exit::Code(code))
        };
        Ok(Some(RunnerEvent::Ended(id, ActionResult::Run(output))))
    }

    fn cancel_all(&mut self) {}
}

impl<S: Script> JobFrontend for Simulated<S> {
    fn warnings(&mut self, _warnings: &Diagnostics, _sources: &Sources) {}

    fn problem(&mut self, _problem: &Diagnostic, _sources: &Sources) {}

    fn notice(&mut self, _text: &str) {}

    fn approve(&mut self, _plan: &dyn Fn() -> Proposal, _sources: &Sources) -> Decision {
        Decision::Proceed
    }

    fn performer(&mut self) -> Option<Box<dyn ActionRunner>> {
        Some(Box::new(Self::new(&self.script)))
    }

    fn event(&mut self, event: &JobEvent) {
        self.script.borrow_mut().hears(event);
    }
}
