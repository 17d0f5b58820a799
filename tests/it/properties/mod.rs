//! Property tests: laws that hold for every service template, checked for random ones.
//!
//! `picks` generates the models, `oracle` says what must happen to them, `laws` compares this with real jobs.
//! `simulation` and `replay` run jobs with a simulated runner, to test crashes and the journal.

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

/// The settings of one part of the property tests. `part` selects the random seed.
///
/// `UNFURL_PROPERTY_CASES` is the number of cases of all four parts together: 40 by default, 60 in the test
/// command, 2,000 there with `UNFURL_LOOPS=full`.
///
/// The cases are the same in each run, so that only a change of the code makes a test fail. Set
/// `UNFURL_PROPERTY_SEED` to a number or to `random` for other cases.
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

// The test runner runs the parts in parallel.
part!(any_topology_keeps_the_laws_part_1, 1);
part!(any_topology_keeps_the_laws_part_2, 2);
part!(any_topology_keeps_the_laws_part_3, 3);
part!(any_topology_keeps_the_laws_part_4, 4);
