//! A simulated action runner: it performs nothing, and its effects end one at a time, in random order.

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

/// A random generator for simulations, reproducible by its seed.
#[derive(Debug)]
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        // The SplitMix64 algorithm.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// Decides the results of a job's effects, and reacts to the events of the job.
pub(super) trait Script: 'static {
    fn chance(&mut self) -> &mut Chance;

    /// Called when an effect begins. Does nothing by default.
    fn begins(&mut self, _id: u64, _command: &Command) {}

    /// Called when the job waits for the end of an effect.
    fn waits(&mut self) {}

    /// Called when an effect ends. Returns its exit code.
    fn ends(&mut self, id: u64) -> i32;

    /// Called for each event of the job.
    fn handle_event(&mut self, event: &JobEvent);
}

/// The runner and front end of a simulated job, which passes all calls to a [`Script`].
#[derive(Debug)]
pub(super) struct Simulated<S> {
    script: Rc<RefCell<S>>,
    /// The output of each running effect, by the effect's number.
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
            stdout: CapturedOutput::from_bytes(format!("{output}\n")),
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

    fn approve(
        &mut self,
        _plan: &dyn Fn() -> Proposal,
        _sources: &Sources,
        _place: &str,
    ) -> Decision {
        Decision::Proceed
    }

    fn performer(&mut self) -> Option<Box<dyn ActionRunner>> {
        Some(Box::new(Self::new(&self.script)))
    }

    fn event(&mut self, event: &JobEvent, _sources: &Sources) {
        self.script.borrow_mut().handle_event(event);
    }
}
