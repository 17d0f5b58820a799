//! What transactions of packages join.

use super::*;

fn args(pairs: &[(&str, Value)]) -> Map {
    pairs
        .iter()
        .map(|(key, value)| ((*key).into(), value.clone()))
        .collect()
}

#[test]
fn packages_of_several_states_become_one_transaction() {
    let one = args(&[("name", "nginx".into()), ("version", "1.22*".into())]);
    let two = args(&[
        ("name", "x".into()),
        ("pkgs", Value::list(["curl".into(), "git".into()])),
    ]);
    let joined = aggregate(&[&one, &two]).unwrap();
    assert_eq!(
        joined["pkgs"].to_string(),
        "[{'nginx': '1.22*'}, 'curl', 'git']"
    );
    assert!(!joined.contains_key("version"));
}

#[test]
fn states_that_hold_packages_or_take_them_from_elsewhere_stay_apart() {
    let one = args(&[("name", "nginx".into())]);
    let held = args(&[("name", "curl".into()), ("hold", true.into())]);
    let elsewhere = args(&[("name", "curl".into()), ("fromrepo", "backports".into())]);
    assert!(aggregate(&[&one, &held]).is_none());
    assert!(aggregate(&[&one, &elsewhere]).is_none());
}
