//! A hasher for short keys.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A table of names or small keys.
pub type FoldMap<K, V> = HashMap<K, V, Fold>;

/// Hashes short keys fast; the seed of the process keeps collisions from being planned.
#[derive(Debug, Clone)]
pub struct Fold(u64);

impl Default for Fold {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0_u64)))
    }
}

impl BuildHasher for Fold {
    type Hasher = Folder;

    fn build_hasher(&self) -> Folder {
        Folder(self.0)
    }
}

/// Folds eight bytes at a time into a product of 128 bits.
#[derive(Debug)]
pub struct Folder(u64);

impl Folder {
    fn fold(&mut self, part: u64) {
        let product = u128::from(self.0 ^ part) * 0x9e37_79b9_7f4a_7c15_u128;
        #[expect(clippy::cast_possible_truncation, reason = "both halves are folded")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.0 = low ^ high;
    }
}

impl Hasher for Folder {
    fn write(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            let mut part = [0; 8];
            part.copy_from_slice(chunk);
            self.fold(u64::from_le_bytes(part));
        }
        let mut part = [0; 8];
        let rest = chunks.remainder();
        part[..rest.len()].copy_from_slice(rest);
        self.fold(u64::from_le_bytes(part) ^ ((bytes.len() as u64) << 56));
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 ^= u64::from(byte).rotate_left(32);
    }

    fn write_u32(&mut self, number: u32) {
        self.fold(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_kinds_are_spread_over_the_table() {
        let hasher = Fold::default();
        let buckets = |hashes: Vec<u64>| {
            let low = hashes.iter().map(|hash| hash % 4096);
            low.collect::<std::collections::HashSet<_>>().len()
        };
        let numbers = (0..4096_usize).map(|number| hasher.hash_one(number));
        let small = (0..4096_u32).map(|number| hasher.hash_one(number));
        let texts = (0..4096).map(|number| hasher.hash_one(format!("node{number}")));
        // By chance alone it would be 63 in a hundred.
        for found in [
            buckets(numbers.collect()),
            buckets(small.collect()),
            buckets(texts.collect()),
        ] {
            assert!(found > 2200, "{found}");
        }
    }

    #[test]
    fn texts_that_differ_in_one_byte_have_different_hashes() {
        let hasher = Fold::default();
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefgi",
            "bbcdefgh",
        ];
        let hashes = texts.map(|text| hasher.hash_one(text));
        let different: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!(different.len(), texts.len());
    }
}
