//! What holds for every service template, tried on random ones.

mod lab;
mod laws;
mod model;
mod oracle;
mod performer;
mod picks;
mod replay;
mod same;
mod simulation;

use proptest::prelude::{ProptestConfig, TestCaseError, proptest};
use proptest::test_runner::{FileFailurePersistence, RngSeed};

/// How many cases each of the parts tries; `UNFURL_PROPERTY_CASES` is the number of all. The test
/// command sets it to 300, or 2,000 with `UNFURL_LOOPS=full`; without it there are few.
///
/// They are the same each time, so that a change and nothing else makes a test fail;
/// `UNFURL_PROPERTY_SEED` takes another number for others, or `random`.
fn config(part: u64) -> ProptestConfig {
    let all = std::env::var("UNFURL_PROPERTY_CASES");
    let all: u32 = all.map_or(40, |all| all.parse().unwrap());
    let seed = match std::env::var("UNFURL_PROPERTY_SEED").as_deref() {
        Ok("random") => RngSeed::Random,
        Ok(number) => RngSeed::Fixed(number.parse::<u64>().unwrap().wrapping_mul(4) + part),
        Err(_) => RngSeed::Fixed(part),
    };
    let file = FileFailurePersistence::Direct("tests/data/property-regressions.txt");
    ProptestConfig {
        cases: all.div_ceil(4),
        failure_persistence: Some(Box::new(file)),
        max_shrink_iters: 4000,
        max_shrink_time: 30_000,
        rng_seed: seed,
        ..ProptestConfig::default()
    }
}

macro_rules! part {
    ($name:ident, $part:expr) => {
        proptest! {
            #![proptest_config(config($part))]
            #[test]
            fn $name(model in picks::models()) {
                laws::hold_for(&model).map_err(TestCaseError::fail)?;
            }
        }
    };
}

// Parts run at the same time.
part!(any_topology_keeps_the_laws_part_1, 1);
part!(any_topology_keeps_the_laws_part_2, 2);
part!(any_topology_keeps_the_laws_part_3, 3);
part!(any_topology_keeps_the_laws_part_4, 4);
