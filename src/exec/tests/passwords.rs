//! Tests of a driver that asks for passwords: which questions it asks, and how often.

use std::sync::Arc;

use super::fake::{Fake, FakeEvent, outcome, read_nothing};
use crate::exec::{Driver, DriverEvent, OnInterrupt};
use crate::host::{
    Action, ActionRequest, Address, BecomeUser, ChainExecutor, Destination, ExecutorChain, Exit,
    Location, Passwords, Question, Secret,
};

fn host(name: &str) -> ActionRequest {
    let address = Address::parse(name, "me", 22).unwrap();
    let destination = Arc::new(Destination::new(name, address));
    ActionRequest::new(Location::Ssh(destination), Action::Read(Vec::new()))
}

fn login(name: &str) -> Question {
    Question::Login(Address::parse(name, "me", 22).unwrap().to_string())
}

fn asks(tag: u64, question: &Question) -> FakeEvent {
    let (question, refused) = (question.clone(), false);
    FakeEvent::Ends(tag, Exit::NeedsAnswer { question, refused })
}

fn asking(fake: &Fake) -> Driver {
    fake.driver(OnInterrupt::Cancel)
        .with_passwords(None, Passwords::default())
}

fn question(driver: &mut Driver) -> Question {
    match driver.next(None).unwrap() {
        DriverEvent::Question(question) => question,
        other => panic!("no question: {other:?}"),
    }
}

/// Returns the login password of an action.
fn password(request: &ActionRequest) -> Option<&str> {
    let Location::Ssh(destination) = &request.location else {
        panic!("{request:?}");
    };
    let password = destination.identities.password.as_ref();
    password.map(Secret::reveal)
}

#[test]
fn an_action_that_needs_a_password_begins_again_with_the_answer() {
    let fake = Fake::with([asks(1, &login("a"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    assert_eq!(password(&fake.last_request()), None);
    assert_eq!(question(&mut driver), login("a"));
    driver.answer(Some(Secret::new("it"))).unwrap();
    assert_eq!(password(&fake.last_request()), Some("it"));
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(fake.submitted_ids(), [1, 1]);
}

#[test]
fn an_action_to_whose_question_nobody_answers_ends_with_it() {
    let fake = Fake::with([asks(1, &login("a"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    question(&mut driver);
    driver.answer(None).unwrap();
    let (tag, exit) = outcome(&mut driver);
    assert!(
        tag == 1 && matches!(exit, Exit::NeedsAnswer { .. }),
        "{exit:?}"
    );
    assert_eq!(fake.submitted_ids(), [1]);
}

#[test]
fn a_question_that_is_not_even_answered_ends_its_action() {
    let fake = Fake::with([asks(1, &login("a"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    question(&mut driver);
    assert!(matches!(
        outcome(&mut driver),
        (1, Exit::NeedsAnswer { .. })
    ));
}

#[test]
fn nobody_is_asked_again_once_nobody_answered() {
    let fake = Fake::with([asks(1, &login("a")), asks(2, &login("b"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    driver.submit(2, host("b")).unwrap();
    question(&mut driver);
    driver.answer(None).unwrap();
    assert_eq!(outcome(&mut driver).0, 1);
    assert!(matches!(
        outcome(&mut driver),
        (2, Exit::NeedsAnswer { .. })
    ));
}

#[test]
fn a_login_password_is_asked_for_until_the_login_ends() {
    let mut all: Vec<_> = (0..3).map(|_| asks(1, &login("a"))).collect();
    all.push(FakeEvent::Ends(1, Exit::Unreachable("refused".to_owned())));
    let fake = Fake::with(all);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    for wrong in ["one", "two", "three"] {
        question(&mut driver);
        driver.answer(Some(Secret::new(wrong))).unwrap();
        assert_eq!(password(&fake.last_request()), Some(wrong));
    }
    assert!(matches!(outcome(&mut driver), (1, Exit::Unreachable(_))));
    assert_eq!(fake.submitted_ids(), [1, 1, 1, 1]);
}

#[test]
fn an_answer_that_came_meanwhile_is_tried_before_anybody_is_asked() {
    let fake = Fake::with([asks(1, &login("a")), asks(2, &login("b"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    driver.submit(2, host("b")).unwrap();
    question(&mut driver);
    driver.answer(Some(Secret::new("same"))).unwrap();
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(outcome(&mut driver), (2, Exit::Code(0)));
    assert_eq!(fake.submitted_ids(), [1, 2, 1, 2]);
    assert_eq!(password(&fake.last_request()), Some("same"));
}

#[test]
fn a_later_action_has_the_password_at_once() {
    let fake = Fake::with([asks(1, &login("a"))]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    question(&mut driver);
    driver.answer(Some(Secret::new("it"))).unwrap();
    outcome(&mut driver);
    driver.submit(2, host("b")).unwrap();
    assert_eq!(password(&fake.last_request()), Some("it"));
}

#[test]
fn an_action_of_this_machine_needs_no_password() {
    let fake = Fake::default();
    let mut driver = asking(&fake);
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(fake.last_request(), read_nothing());
}

fn sudo(password: Option<&str>) -> Arc<ExecutorChain> {
    let password = password.map(Secret::new);
    let user = "root".to_owned();
    Arc::new(ExecutorChain::new(vec![ChainExecutor::Sudo(BecomeUser {
        user,
        password,
    })]))
}

#[test]
fn actions_are_those_of_another_user() {
    let fake = Fake::default();
    let driver = fake.driver(OnInterrupt::Cancel);
    let mut driver = driver.with_passwords(Some("root".to_owned()), Passwords::default());
    driver.submit(1, read_nothing()).unwrap();
    assert_eq!(fake.last_request().chain, Some(sudo(None)));
    driver.submit(2, host("a")).unwrap();
    assert_eq!(fake.last_request().chain, Some(sudo(None)));
}

#[test]
fn another_user_of_a_host_has_the_password_that_was_asked_for() {
    let address = Address::parse("a", "me", 22).unwrap().to_string();
    let needed = Question::Become(address);
    let fake = Fake::with([asks(1, &needed)]);
    let driver = fake.driver(OnInterrupt::Cancel);
    let mut driver = driver.with_passwords(Some("root".to_owned()), Passwords::default());
    driver.submit(1, host("a")).unwrap();
    assert_eq!(question(&mut driver), needed);
    driver.answer(Some(Secret::new("it"))).unwrap();
    assert_eq!(fake.last_request().chain, Some(sudo(Some("it"))));
    assert_eq!(password(&fake.last_request()), None);
}

#[test]
fn a_refused_answer_is_not_tried_on_other_hosts() {
    let refused = |tag: u64, question: &Question| {
        let (question, refused) = (question.clone(), true);
        FakeEvent::Ends(tag, Exit::NeedsAnswer { question, refused })
    };
    let fake = Fake::with([
        asks(1, &login("a")),
        asks(2, &login("b")),
        refused(1, &login("a")),
    ]);
    let mut driver = asking(&fake);
    driver.submit(1, host("a")).unwrap();
    driver.submit(2, host("b")).unwrap();
    assert_eq!(question(&mut driver), login("a"));
    driver.answer(Some(Secret::new("wrong"))).unwrap();
    // The other host waits until an answer is accepted.
    assert_eq!(question(&mut driver), login("a"));
    driver.answer(Some(Secret::new("right"))).unwrap();
    assert_eq!(outcome(&mut driver), (1, Exit::Code(0)));
    assert_eq!(outcome(&mut driver), (2, Exit::Code(0)));
    assert_eq!(password(&fake.last_request()), Some("right"));
    assert_eq!(fake.submitted_ids(), [1, 2, 1, 1, 2]);
}

#[test]
fn passwords_that_are_known_at_the_start_are_given_at_once() {
    let fake = Fake::default();
    let known = Passwords::new(Some(Secret::new("login")), Some(Secret::new("sudo")), None);
    let driver = fake.driver(OnInterrupt::Cancel);
    let mut driver = driver.with_passwords(Some("root".to_owned()), known);
    driver.submit(1, host("a")).unwrap();
    assert_eq!(password(&fake.last_request()), Some("login"));
    assert_eq!(fake.last_request().chain, Some(sudo(Some("sudo"))));
}
