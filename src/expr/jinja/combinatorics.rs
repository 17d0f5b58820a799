//! Filters that combine, choose and shuffle.

use minijinja::Environment;
use minijinja::value::Value as JinjaValue;

use crate::expr::reads::Read;
use crate::value::{List, Value};

use super::arguments::{ANY, Arguments, add as filter};
use super::error::Result;
use super::limits;
use super::twister::Twister;

/// How many combinations there may be.
const MOST: usize = 100_000;

/// Adds the filters to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    filter(environment, "product", &[ANY, "repeat"], product);
    filter(environment, "permutations", &["r"], permutations);
    filter(environment, "combinations", &["r"], combinations);
    filter(environment, "random", &["start", "step", "seed"], random);
    filter(environment, "shuffle", &["seed"], shuffle);
}

fn product(args: &Arguments<'_>) -> Result<JinjaValue> {
    let mut lists = vec![args.subject_list()?];
    lists.extend(args.rest_lists()?);
    let repeat = args.size("repeat")?.unwrap_or(1);
    let total = lists.len().saturating_mul(repeat);
    if total > 64 {
        return Err(args.fail("there are too many lists"));
    }
    let every = std::iter::repeat_n(&lists, repeat).flatten();
    let mut rows = vec![List::new()];
    for items in every {
        if rows.len().saturating_mul(items.len()) > MOST {
            return Err(args.fail("there are too many combinations"));
        }
        let with = |row: &List, item: &Value| row.iter().chain([item]).cloned().collect();
        rows = rows
            .iter()
            .flat_map(|row| items.iter().map(move |item| with(row, item)))
            .collect();
    }
    args.give_list(rows.into_iter().map(Value::from).collect())
}

fn permutations(args: &Arguments<'_>) -> Result<JinjaValue> {
    arrangements(args, false)
}

fn combinations(args: &Arguments<'_>) -> Result<JinjaValue> {
    arrangements(args, true)
}

/// The ways to take `r` items: with `sorted`, each set of them once.
fn arrangements(args: &Arguments<'_>, sorted: bool) -> Result<JinjaValue> {
    let items = args.subject_list()?;
    let length = args.size("r")?.unwrap_or(items.len());
    let mut rows = List::new();
    if length > items.len() {
        return args.give(rows);
    }
    if length > 64 {
        return Err(args.fail("there are too many ways"));
    }
    // The place of each chosen item; the last one counts up.
    let mut chosen: Vec<usize> = Vec::new();
    let mut next = 0;
    loop {
        if chosen.len() == length {
            rows.push(Value::list(
                chosen.iter().map(|place| items[*place].clone()),
            ));
            if rows.len() > MOST {
                return Err(args.fail("there are too many ways"));
            }
        } else {
            while next < items.len() && !sorted && chosen.contains(&next) {
                next += 1;
            }
            // With too few items left, nothing comes of it.
            let enough = !sorted || items.len() - next >= length - chosen.len();
            if next < items.len() && enough {
                chosen.push(next);
                next = if sorted { next + 1 } else { 0 };
                continue;
            }
        }
        match chosen.pop() {
            Some(last) => next = last + 1,
            None => return args.give(rows),
        }
    }
}

/// The generator of a seed, or of bytes nobody can guess.
fn generator(args: &Arguments<'_>) -> Result<Twister> {
    if let Some(seed) = args.get("seed")? {
        return Ok(match &seed {
            Value::Int(seed) => Twister::of_number(seed.unsigned_abs()),
            other => Twister::of_text(&other.to_string()),
        });
    }
    args.evaluator().tracker().read(Read::Volatile, None);
    let mut bytes = [0; 32];
    args.evaluator().world().random(&mut bytes);
    Ok(Twister::of_bytes(&bytes))
}

/// An item of a list, or a number below another; the same each time for a `seed`, and that of
/// Python.
fn random(args: &Arguments<'_>) -> Result<JinjaValue> {
    let mut generator = generator(args)?;
    if let Some(end) = args.subject.as_i64() {
        let start = args.int("start")?.unwrap_or(0);
        let step = args.int("step")?.unwrap_or(1);
        let width = i128::from(end) - i128::from(start);
        let step_wide = i128::from(step);
        let count = match step {
            1.. => (width + step_wide - 1) / step_wide,
            0 => 0,
            _ => (width + step_wide + 1) / step_wide,
        };
        let count = u64::try_from(count).ok().filter(|count| *count > 0);
        let Some(count) = count else {
            return Err(args.fail("there is no number in this range"));
        };
        let chosen = i128::from(generator.below(count)) * step_wide + i128::from(start);
        return Ok(i64::try_from(chosen).unwrap_or(i64::MAX).into());
    }
    if args.raw("start").is_some() || args.raw("step").is_some() {
        return Err(args.fail("`start` and `step` go with a number"));
    }
    let items = args.subject_list()?;
    let Ok(count @ 1..) = u64::try_from(items.len()) else {
        return Err(args.fail("takes a list with items, or a number above zero"));
    };
    let place = usize::try_from(generator.below(count)).unwrap_or_default();
    args.give(items[place].clone())
}

fn shuffle(args: &Arguments<'_>) -> Result<JinjaValue> {
    let mut generator = generator(args)?;
    let mut items = args.subject_list()?;
    limits::items_of(items.len())?;
    for last in (1..items.len()).rev() {
        let other = generator.below(last as u64 + 1);
        items.swap(last, usize::try_from(other).unwrap_or_default());
    }
    args.give(items)
}
