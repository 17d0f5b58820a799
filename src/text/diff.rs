//! Unified diffs in the exact format of Python's `difflib.unified_diff`, which Salt shows as changes of
//! files.
//!
//! Matching follows Ratcliff and Obershelp: the longest block of equal lines first, then the same on both
//! sides of it. A shortest edit script would often give a different diff.

use std::collections::HashMap;

/// The number of context lines around a change.
const CONTEXT: usize = 3;

/// The limit of comparisons in the search for equal lines. Lines not searched by then count as different.
const MAX_STEPS: usize = 50_000_000;

/// The length from which the second text is searched without popular lines, that is lines that make up more
/// than one percent of it.
const POPULAR_FROM: usize = 200;

/// Returns the lines of a unified diff, or no lines if the texts are equal.
///
/// The first two lines are the file headers. Headers and hunk headers end with a newline; the other lines end
/// as they do in the texts.
pub fn unified_diff(before: &[&str], after: &[&str]) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let mut lines = vec!["--- \n".to_owned(), "+++ \n".to_owned()];
    for group in group_operations(&operations(before, after)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        lines.push(format!(
            "@@ -{} +{} @@\n",
            hunk_range(first.before.0, last.before.1),
            hunk_range(first.after.0, last.after.1)
        ));
        for step in &group {
            let mut show = |sign: char, text: &[&str]| {
                lines.extend(text.iter().map(|line| format!("{sign}{line}")));
            };
            if step.equal {
                show(' ', &before[step.before.0..step.before.1]);
            } else {
                show('-', &before[step.before.0..step.before.1]);
                show('+', &after[step.after.0..step.after.1]);
            }
        }
    }
    lines
}

/// Splits a text into lines that keep their newlines.
pub fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Formats a range of lines for a hunk header.
fn hunk_range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// A stretch of both texts that is either equal or different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DiffOperation {
    equal: bool,
    before: (usize, usize),
    after: (usize, usize),
}

fn operations(before: &[&str], after: &[&str]) -> Vec<DiffOperation> {
    let mut steps = Vec::new();
    let (mut i, mut j) = (0, 0);
    for block in SequenceMatcher::new(before, after).matching_blocks() {
        if i < block.before || j < block.after {
            steps.push(DiffOperation {
                equal: false,
                before: (i, block.before),
                after: (j, block.after),
            });
        }
        (i, j) = (block.before + block.length, block.after + block.length);
        if block.length > 0 {
            steps.push(DiffOperation {
                equal: true,
                before: (block.before, i),
                after: (block.after, j),
            });
        }
    }
    steps
}

/// Groups the operations into hunks with context lines around them.
fn group_operations(steps: &[DiffOperation]) -> Vec<Vec<DiffOperation>> {
    let mut steps = steps.to_vec();
    if let Some(first) = steps.first_mut()
        && first.equal
    {
        first.before.0 = first.before.0.max(first.before.1.saturating_sub(CONTEXT));
        first.after.0 = first.after.0.max(first.after.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut()
        && last.equal
    {
        last.before.1 = last.before.1.min(last.before.0 + CONTEXT);
        last.after.1 = last.after.1.min(last.after.0 + CONTEXT);
    }
    let mut groups = Vec::new();
    let mut group: Vec<DiffOperation> = Vec::new();
    for step in steps {
        let mut step = step;
        if step.equal && step.before.1 - step.before.0 > 2 * CONTEXT {
            group.push(DiffOperation {
                before: (step.before.0, step.before.0 + CONTEXT),
                after: (step.after.0, step.after.0 + CONTEXT),
                ..step
            });
            groups.push(std::mem::take(&mut group));
            step.before.0 = step.before.1 - CONTEXT;
            step.after.0 = step.after.1 - CONTEXT;
        }
        group.push(step);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| !step.equal));
    groups
}

/// A block of equal lines: its start in each text and its length in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MatchingBlock {
    before: usize,
    after: usize,
    length: usize,
}

/// A window of both texts that is searched for a block.
#[derive(Debug, Clone, Copy)]
struct SearchRange {
    before: (usize, usize),
    after: (usize, usize),
}

/// The matcher for two texts, with lines replaced by numbers so that comparisons are cheap.
struct SequenceMatcher {
    before: Vec<u32>,
    after: Vec<u32>,
    /// The positions of each line number in the second text. Empty for popular lines.
    line_positions: Vec<Vec<usize>>,
    /// Scratch space for [`Self::find_longest_match`]: the lengths of the runs of equal lines that end before
    /// each position, for the previous line and the current one.
    run_lengths: [Vec<usize>; 2],
    steps: usize,
}

impl SequenceMatcher {
    fn new<'a>(before: &[&'a str], after: &[&'a str]) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut number = |line: &'a str| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(line).or_insert(next)
        };
        let before: Vec<u32> = before.iter().map(|line| number(line)).collect();
        let after: Vec<u32> = after.iter().map(|line| number(line)).collect();
        let mut places = vec![Vec::new(); numbers.len()];
        for (place, line) in after.iter().enumerate() {
            places[*line as usize].push(place);
        }
        if after.len() >= POPULAR_FROM {
            let max_lines = after.len() / 100 + 1;
            for found in &mut places {
                if found.len() > max_lines {
                    found.clear();
                }
            }
        }
        let lengths = [vec![0; after.len() + 1], vec![0; after.len() + 1]];
        Self {
            before,
            after,
            line_positions: places,
            run_lengths: lengths,
            steps: 0,
        }
    }

    /// Returns the blocks in order, with adjacent blocks joined, and an empty block at the end.
    fn matching_blocks(mut self) -> Vec<MatchingBlock> {
        let (before, after) = (self.before.len(), self.after.len());
        let mut found = Vec::new();
        let mut todo = vec![SearchRange {
            before: (0, before),
            after: (0, after),
        }];
        while let Some(window) = todo.pop() {
            let Some(block) = self.find_longest_match(window) else {
                continue;
            };
            found.push(block);
            let (i, j) = (block.before + block.length, block.after + block.length);
            if window.before.0 < block.before && window.after.0 < block.after {
                todo.push(SearchRange {
                    before: (window.before.0, block.before),
                    after: (window.after.0, block.after),
                });
            }
            if i < window.before.1 && j < window.after.1 {
                todo.push(SearchRange {
                    before: (i, window.before.1),
                    after: (j, window.after.1),
                });
            }
        }
        found.sort_unstable();
        let mut joined: Vec<MatchingBlock> = Vec::new();
        for block in found {
            match joined.last_mut() {
                Some(last)
                    if last.before + last.length == block.before
                        && last.after + last.length == block.after =>
                {
                    last.length += block.length;
                }
                _ => joined.push(block),
            }
        }
        joined.push(MatchingBlock {
            before,
            after,
            length: 0,
        });
        joined
    }

    /// Finds the longest block of equal lines in a window. Among blocks of equal length, the earliest start
    /// in the first text wins, then the earliest start in the second.
    fn find_longest_match(&mut self, window: SearchRange) -> Option<MatchingBlock> {
        let mut best = MatchingBlock {
            before: window.before.0,
            after: window.after.0,
            length: 0,
        };
        let [mut last, mut now] = std::mem::take(&mut self.run_lengths);
        let mut touched: Vec<usize> = Vec::new();
        for i in window.before.0..window.before.1 {
            if self.steps > MAX_STEPS {
                break;
            }
            let places = &self.line_positions[self.before[i] as usize];
            let from = places.partition_point(|place| *place < window.after.0);
            let mut next: Vec<usize> = Vec::new();
            for j in places[from..].iter().take_while(|j| **j < window.after.1) {
                self.steps += 1;
                let length = last[*j] + 1;
                now[*j + 1] = length;
                next.push(*j + 1);
                if length > best.length {
                    best = MatchingBlock {
                        before: i + 1 - length,
                        after: *j + 1 - length,
                        length,
                    };
                }
            }
            self.steps += 1;
            for place in touched.drain(..) {
                last[place] = 0;
            }
            std::mem::swap(&mut last, &mut now);
            touched = next;
        }
        for place in touched {
            last[place] = 0;
        }
        self.run_lengths = [last, now];
        self.extend_over_popular(&mut best, window);
        (best.length > 0).then_some(best)
    }

    /// Extends a block over adjacent equal lines that were too popular to be searched for.
    fn extend_over_popular(&self, best: &mut MatchingBlock, window: SearchRange) {
        while best.before > window.before.0
            && best.after > window.after.0
            && self.before[best.before - 1] == self.after[best.after - 1]
        {
            best.before -= 1;
            best.after -= 1;
            best.length += 1;
        }
        while best.before + best.length < window.before.1
            && best.after + best.length < window.after.1
            && self.before[best.before + best.length] == self.after[best.after + best.length]
        {
            best.length += 1;
        }
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
