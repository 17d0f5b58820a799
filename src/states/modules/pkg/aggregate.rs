//! Aggregation of `pkg` states: several installations become one apt transaction.
//!
//! The engine calls [`aggregate`] for a group of states that it may join.

use crate::value::{Map, Value};

/// Joins the arguments of several states to one transaction under the first state (S40).
///
/// Returns None if they cannot be joined: a state holds packages, or the sources or repositories
/// differ.
pub(super) fn aggregate(all: &[&Map]) -> Option<Map> {
    let (first, rest) = all.split_first()?;
    let key = if first.contains_key("sources") {
        "sources"
    } else {
        "pkgs"
    };
    let mut items = package_entries(first, key)?;
    for args in rest {
        let same_index = args.get("fromrepo") == first.get("fromrepo");
        let same_kind = args.contains_key("sources") == (key == "sources");
        if args.contains_key("hold") || !same_index || !same_kind {
            return None;
        }
        for item in package_entries(args, key)? {
            if !items.contains(&item) {
                items.push(item);
            }
        }
    }
    let mut joined = (*first).clone();
    joined.shift_remove("version");
    joined.insert(key.into(), Value::list(items));
    Some(joined)
}

/// Returns the packages of a state in the form of `pkgs` or `sources`.
fn package_entries(args: &Map, key: &str) -> Option<Vec<Value>> {
    match args.get(key).map(Value::reveal) {
        Some(Value::List(items)) => return Some(items.to_vec()),
        Some(Value::Null) | None => {}
        Some(other) => return Some(vec![other.clone()]),
    }
    let name = args.get("name")?.reveal().as_str()?;
    Some(vec![match args.get("version") {
        Some(version) if !version.is_null() => Value::map([(name, version.clone())]),
        _ => Value::from(name),
    }])
}

#[cfg(test)]
mod tests {
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
}
