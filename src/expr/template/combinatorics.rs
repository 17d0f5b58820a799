//! Filters that combine, choose and shuffle: `product`, `permutations`, `combinations`, `random` and
//! `shuffle`.

use itertools::{Either, Itertools as _};
use minijinja::value::Value as JinjaValue;

use crate::expr::reads::Read;
use crate::value::{List, Value};

use super::arguments::{FilterArguments, FilterTable, VARIADIC};
use super::error::Result;
use super::limits;
use super::mersenne_twister::MersenneTwister;

/// The maximum number of combinations that a filter returns.
const MAX_COMBINATIONS: usize = 100_000;

/// The filters that combine, choose and shuffle.
pub(super) const FILTERS: FilterTable = &[
    ("product", &[VARIADIC, "repeat"], product),
    ("permutations", &["r"], |args| {
        arrangements(args, Order::Any)
    }),
    ("combinations", &["r"], |args| {
        arrangements(args, Order::Sorted)
    }),
    ("combinations_with_replacement", &["r"], |args| {
        arrangements(args, Order::Repeated)
    }),
    ("random", &["start", "step", "seed"], random),
    ("shuffle", &["seed"], shuffle),
];

fn product(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let mut lists = vec![args.subject_list()?];
    lists.extend(args.positional_lists()?);
    let repeat = args.size("repeat")?.unwrap_or(1);
    if lists.len().saturating_mul(repeat) > 64 {
        return Err(args.fail("there are too many lists"));
    }
    let every: Vec<&List> = std::iter::repeat_n(&lists, repeat).flatten().collect();
    let rows = cartesian_product(&every).map_err(|problem| args.fail(problem))?;
    args.engine_tuples(&rows)
}

/// Returns the Cartesian product of lists; the item of the last list changes first.
pub(super) fn cartesian_product(lists: &[&List]) -> std::result::Result<List, &'static str> {
    let mut count = 1_usize;
    for items in lists {
        count = count.saturating_mul(items.len());
        if count > MAX_COMBINATIONS {
            return Err("there are too many combinations");
        }
    }
    let lists = lists.iter().map(|items| items.iter().cloned());
    Ok(lists.multi_cartesian_product().map(Value::from).collect())
}

/// The order of items in an arrangement.
#[derive(Clone, Copy)]
enum Order {
    Any,
    /// That of the list.
    Sorted,
    /// That of the list, where items may stand several times.
    Repeated,
}

/// Returns the permutations or combinations of length `r`.
fn arrangements(args: &FilterArguments<'_>, order: Order) -> Result<JinjaValue> {
    let items = args.subject_list()?;
    let length = args.size("r")?.unwrap_or(items.len());
    let is_repeated = matches!(order, Order::Repeated);
    if length > 64 && (is_repeated || length <= items.len()) {
        return Err(args.fail("there are too many combinations"));
    }
    let count = items.len();
    let items = items.into_iter();
    if length > count && !is_repeated {
        return args.engine_value(List::new());
    }
    let arrangements = match order {
        Order::Any => Either::Left(items.permutations(length)),
        Order::Sorted => Either::Right(Either::Left(items.combinations(length))),
        Order::Repeated => {
            Either::Right(Either::Right(items.combinations_with_replacement(length)))
        }
    };
    let rows: List = arrangements
        .take(MAX_COMBINATIONS + 1)
        .map(Value::from)
        .collect();
    if rows.len() > MAX_COMBINATIONS {
        return Err(args.fail("there are too many combinations"));
    }
    args.engine_tuples(&rows)
}

/// Returns a generator seeded by the argument `seed`, or by secure random bytes.
fn generator(args: &FilterArguments<'_>) -> Result<MersenneTwister> {
    if let Some(seed) = args.get("seed")? {
        return Ok(match &seed {
            Value::Int(seed) => MersenneTwister::from_number(seed.unsigned_abs()),
            other => MersenneTwister::from_text(&other.to_string()),
        });
    }
    args.evaluator().tracker().record_read(Read::Volatile, None);
    let mut bytes = [0; 32];
    let filled = args.evaluator().system().random(&mut bytes);
    filled.map_err(|problem| args.fail(problem.to_string()))?;
    Ok(MersenneTwister::from_bytes(&bytes))
}

/// Returns a random item of a list, or a random number below an integer. A `seed` gives the result of
/// Python.
fn random(args: &FilterArguments<'_>) -> Result<JinjaValue> {
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
            return Err(args.fail("the range contains no number"));
        };
        let chosen = i128::from(generator.below(count)) * step_wide + i128::from(start);
        return Ok(i64::try_from(chosen).unwrap_or(i64::MAX).into());
    }
    if args.raw("start").is_some() || args.raw("step").is_some() {
        return Err(args.fail("`start` and `step` can only be used with a number, not with a list"));
    }
    let items = args.subject_list()?;
    let Ok(count @ 1..) = u64::try_from(items.len()) else {
        return Err(args.fail("takes a list that is not empty, or a positive number"));
    };
    let index = usize::try_from(generator.below(count)).unwrap_or_default();
    args.engine_value(items[index].clone())
}

fn shuffle(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let mut generator = generator(args)?;
    let mut items = args.subject_list()?;
    limits::check_item_count(items.len())?;
    for last in (1..items.len()).rev() {
        let other = generator.below(last as u64 + 1);
        items.swap(last, usize::try_from(other).unwrap_or_default());
    }
    args.engine_value(items)
}
