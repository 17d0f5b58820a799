//! Tests of the unified diff against output recorded from Python's `difflib`.

use sha2::Digest as _;

use super::*;

fn diff_text(before: &str, after: &str) -> String {
    unified_diff(&lines(before), &lines(after)).concat()
}

/// Pairs of texts with the diff that Python 3.10 writes for them.
const EXPECTED: &[(&str, &str, &str)] = &[
    (
        "one\ntwo\nthree\n",
        "one\n2\nthree\n",
        "--- \n+++ \n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
    ),
    ("", "a\nb\n", "--- \n+++ \n@@ -0,0 +1,2 @@\n+a\n+b\n"),
    ("a\nb\n", "", "--- \n+++ \n@@ -1,2 +0,0 @@\n-a\n-b\n"),
    (
        "one\ntwo",
        "one\ntwo\n",
        "--- \n+++ \n@@ -1,2 +1,2 @@\n one\n-two+two\n",
    ),
    (
        "a\nb\nc\nd\n",
        "b\nc\na\nd\ne\n",
        "--- \n+++ \n@@ -1,4 +1,5 @@\n-a\n b\n c\n+a\n d\n+e\n",
    ),
    (
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n",
        "1\nB\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\nX\n16\n",
        "--- \n+++ \n@@ -1,5 +1,5 @@\n 1\n-2\n+B\n 3\n 4\n 5\n@@ -12,5 +12,5 @@\n 12\n 13\n 14\n-15\n+X\n 16\n",
    ),
    (
        "x\nx\ny\nx\nx\n",
        "x\ny\nx\ny\nx\n",
        "--- \n+++ \n@@ -1,5 +1,5 @@\n-x\n x\n y\n x\n+y\n x\n",
    ),
];

#[test]
fn differences_are_those_that_python_writes() {
    for (before, after, said) in EXPECTED {
        assert_eq!(diff_text(before, after), *said);
    }
}

/// A deterministic generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn text(&mut self, length: u64, kinds: u64) -> Vec<String> {
        (0..length)
            .map(|_| format!("l{}\n", self.below(kinds)))
            .collect()
    }
}

/// Three hundred pairs of random texts, including long texts with popular lines. The digest is taken over the
/// diffs that Python 3.10 writes for them.
#[test]
fn differences_of_many_texts_are_those_that_python_writes() {
    let mut random = Random(7);
    let mut all = sha2::Sha256::new();
    for round in 0..300 {
        let (longest, most) = if round % 10 == 0 { (400, 60) } else { (30, 12) };
        let lengths = [random.below(longest), random.below(longest)];
        let kinds = 2 + random.below(most);
        let before = random.text(lengths[0], kinds);
        let mut after = random.text(lengths[1], kinds);
        if round % 3 == 0 {
            after.clone_from(&before);
            for _ in 0..random.below(6) {
                if let Ok(length @ 1..) = u64::try_from(after.len()) {
                    let line = format!("n{}\n", random.below(kinds));
                    after[usize::try_from(random.below(length)).unwrap()] = line;
                }
            }
        }
        all.update(diff_text(&before.concat(), &after.concat()));
    }
    let digest = all.finalize();
    let digits: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        digits.concat(),
        "ba6891979c6a854b23bdb5536fe858d3f9400b5ce9586e4bd3f1defcea23680d"
    );
}

#[test]
fn texts_of_many_equal_lines_are_compared_soon() {
    let text = |kinds: u32| -> String {
        let lines = (0..20_000).map(|line| (line % kinds).to_string());
        lines.collect::<Vec<_>>().join("\n")
    };
    assert!(!diff_text(&text(7), &text(5)).is_empty());
}
