//! Dependency order and cycle detection by one iterative depth-first walk over a graph given as a function
//! from a node to its dependencies.

use std::hash::Hash;

use foldhash::HashMap;

/// A dependency cycle: each node depends on the next one, and the last depends on the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle<N>(pub Vec<N>);

#[derive(Clone, Copy, PartialEq)]
enum VisitMark {
    Open,
    Closed,
}

/// Returns each node reachable from the roots once, after its dependencies.
///
/// The walk goes depth first from each root in order. It ignores an edge that would close a cycle and uses
/// no recursion.
///
/// ```
/// use unfurl::testing::dag::dependencies_first;
///
/// // The app needs the database, and the database needs the disk.
/// let order = dependencies_first(["app"], |node| match node {
///     "app" => vec!["database"],
///     "database" => vec!["disk"],
///     _ => vec![],
/// });
/// assert_eq!(order, ["disk", "database", "app"]);
/// ```
pub fn dependencies_first<N: Copy + Eq + Hash>(
    roots: impl IntoIterator<Item = N>,
    dependencies: impl FnMut(N) -> Vec<N>,
) -> Vec<N> {
    walk(roots, dependencies).0
}

/// Returns the first cycle that a depth-first walk from the roots finds.
pub fn find_cycle<N: Copy + Eq + Hash>(
    roots: impl IntoIterator<Item = N>,
    dependencies: impl FnMut(N) -> Vec<N>,
) -> Option<Cycle<N>> {
    walk(roots, dependencies).1
}

fn walk<N: Copy + Eq + Hash>(
    roots: impl IntoIterator<Item = N>,
    mut dependencies: impl FnMut(N) -> Vec<N>,
) -> (Vec<N>, Option<Cycle<N>>) {
    let mut marks: HashMap<N, VisitMark> = HashMap::default();
    let (mut order, mut cycle) = (Vec::new(), None);
    for root in roots {
        if marks.contains_key(&root) {
            continue;
        }
        marks.insert(root, VisitMark::Open);
        let mut stack = vec![(root, dependencies(root).into_iter())];
        while let Some((node, rest)) = stack.last_mut() {
            let node = *node;
            match rest.next() {
                None => {
                    marks.insert(node, VisitMark::Closed);
                    order.push(node);
                    stack.pop();
                }
                Some(next) => match marks.get(&next) {
                    Some(VisitMark::Closed) => {}
                    Some(VisitMark::Open) => {
                        let path = stack.iter().map(|(node, _)| *node);
                        cycle.get_or_insert_with(|| {
                            Cycle(path.skip_while(|node| *node != next).collect())
                        });
                    }
                    None => {
                        marks.insert(next, VisitMark::Open);
                        stack.push((next, dependencies(next).into_iter()));
                    }
                },
            }
        }
    }
    (order, cycle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_come_before_what_needs_them() {
        let edges = |node: i32| match node {
            4 => vec![2, 3],
            2 | 3 => vec![1],
            _ => vec![],
        };
        assert_eq!(dependencies_first([4, 1, 5], edges), [1, 2, 3, 4, 5]);
        assert_eq!(find_cycle([4, 1, 5], edges), None);
    }

    #[test]
    fn a_cycle_is_named_in_order() {
        let edges = |node: i32| vec![(node % 3) + 1];
        assert_eq!(find_cycle([7], edges), Some(Cycle(vec![2, 3, 1])));
        assert_eq!(dependencies_first([1], edges), [3, 2, 1]);
    }

    #[test]
    fn a_chain_of_a_million_needs_no_deep_stack() {
        let order = dependencies_first([1_000_000], |n| if n > 0 { vec![n - 1] } else { vec![] });
        assert_eq!(order.len(), 1_000_001);
    }
}
