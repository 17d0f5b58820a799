//! Filters and tests of the template engine itself, with a check of the budget before each call. A filter such
//! as `map` or `select` applies others to each item, so each of them needs the check.

use minijinja::value::{Kwargs, Rest, Value as JinjaValue, ValueKind};
use minijinja::{Environment, State, filters, tests};

use super::error::Result;
use super::limits;

/// The filters that compare all items of a list, and so take long if the items are large.
const COMPARING: [&str; 3] = ["sort", "min", "max"];

/// Registers the filters and tests again, with the check.
pub(super) fn add(environment: &mut Environment<'_>) {
    let own: [(&'static str, JinjaValue); 23] = [
        ("lower", JinjaValue::from_function(filters::lower)),
        ("upper", JinjaValue::from_function(filters::upper)),
        ("title", JinjaValue::from_function(filters::title)),
        ("capitalize", JinjaValue::from_function(filters::capitalize)),
        ("length", JinjaValue::from_function(filters::length)),
        ("count", JinjaValue::from_function(filters::length)),
        ("items", JinjaValue::from_function(filters::items)),
        ("reverse", JinjaValue::from_function(filters::reverse)),
        ("trim", JinjaValue::from_function(filters::trim)),
        ("lines", JinjaValue::from_function(filters::lines)),
        ("first", JinjaValue::from_function(filters::first)),
        ("last", JinjaValue::from_function(filters::last)),
        ("min", JinjaValue::from_function(filters::min)),
        ("max", JinjaValue::from_function(filters::max)),
        ("sort", JinjaValue::from_function(filters::sort)),
        ("list", JinjaValue::from_function(filters::list)),
        ("select", JinjaValue::from_function(filters::select)),
        ("reject", JinjaValue::from_function(filters::reject)),
        ("selectattr", JinjaValue::from_function(filters::selectattr)),
        ("rejectattr", JinjaValue::from_function(filters::rejectattr)),
        ("map", JinjaValue::from_function(filters::map)),
        ("escape", JinjaValue::from_function(filters::escape)),
        ("e", JinjaValue::from_function(filters::escape)),
    ];
    for (name, filter) in own {
        let run = move |state: &mut State, args: Rest<JinjaValue>, named: Kwargs| {
            check(name, &args)?;
            filter.call(state, &with_named(args, named))
        };
        environment.add_filter(name, run);
    }
    add_comparisons(environment);
}

/// Registers the tests that compare values, and that for values with items: none has no items.
fn add_comparisons(environment: &mut Environment<'_>) {
    environment.add_test("iterable", |value: &JinjaValue| {
        !value.is_none() && tests::is_iterable(value)
    });
    let comparisons: [(&[&'static str], JinjaValue); 7] = [
        (
            &["eq", "equalto", "=="],
            JinjaValue::from_function(tests::is_eq),
        ),
        (&["ne", "!="], JinjaValue::from_function(tests::is_ne)),
        (
            &["lt", "lessthan", "<"],
            JinjaValue::from_function(tests::is_lt),
        ),
        (&["le", "<="], JinjaValue::from_function(tests::is_le)),
        (
            &["gt", "greaterthan", ">"],
            JinjaValue::from_function(tests::is_gt),
        ),
        (&["ge", ">="], JinjaValue::from_function(tests::is_ge)),
        (&["in"], JinjaValue::from_function(tests::is_in)),
    ];
    for (names, test) in comparisons {
        for name in names {
            let test = test.clone();
            let run = move |state: &mut State, args: Rest<JinjaValue>, named: Kwargs| {
                check(name, &args)?;
                Ok::<_, minijinja::Error>(test.call(state, &with_named(args, named))?.is_true())
            };
            environment.add_test(*name, run);
        }
    }
}

/// Returns the arguments as the engine passes them: the named ones as the last argument.
fn with_named(args: Rest<JinjaValue>, named: Kwargs) -> Vec<JinjaValue> {
    let mut all = args.0;
    if named.args().next().is_some() {
        all.push(named.into());
    }
    all
}

/// Returns an error if the budget is used up, or if the items to compare are too large.
fn check(name: &str, args: &[JinjaValue]) -> Result<()> {
    limits::check_budget()?;
    let Some(subject) = args.first().filter(|_| COMPARING.contains(&name)) else {
        return Ok(());
    };
    match subject.kind() {
        ValueKind::Seq | ValueKind::Iterable => limits::check_items(subject),
        _ => Ok(()),
    }
}
