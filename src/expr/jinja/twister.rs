//! The random numbers of Python, so that a seed gives what it gives there: a Mersenne twister.

use sha2::{Digest as _, Sha512};

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// A Mersenne twister, MT19937.
pub(super) struct Twister {
    state: [u32; SIZE],
    place: usize,
}

impl Twister {
    /// Seeded by a number, as `random.Random(number)` is.
    pub(super) fn of_number(seed: u64) -> Self {
        Self::of_bytes(&seed.to_be_bytes())
    }

    /// Seeded by a text, as `random.Random(text)` is: by the text and its digest.
    pub(super) fn of_text(seed: &str) -> Self {
        let mut bytes = seed.as_bytes().to_vec();
        bytes.extend_from_slice(&Sha512::digest(seed));
        Self::of_bytes(&bytes)
    }

    /// Seeded by a large number, its first byte the most significant.
    pub(super) fn of_bytes(seed: &[u8]) -> Self {
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
        let mut twister = Self {
            state: [0; SIZE],
            place: SIZE,
        };
        twister.begin(19_650_218);
        twister.mix(&words);
        twister
    }

    #[expect(clippy::cast_possible_truncation, reason = "the places are below 624")]
    fn begin(&mut self, seed: u32) {
        self.state[0] = seed;
        for place in 1..SIZE {
            let last = self.state[place - 1];
            let mixed = (last ^ (last >> 30)).wrapping_mul(1_812_433_253);
            self.state[place] = mixed.wrapping_add(place as u32);
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the places are small")]
    fn mix(&mut self, words: &[u32]) {
        let (mut place, mut word) = (1, 0);
        let step = |state: &mut [u32; SIZE], place: &mut usize| {
            *place += 1;
            if *place >= SIZE {
                state[0] = state[SIZE - 1];
                *place = 1;
            }
        };
        let before =
            |state: &[u32; SIZE], place: usize| state[place - 1] ^ (state[place - 1] >> 30);
        for _ in 0..SIZE.max(words.len()) {
            let mixed = self.state[place] ^ before(&self.state, place).wrapping_mul(1_664_525);
            self.state[place] = mixed.wrapping_add(words[word]).wrapping_add(word as u32);
            step(&mut self.state, &mut place);
            word = (word + 1) % words.len();
        }
        for _ in 1..SIZE {
            let mixed = self.state[place] ^ before(&self.state, place).wrapping_mul(1_566_083_941);
            self.state[place] = mixed.wrapping_sub(place as u32);
            step(&mut self.state, &mut place);
        }
        self.state[0] = 0x8000_0000;
    }

    fn twist(&mut self) {
        for place in 0..SIZE {
            let high = self.state[place] & 0x8000_0000;
            let low = self.state[(place + 1) % SIZE] & 0x7fff_ffff;
            let both = high | low;
            let odd = if both & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[place] = self.state[(place + SHIFT) % SIZE] ^ (both >> 1) ^ odd;
        }
        self.place = 0;
    }

    fn next(&mut self) -> u32 {
        if self.place >= SIZE {
            self.twist();
        }
        let mut word = self.state[self.place];
        self.place += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn bits(&mut self, count: u32) -> u64 {
        if count <= 32 {
            return u64::from(self.next() >> (32 - count));
        }
        let low = u64::from(self.next());
        let high = u64::from(self.next() >> (64 - count));
        high << 32 | low
    }

    /// A number below another one, which is not zero.
    pub(super) fn below(&mut self, end: u64) -> u64 {
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
    use super::Twister;

    #[test]
    fn seeds_give_the_numbers_of_python() {
        assert_eq!(Twister::of_number(42).below(100), 81);
        assert_eq!(Twister::of_text("myhost").below(60), 53);
        assert_eq!(Twister::of_text("q").below(999_995) + 5, 477_013);
    }
}
