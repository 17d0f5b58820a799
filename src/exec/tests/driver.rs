//! Tests of the driver: submitted actions, reported events and the effects of signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::fake::{Fake, FakeEvent, ended, outcome, read_nothing};
use crate::exec::{Driver, DriverEvent, Error, OnInterrupt, RunnerEvent};
use crate::host::{ChainNote, Exit, Passwords, Stream};
use crate::system::signals::Interrupts;

#[test]
fn nothing_starts_before_the_first_action() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    driver.cancel_all();
    assert_eq!(driver.take_interrupt(), None);
    assert_eq!((fake.seen.borrow().starts, fake.cancels()), (0, 0));
    driver.submit(1, read_nothing()).unwrap();
    driver.submit(2, read_nothing()).unwrap();
    assert_eq!(fake.seen.borrow().starts, 1);
}

#[test]
fn a_start_that_fails_is_reported_and_is_not_tried_again() {
    let failing = || Err(Error::Start(std::io::Error::other("no threads")));
    let mut driver = Driver::new(Interrupts::default(), OnInterrupt::Cancel, failing);
    let error = driver.submit(1, read_nothing()).unwrap_err();
    insta::assert_snapshot!(error, @"could not start the local runner: no threads");
    let error = driver.next(None).unwrap_err();
    insta::assert_snapshot!(error, @"the local runner has ended");
}

#[test]
fn an_outcome_has_the_tag_of_its_action() {
    let fake = Fake::with([FakeEvent::Ends(7, Exit::Code(3))]);
    let mut driver = fake.driver_with_grace();
    driver.submit(5, read_nothing()).unwrap();
    driver.submit(7, read_nothing()).unwrap();
    assert_eq!(outcome(&mut driver), (7, Exit::Code(3)));
    assert_eq!(outcome(&mut driver), (5, Exit::Code(0)));
    assert_eq!(fake.submitted_ids(), [5, 7]);
}

#[test]
fn a_tag_may_come_again_after_its_outcome() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    for _ in 0..2 {
        driver.submit(1, read_nothing()).unwrap();
        assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    }
    assert_eq!(fake.submitted_ids(), [1, 1]);
}

#[test]
fn notes_and_output_are_passed_on_with_the_tag_of_their_action() {
    let fake = Fake::with([
        FakeEvent::Heard(RunnerEvent::Note(1, ChainNote::Notice("slow".to_owned()))),
        FakeEvent::Heard(RunnerEvent::Output(1, Stream::Stderr, b"x".to_vec())),
    ]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    let news = driver.next(None).unwrap();
    assert!(matches!(news, DriverEvent::Note(1, ChainNote::Notice(text)) if text == "slow"));
    let news = driver.next(None).unwrap();
    assert!(matches!(news, DriverEvent::Output(1, Stream::Stderr, bytes) if bytes == b"x"));
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
}

#[test]
fn the_deadline_is_passed_to_the_runner_and_its_timeout_is_reported() {
    let fake = Fake::with([FakeEvent::Time]);
    let mut driver = fake.driver_with_grace();
    let end = Instant::now() + Duration::from_secs(9);
    assert!(matches!(
        driver.next(Some(end)).unwrap(),
        DriverEvent::Timeout
    ));
    assert_eq!(fake.seen.borrow().untils, [Some(end)]);
}

#[test]
fn whoever_performs_nothing_any_more_ends_the_driver() {
    let fake = Fake::with([FakeEvent::Gone]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    assert!(matches!(driver.next(None), Err(Error::Ended)));
}

#[test]
fn from_the_first_action_on_the_run_is_brought_to_an_end() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    // Before the runner has started, the second signal would end this process.
    fake.interrupts.signal(Signal::SIGINT);
    fake.interrupts.signal(Signal::SIGINT);
    assert_eq!(fake.interrupts.first_before_start(), None);
    assert_eq!(driver.take_interrupt(), Some(2));
}

#[test]
fn a_signal_that_came_before_is_rung_at_the_start() {
    let fake = Fake::default();
    fake.interrupts.signal(Signal::SIGTERM);
    let mut driver = fake.driver_with_grace();
    assert_eq!(fake.rings(), [0; 0]);
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(fake.rings(), [1]);
    assert!(matches!(
        driver.next(None).unwrap(),
        DriverEvent::Interrupt(15)
    ));
    assert_eq!(driver.take_interrupt(), Some(15));
}

#[test]
fn each_signal_is_rung_with_its_number() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    for _ in 0..3 {
        fake.interrupts.signal(Signal::SIGINT);
    }
    assert_eq!(fake.rings(), [1, 2, 3]);
}

#[test]
fn with_grace_a_signal_cancels_nothing() {
    let fake = Fake::with([FakeEvent::Signal]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    assert!(matches!(
        driver.next(None).unwrap(),
        DriverEvent::Interrupt(2)
    ));
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(fake.cancels(), 0);
}

#[test]
fn without_grace_a_signal_cancels_what_runs() {
    let fake = Fake::with([FakeEvent::Signal]);
    let mut driver = fake.driver(OnInterrupt::Cancel);
    driver.submit(1, read_nothing()).unwrap();
    assert!(matches!(
        driver.next(None).unwrap(),
        DriverEvent::Interrupt(2)
    ));
    assert_eq!(outcome(&mut driver), (1, Exit::Cancelled));
    assert_eq!(fake.cancels(), 1);
}

#[test]
fn what_began_after_the_first_signal_is_cancelled_by_the_second() {
    let fake = Fake::with([FakeEvent::Signal, FakeEvent::Signal]);
    let mut driver = fake.driver(OnInterrupt::Cancel);
    driver.submit(1, read_nothing()).unwrap();
    assert!(matches!(
        driver.next(None).unwrap(),
        DriverEvent::Interrupt(2)
    ));
    driver.submit(2, read_nothing()).unwrap();
    assert!(matches!(
        driver.next(None).unwrap(),
        DriverEvent::Interrupt(2)
    ));
    assert_eq!(outcome(&mut driver), (1, Exit::Cancelled));
    assert_eq!(outcome(&mut driver), (2, Exit::Cancelled));
    assert_eq!(fake.cancels(), 2);
}

#[test]
fn all_that_runs_can_be_cancelled() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    driver.submit(2, read_nothing()).unwrap();
    driver.cancel_all();
    assert_eq!(outcome(&mut driver), (1, Exit::Cancelled));
    assert_eq!(outcome(&mut driver), (2, Exit::Cancelled));
}

#[test]
fn an_action_that_could_not_begin_is_not_waited_for() {
    let fake = Fake {
        refuses: Some(2),
        ..Fake::default()
    };
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    assert!(matches!(
        driver.submit(2, read_nothing()),
        Err(Error::Ended)
    ));
    driver.submit(3, read_nothing()).unwrap();
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(driver.end_all(), [(3, ended(Exit::Cancelled))]);
    assert_eq!(driver.end_all(), []);
}

#[test]
fn what_runs_is_waited_for_until_nothing_is_heard_any_more() {
    let fake = Fake::with([
        FakeEvent::Signal,
        FakeEvent::Ends(2, Exit::Code(3)),
        FakeEvent::Gone,
    ]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    driver.submit(2, read_nothing()).unwrap();
    assert_eq!(driver.end_all(), [(2, ended(Exit::Code(3)))]);
    assert_eq!(fake.cancels(), 1);
}

#[test]
fn an_action_that_asked_when_all_ends_ends_with_its_question() {
    let question = crate::host::Question::Login("a".to_owned());
    let refused = false;
    let asked = Exit::NeedsAnswer { question, refused };
    let fake = Fake::with([FakeEvent::Ends(1, asked.clone())]);
    let mut driver = fake
        .driver_with_grace()
        .with_passwords(None, Passwords::default());
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(driver.end_all(), [(1, ended(asked))]);
}

#[test]
fn a_driver_that_is_dropped_listens_to_no_signal() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    drop(driver);
    fake.interrupts.signal(Signal::SIGINT);
    assert_eq!(fake.rings(), [0; 0]);
}

#[test]
fn a_driver_that_a_panic_drops_listens_to_no_signal() {
    let fake = Fake::default();
    let mut driver = fake.driver_with_grace();
    let panics = AssertUnwindSafe(move || {
        driver.submit(1, read_nothing()).unwrap();
        driver.next(None).unwrap();
        driver.next(None).unwrap();
    });
    catch_unwind(panics).unwrap_err();
    fake.interrupts.signal(Signal::SIGINT);
    assert_eq!(fake.rings(), [0; 0]);
}

#[test]
fn the_driver_after_another_one_listens_although_the_first_goes_later() {
    let first = Fake::default();
    let second = Fake {
        interrupts: first.interrupts.clone(),
        ..Fake::default()
    };
    let mut earlier = first.driver_with_grace();
    earlier.submit(1, read_nothing()).unwrap();
    let mut later = second.driver_with_grace();
    later.submit(1, read_nothing()).unwrap();
    drop(earlier);
    first.interrupts.signal(Signal::SIGINT);
    assert_eq!((first.rings(), second.rings()), (vec![], vec![1]));
}

#[test]
fn a_runner_that_handles_no_signals_gets_none() {
    let fake = Fake {
        ignores_signals: true,
        ..Fake::with([FakeEvent::Signal])
    };
    let mut driver = fake.driver(OnInterrupt::Cancel);
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(driver.take_interrupt(), Some(2));
}

#[test]
fn an_action_that_asks_is_an_outcome_where_the_driver_keeps_no_passwords() {
    let question = crate::host::Question::Login("a".to_owned());
    let asked = Exit::NeedsAnswer {
        question,
        refused: false,
    };
    let fake = Fake::with([FakeEvent::Ends(1, asked.clone())]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(outcome(&mut driver), (1, asked));
    driver.answer(None).unwrap();
    assert_eq!(fake.submitted_ids(), [1]);
}

#[test]
fn news_carry_the_whole_result() {
    let fake = Fake::with([FakeEvent::Ends(1, Exit::TimedOut)]);
    let mut driver = fake.driver_with_grace();
    driver.submit(1, read_nothing()).unwrap();
    let news = driver.next(None).unwrap();
    assert!(matches!(news, DriverEvent::Outcome(1, result) if result == ended(Exit::TimedOut)));
}
