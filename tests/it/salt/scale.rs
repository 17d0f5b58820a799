//! The run order of random state trees: it contains each state once, is reproducible and respects requisites.

use std::fmt::Write as _;

use proptest::prelude::*;
use unfurl::testing::states::{LinkTarget, RunOrdering};

use super::trees::{machine, tree};

/// A random tree without cycles: each state requires only earlier states of a hidden order.
fn random_tree() -> impl Strategy<Value = String> {
    let kinds = [
        "require",
        "watch",
        "onchanges",
        "onfail",
        "require_any",
        "prereq",
    ];
    let links = prop::collection::vec((any::<u16>(), 0..kinds.len()), 0..3);
    let order = prop_oneof![
        6 => Just(String::new()),
        1 => Just("first".to_owned()),
        1 => Just("last".to_owned()),
        1 => (-3..20_i32).prop_map(|number| number.to_string()),
    ];
    let state = (links, order, any::<u32>());
    prop::collection::vec(state, 1..25).prop_map(move |states| {
        // The states are written in an order that differs from the order of their requisites.
        let mut places: Vec<usize> = (0..states.len()).collect();
        places.sort_by_key(|place| states[*place].2);
        let mut text = String::new();
        for place in places {
            let (links, order, _) = &states[place];
            writeln!(text, "s{place}:\n  test.nop:\n    - arg: 1").unwrap();
            if !order.is_empty() {
                writeln!(text, "    - order: {order}").unwrap();
            }
            for (number, (target, kind)) in links.iter().enumerate() {
                let seen = links[..number].iter().any(|(_, other)| other == kind);
                if place > 0 && !seen {
                    let target = usize::from(*target) % place;
                    writeln!(text, "    - {}: [{{test: s{target}}}]", kinds[*kind]).unwrap();
                }
            }
        }
        text
    })
}

proptest! {
    #[test]
    fn order_is_a_permutation_that_keeps_requisites(text in random_tree()) {
        for ordering in [RunOrdering::Classic, RunOrdering::Dag] {
            let files = [("main.sls", text.as_str())];
            // A `prereq` reverses the direction of a requisite and may close a cycle, which is reported as an
            // error.
            let Ok(first) = tree(machine(&files), &["main"], ordering) else {
                continue;
            };
            let again = tree(machine(&files), &["main"], ordering).unwrap();
            prop_assert_eq!(&first.low.order, &again.low.order);
            let mut sorted = first.low.order.clone();
            sorted.sort_unstable();
            let count = u32::try_from(first.low.chunks.len()).unwrap();
            prop_assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            if ordering == RunOrdering::Classic {
                continue;
            }
            let mut place = vec![0; first.low.chunks.len()];
            for (at, chunk) in first.low.order.iter().enumerate() {
                place[*chunk as usize] = at;
            }
            for (own, chunk) in first.low.chunks.iter().enumerate() {
                for link in &chunk.links {
                    let LinkTarget::Set(set) = link.target else { continue };
                    for target in &first.low.sets[set as usize] {
                        let target = place[*target as usize];
                        let is_prereq = link.kind == unfurl::testing::states::Requisite::Prereq;
                        prop_assert!((place[own] < target) == is_prereq, "{}", text);
                    }
                }
            }
        }
    }
}
