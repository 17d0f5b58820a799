//! Tests of the loop: the order in which a state machine is asked for steps and gets events.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::fake::{Fake, FakeEvent, ended, read_nothing};
use crate::exec::{Error, MachineStep, OnInterrupt, RunnerEvent, StateMachine, drive};
use crate::host::{ActionResult, ChainNote, Exit, Passwords, Question, Secret, Stream};

/// A view that gives scripted answers and records what is shown.
#[derive(Default)]
struct FakeView {
    shown: Vec<String>,
    answers: Vec<Secret>,
}

/// The error of a test machine.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error(transparent)]
    Exec(#[from] Error),
    #[error("the machine is broken")]
    Broken,
}

/// A state machine that follows a script and ends once none of its actions runs.
#[derive(Default)]
struct Script {
    steps: VecDeque<MachineStep>,
    running: usize,
    log: Vec<String>,
    breaks_at: Option<u64>,
}

impl Script {
    fn of(steps: impl IntoIterator<Item = MachineStep>) -> Self {
        Self {
            steps: steps.into_iter().collect(),
            ..Self::default()
        }
    }

    fn run(&mut self, fake: &Fake, on_interrupt: OnInterrupt) -> Result<FakeView, Stopped> {
        let mut face = FakeView::default();
        drive(self, &mut fake.driver(on_interrupt), &mut face)?;
        Ok(face)
    }
}

impl StateMachine for Script {
    type View = FakeView;
    type Error = Stopped;

    fn next(&mut self, _view: &mut FakeView) -> Result<MachineStep, Stopped> {
        let step = match self.steps.pop_front() {
            Some(step) => step,
            None if self.running > 0 => MachineStep::Wait(None),
            None => MachineStep::End,
        };
        if let MachineStep::Perform(tag, _) = &step {
            self.running += 1;
            self.log.push(format!("begin {tag}"));
        }
        Ok(step)
    }

    fn complete(
        &mut self,
        tag: u64,
        result: ActionResult,
        _: &mut FakeView,
    ) -> Result<(), Stopped> {
        self.running -= 1;
        self.log.push(format!("end {tag}: {:?}", result.exit()));
        if self.breaks_at == Some(tag) {
            return Err(Stopped::Broken);
        }
        Ok(())
    }

    fn interrupt(&mut self, signal: i32) {
        if !self.steps.is_empty() {
            self.log.push(format!("signal {signal}"));
        }
        self.steps.clear();
    }

    fn wake(&mut self) {
        self.log.push("wake".to_owned());
    }

    fn note(&mut self, tag: u64, note: ChainNote, view: &mut FakeView) {
        view.shown.push(format!("{tag}: {note:?}"));
    }

    fn output(&mut self, tag: u64, (stream, bytes): (Stream, Vec<u8>), view: &mut FakeView) {
        view.shown.push(format!("{tag}: {stream:?} {bytes:?}"));
    }

    fn prompt_secret(&mut self, question: &Question, view: &mut FakeView) -> Option<Secret> {
        view.shown.push(question.to_string());
        view.answers.pop()
    }
}

fn perform(tag: u64) -> MachineStep {
    MachineStep::Perform(tag, Box::new(read_nothing()))
}

const GRACE: OnInterrupt = OnInterrupt::Grace(Duration::from_secs(1));

#[test]
fn a_machine_that_has_nothing_to_do_starts_nothing() {
    let fake = Fake::default();
    Script::default().run(&fake, GRACE).unwrap();
    assert_eq!(fake.seen.borrow().starts, 0);
}

#[test]
fn actions_begin_in_order_and_before_anything_is_awaited() {
    let fake = Fake::default();
    let mut script = Script::of([perform(2), perform(1), perform(3)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!(fake.submitted_ids(), [2, 1, 3]);
    assert_eq!(
        script.log,
        [
            "begin 2",
            "begin 1",
            "begin 3",
            "end 1: Code(0)",
            "end 2: Code(0)",
            "end 3: Code(0)"
        ]
    );
}

#[test]
fn a_machine_that_waits_hears_of_a_result_before_it_goes_on() {
    let fake = Fake::default();
    let mut script = Script::of([perform(1), MachineStep::Wait(None), perform(2)]);
    script.run(&fake, GRACE).unwrap();
    let log = ["begin 1", "end 1: Code(0)", "begin 2", "end 2: Code(0)"];
    assert_eq!(script.log, log);
}

#[test]
fn a_machine_that_has_more_to_do_is_asked_again_at_once() {
    let fake = Fake::default();
    let mut script = Script::of([MachineStep::Continue, MachineStep::Continue]);
    script.run(&fake, GRACE).unwrap();
    assert!(script.steps.is_empty() && fake.seen.borrow().untils.is_empty());
}

#[test]
fn a_machine_that_has_ended_is_asked_no_more() {
    let fake = Fake::default();
    let mut script = Script::of([MachineStep::End, perform(1)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!((script.steps.len(), fake.submitted_ids()), (1, vec![]));
}

#[test]
fn a_machine_wakes_once_its_time_has_come() {
    let fake = Fake::with([FakeEvent::Time]);
    let end = Instant::now() + Duration::from_secs(5);
    let mut script = Script::of([MachineStep::Wait(Some(end)), perform(1)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!(script.log, ["wake", "begin 1", "end 1: Code(0)"]);
    assert_eq!(fake.seen.borrow().untils, [Some(end), None]);
}

#[test]
fn a_machine_hears_of_a_signal_before_it_begins_anything() {
    let fake = Fake::default();
    fake.interrupts.signal(Signal::SIGTERM);
    let mut script = Script::of([perform(1)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!(script.log, ["signal 15"]);
    assert_eq!(fake.seen.borrow().starts, 0);
}

#[test]
fn with_grace_what_runs_ends_by_itself_and_nothing_more_begins() {
    let fake = Fake::with([FakeEvent::Signal]);
    let mut script = Script::of([perform(1), MachineStep::Wait(None), perform(2)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!(script.log, ["begin 1", "signal 2", "end 1: Code(0)"]);
    assert_eq!(fake.cancels(), 0);
}

#[test]
fn without_grace_running_actions_are_cancelled_and_their_end_is_reported() {
    let fake = Fake::with([FakeEvent::Signal]);
    let mut script = Script::of([perform(1), MachineStep::Wait(None), perform(2)]);
    script.run(&fake, OnInterrupt::Cancel).unwrap();
    assert_eq!(script.log, ["begin 1", "signal 2", "end 1: Cancelled"]);
    assert_eq!(fake.cancels(), 1);
}

#[test]
fn a_second_signal_is_passed_on() {
    let fake = Fake::with([FakeEvent::Signal, FakeEvent::Signal]);
    let mut script = Script::of([perform(1), MachineStep::Wait(None), perform(2)]);
    script.run(&fake, GRACE).unwrap();
    assert_eq!(fake.rings(), [1, 2]);
    assert_eq!(script.log, ["begin 1", "signal 2", "end 1: Code(0)"]);
}

#[test]
fn notes_and_output_are_shown() {
    let fake = Fake::with([
        FakeEvent::Heard(RunnerEvent::Note(1, ChainNote::Detail("sudo".to_owned()))),
        FakeEvent::Heard(RunnerEvent::Output(1, Stream::Stdout, b"a".to_vec())),
    ]);
    let face = Script::of([perform(1)]).run(&fake, GRACE).unwrap();
    assert_eq!(face.shown, ["1: Detail(\"sudo\")", "1: Stdout [97]"]);
}

#[test]
fn a_machine_that_breaks_ends_the_loop_with_its_error() {
    let fake = Fake::default();
    let mut script = Script::of([perform(1), perform(2)]);
    script.breaks_at = Some(1);
    let stopped = script.run(&fake, GRACE).err().unwrap();
    assert!(matches!(stopped, Stopped::Broken));
    assert_eq!(script.log, ["begin 1", "begin 2", "end 1: Code(0)"]);
}

#[test]
fn a_performer_that_is_gone_ends_the_loop_with_its_error() {
    let fake = Fake::with([FakeEvent::Gone]);
    let stopped = Script::of([perform(1)]).run(&fake, GRACE).err().unwrap();
    assert!(matches!(stopped, Stopped::Exec(Error::Ended)));
}

#[test]
fn an_action_that_cannot_begin_ends_the_loop_and_what_began_is_ended() {
    let fake = Fake {
        refuses: Some(2),
        ..Fake::default()
    };
    let mut driver = fake.driver_with_grace();
    let mut script = Script::of([perform(1), perform(2), perform(3)]);
    let stopped = drive(&mut script, &mut driver, &mut FakeView::default());
    assert!(matches!(stopped, Err(Stopped::Exec(Error::Ended))));
    assert_eq!(driver.end_all(), [(1, ended(Exit::Cancelled))]);
}

/// Runs one action that asks for a password `times` times, and gives these answers.
fn asks(answers: &[&str], times: usize) -> (Fake, Script, FakeView) {
    let question = Question::Become("me@a:22".to_owned());
    let asked = || Exit::NeedsAnswer {
        question: question.clone(),
        refused: false,
    };
    let fake = Fake::with((0..times).map(|_| FakeEvent::Ends(1, asked())));
    let mut driver = fake
        .driver(OnInterrupt::Cancel)
        .with_passwords(None, Passwords::default());
    let mut script = Script::of([perform(1)]);
    let mut face = FakeView {
        answers: answers.iter().map(|it| Secret::new(*it)).collect(),
        ..FakeView::default()
    };
    drive(&mut script, &mut driver, &mut face).unwrap();
    (fake, script, face)
}

#[test]
fn a_question_is_asked_and_the_action_begins_again() {
    let (fake, script, face) = asks(&["it"], 1);
    assert_eq!(face.shown, ["the sudo password of me@a:22"]);
    assert_eq!(fake.submitted_ids(), [1, 1]);
    assert_eq!(script.log, ["begin 1", "end 1: Code(0)"]);
}

#[test]
fn a_question_that_nobody_answers_is_the_end_of_its_action() {
    let (fake, script, face) = asks(&[], 1);
    assert_eq!((face.shown.len(), fake.submitted_ids()), (1, vec![1]));
    assert!(
        script.log[1].starts_with("end 1: NeedsAnswer"),
        "{:?}",
        script.log
    );
}

#[test]
fn a_question_is_asked_no_more_than_three_times() {
    let (fake, script, face) = asks(&["a", "b", "c", "d"], 4);
    assert_eq!((face.shown.len(), face.answers.len()), (3, 1));
    assert_eq!(fake.submitted_ids(), [1, 1, 1, 1]);
    assert!(
        script.log[1].starts_with("end 1: NeedsAnswer"),
        "{:?}",
        script.log
    );
}
