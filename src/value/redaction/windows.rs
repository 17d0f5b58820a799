//! A set of windows: runs of eight consecutive bytes in lower case.

/// The number of consecutive bytes of a secret that count as a part of it.
pub(super) const WINDOW: usize = 8;

/// The number of bits of the filter for each window, at least. More bits let fewer blocks reach the table.
const FILTER_BITS: usize = 32;

/// Spreads the bits of a window over a hash.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The number of bytes at the end of a window that are looked up first.
pub(super) const BLOCK: usize = 4;

/// Returns the window of eight bytes.
#[inline]
pub(super) fn window_of(bytes: [u8; WINDOW]) -> u64 {
    u64::from_le_bytes(bytes.map(|byte| byte.to_ascii_lowercase()))
}

/// Returns the hash of a block. Both cases of a letter have the same.
#[inline]
fn block_hash(bytes: [u8; BLOCK]) -> u32 {
    (u32::from_le_bytes(bytes) | 0x2020_2020).wrapping_mul(0x9E37_79B1)
}

/// Returns the windows of a text, in order.
pub(super) fn windows(text: &[u8]) -> impl Iterator<Item = u64> {
    let windows = text.windows(WINDOW);
    windows.filter_map(|bytes| bytes.try_into().ok().map(window_of))
}

/// Returns true if a window has at least three different bytes. Runs of the same byte occur in any text.
pub(super) fn is_varied(window: u64) -> bool {
    let bytes = window.to_le_bytes();
    let first = bytes[0];
    let second = bytes.iter().find(|byte| **byte != first);
    second.is_some_and(|second| bytes.iter().any(|byte| byte != &first && byte != second))
}

/// A set of windows with a fast answer for those that are not in it.
#[derive(Default)]
pub(super) struct WindowSet {
    /// A bit for the hash of each block of four bytes in a window.
    blocks: Vec<u64>,
    /// The windows at their hashes, or at the next free place. 0 is a free place.
    table: Vec<u64>,
    block_shift: u32,
    table_shift: u32,
}

impl WindowSet {
    pub(super) fn new(windows: &[u64]) -> Self {
        if windows.is_empty() {
            return Self::default();
        }
        let bits = (windows.len() * FILTER_BITS).next_power_of_two();
        let bits = bits.clamp(1 << 12, 1 << 30);
        let places = (windows.len() * 4).next_power_of_two();
        let mut set = Self {
            blocks: vec![0; bits / 64],
            table: vec![0; places],
            block_shift: 32 - bits.trailing_zeros(),
            table_shift: 64 - places.trailing_zeros(),
        };
        for window in windows {
            set.insert(*window);
        }
        set
    }

    fn insert(&mut self, window: u64) {
        for block in window.to_le_bytes().windows(BLOCK) {
            if let Ok(block) = block.try_into() {
                let bit = (block_hash(block) >> self.block_shift) as usize;
                self.blocks[bit / 64] |= 1 << (bit % 64);
            }
        }
        let place = self.place_of(window);
        self.table[place] = window;
    }

    /// Returns the place of a window, or the free place where it belongs.
    fn place_of(&self, window: u64) -> usize {
        let hash = window.wrapping_mul(MULTIPLIER);
        let mut place = usize::try_from(hash >> self.table_shift).unwrap_or(0);
        while self.table[place] != 0 && self.table[place] != window {
            place = (place + 1) & (self.table.len() - 1);
        }
        place
    }

    /// Returns true if a block may occur in a window. If not, no window that contains it is in the set.
    #[inline]
    pub(super) fn may_have_block(&self, block: [u8; BLOCK]) -> bool {
        let bit = (block_hash(block) >> self.block_shift) as usize;
        self.blocks[bit / 64] >> (bit % 64) & 1 == 1
    }

    pub(super) fn has(&self, window: u64) -> bool {
        window != 0 && self.table[self.place_of(window)] == window
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}
