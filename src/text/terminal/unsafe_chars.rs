//! The characters that a terminal obeys instead of showing them, and a fast search for them.

/// The number of bytes that are checked at a time.
const BLOCK_BYTES: usize = 32;

/// Whether a character could steer a terminal or change the order in which text is shown.
///
/// These are C0 except newline and tab, DEL, C1, the controls of bidirectional text, line and
/// paragraph separators, interlinear annotations and tags. Joiners (U+200C, U+200D) are part of
/// real words and emoji, so they are safe.
pub fn is_unsafe(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\0'..' '
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Returns the number of bytes before the first unsafe character.
pub(super) fn safe_prefix(text: &str) -> usize {
    let mut at = 0;
    loop {
        at += plain_prefix(&text.as_bytes()[at..]);
        // Each byte that ends a plain prefix is the first one of a character.
        match text[at..].chars().next() {
            Some(c) if !is_unsafe(c) => at += c.len_utf8(),
            _ => return at,
        }
    }
}

/// Returns the number of bytes before the first one that may begin an unsafe character.
fn plain_prefix(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(BLOCK_BYTES);
    // No early exit within a block, so that the compiler can check its bytes at once.
    let is_plain = |block: &&[u8]| !block.iter().fold(false, |found, b| found | may_begin(*b));
    let plain = BLOCK_BYTES * blocks.take_while(is_plain).count();
    let rest = &bytes[plain..];
    let found = rest.iter().position(|byte| may_begin(*byte));
    plain + found.unwrap_or(rest.len())
}

/// Whether an unsafe character may begin with this byte of UTF-8.
fn may_begin(byte: u8) -> bool {
    matches!(
        byte,
        0..=0x08 | 0x0b..=0x1f | 0x7f | 0xc2 | 0xd8 | 0xe2 | 0xef | 0xf3
    )
}
