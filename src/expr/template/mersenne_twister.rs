//! Python's random number generator (a Mersenne Twister), so that a `seed` gives the same result as in
//! Ansible.

use mt19937::MT19937;
use rand_core::Rng as _;
use sha2::{Digest as _, Sha512};

/// A Mersenne Twister of the variant MT19937, seeded as in Python.
pub struct MersenneTwister(MT19937);

impl MersenneTwister {
    /// Seeds the generator with a number, as `random.Random(number)` does.
    pub fn from_number(seed: u64) -> Self {
        Self::from_bytes(&seed.to_be_bytes())
    }

    /// Seeds the generator with a text and its SHA-512 digest, as `random.Random(text)` does.
    pub fn from_text(seed: &str) -> Self {
        let mut bytes = seed.as_bytes().to_vec();
        bytes.extend_from_slice(&Sha512::digest(seed));
        Self::from_bytes(&bytes)
    }

    /// Seeds the generator with a large number, whose most significant byte comes first.
    pub fn from_bytes(seed: &[u8]) -> Self {
        let mut words: Vec<u32> = seed
            .rchunks(4)
            .map(|chunk| {
                chunk
                    .iter()
                    .fold(0, |word, byte| word << 8 | u32::from(*byte))
            })
            .collect();
        while words.len() > 1 && words.last() == Some(&0) {
            words.pop();
        }
        if words.is_empty() {
            words.push(0);
        }
        Self(MT19937::new_with_slice_seed(&words))
    }

    fn bits(&mut self, count: u32) -> u64 {
        if count <= 32 {
            return u64::from(self.0.next_u32() >> (32 - count));
        }
        let low = u64::from(self.0.next_u32());
        let high = u64::from(self.0.next_u32() >> (64 - count));
        high << 32 | low
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let bits = u64::BITS - end.leading_zeros();
        loop {
            let number = self.bits(bits);
            if number < end {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::MersenneTwister;

    #[test]
    fn seeds_give_the_numbers_of_python() {
        assert_eq!(MersenneTwister::from_number(42).below(100), 81);
        assert_eq!(MersenneTwister::from_text("myhost").below(60), 53);
        assert_eq!(MersenneTwister::from_text("q").below(999_995) + 5, 477_013);
    }

    #[test]
    fn every_letter_of_a_long_seed_counts() {
        // The seed has more words than the twister: `random.Random("x" * 3000).randrange(10 ** 15)`.
        let mut twister = MersenneTwister::from_text(&"x".repeat(3000));
        assert_eq!(twister.below(1_000_000_000_000_000), 927_577_533_754_689);
    }
}
