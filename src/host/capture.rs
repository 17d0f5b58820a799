//! Bounded capture of a command's output: the first and the last bytes are kept, the middle is
//! dropped.
//!
//! [`CaptureBuffer`] collects the output, [`CapturedOutput`] is the result.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::value::{Redactor, Secrets};

/// The default number of bytes kept of an output.
pub const DEFAULT_CAPTURE_LIMIT: usize = 1 << 20;

/// The kept part of an output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CapturedRepr", into = "CapturedRepr")]
pub struct CapturedOutput {
    pub head: Vec<u8>,
    /// The last bytes; empty unless the middle was dropped.
    pub tail: Vec<u8>,
    /// The size of the whole output in bytes.
    pub total: u64,
    pub truncated: bool,
}

impl CapturedOutput {
    /// Creates an output that is short enough to be kept completely.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self {
            total: head.len() as u64,
            head,
            tail: Vec::new(),
            truncated: false,
        }
    }

    /// Returns the number of dropped bytes.
    pub fn omitted_bytes(&self) -> u64 {
        self.total
            .saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns the output as text.
    ///
    /// Invalid UTF-8 is replaced, and a line of its own reports the dropped bytes.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.truncated {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let left_out = self.omitted_bytes();
            let tail = String::from_utf8_lossy(&self.tail);
            text = format!("{text}[… {left_out} bytes left out …]\n{tail}");
        }
        text
    }

    /// Returns the kept bytes, head and tail concatenated.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), &self.tail].concat()
    }

    /// Removes every occurrence of `text`, as if it had never been written.
    pub fn remove(&mut self, text: &[u8]) {
        for part in [&mut self.head, &mut self.tail] {
            while let Some(at) = find(part, text) {
                part.drain(at..at + text.len());
                self.total = self.total.saturating_sub(text.len() as u64);
            }
        }
    }

    /// Replaces every occurrence of these secrets.
    pub fn redact(&mut self, secrets: &Secrets) {
        for part in [&mut self.head, &mut self.tail] {
            let mut redactor = Redactor::new(secrets, []);
            let mut redacted = redactor.push(part);
            redacted.extend(redactor.finish());
            self.total = self.total - part.len() as u64 + redacted.len() as u64;
            *part = redacted;
        }
    }

    /// Whether the command wrote nothing at all.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let mut places = bytes.windows(text.len().max(1));
    places.position(|part| part == text)
}

/// A buffer that keeps the first and the last half of a limit.
#[derive(Debug)]
pub struct CaptureBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

impl CaptureBuffer {
    /// Creates a buffer that keeps at most `kept_bytes` bytes.
    pub fn new(kept_bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: kept_bytes / 2,
            total: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        let rest = &bytes[room..];
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    pub fn finish(self) -> CapturedOutput {
        let Self {
            mut head,
            tail,
            total,
            ..
        } = self;
        let tail: Vec<u8> = tail.into();
        let truncated = total > (head.len() + tail.len()) as u64;
        if truncated {
            return CapturedOutput {
                head,
                tail,
                total,
                truncated,
            };
        }
        head.extend(tail);
        CapturedOutput::from_bytes(head)
    }
}

/// The serialized form: UTF-8 output as text, other output as hexadecimal digits.
#[derive(Serialize, Deserialize)]
struct CapturedRepr {
    head: EncodedBytes,
    #[serde(default, skip_serializing_if = "EncodedBytes::is_empty")]
    tail: EncodedBytes,
    total: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EncodedBytes {
    Text(String),
    Hex(String),
}

impl Default for EncodedBytes {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl EncodedBytes {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }

    fn into_vec(self) -> Vec<u8> {
        let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or_default();
        match self {
            Self::Text(text) => text.into_bytes(),
            Self::Hex(digits) => digits
                .as_bytes()
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |byte, next| byte << 4 | digit(*next)))
                .map(|byte| u8::try_from(byte).unwrap_or_default())
                .collect(),
        }
    }
}

impl From<Vec<u8>> for EncodedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => {
                let digits = error.as_bytes().iter().map(|byte| format!("{byte:02x}"));
                Self::Hex(digits.collect())
            }
        }
    }
}

impl From<CapturedOutput> for CapturedRepr {
    fn from(captured: CapturedOutput) -> Self {
        Self {
            head: captured.head.into(),
            tail: captured.tail.into(),
            total: captured.total,
        }
    }
}

impl From<CapturedRepr> for CapturedOutput {
    fn from(wire: CapturedRepr) -> Self {
        let (head, tail) = (wire.head.into_vec(), wire.tail.into_vec());
        Self {
            truncated: wire.total > (head.len() + tail.len()) as u64,
            head,
            tail,
            total: wire.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn the_omitted_middle_of_a_long_output_is_reported() {
        let mut capture = CaptureBuffer::new(8);
        for piece in ["abc", "defgh", "ij", "klmnop"] {
            capture.push(piece.as_bytes());
        }
        let captured = capture.finish();
        assert!(captured.truncated);
        insta::assert_snapshot!(captured.text(), @r"
        abcd
        [… 8 bytes left out …]
        mnop
        ");
    }

    #[test]
    fn output_that_is_no_text_travels_as_digits() {
        let captured = CapturedOutput::from_bytes([0, 0xff, 0x1a]);
        let json = serde_json::to_string(&captured).unwrap();
        insta::assert_snapshot!(json, @r#"{"head":{"hex":"00ff1a"},"total":3}"#);
        assert_eq!(
            serde_json::from_str::<CapturedOutput>(&json).unwrap(),
            captured
        );
    }

    proptest! {
        /// The kept bytes do not depend on how the output is split into pieces.
        #[test]
        fn keeps_the_first_and_the_last_within_the_bound(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
            bound in 0_usize..60,
        ) {
            let mut capture = CaptureBuffer::new(bound);
            for piece in &pieces {
                capture.push(piece);
            }
            let all = pieces.concat();
            let captured = capture.finish();
            let half = bound / 2;
            prop_assert_eq!(captured.total, all.len() as u64);
            prop_assert!(captured.bytes().len() <= bound.max(all.len().min(bound)));
            prop_assert_eq!(captured.truncated, all.len() > 2 * half);
            if captured.truncated {
                prop_assert_eq!(&captured.head, &all[..half]);
                prop_assert_eq!(&captured.tail, &all[all.len() - half..]);
            } else {
                prop_assert_eq!(captured.bytes(), all);
            }
            let json = serde_json::to_string(&captured).unwrap();
            prop_assert_eq!(serde_json::from_str::<CapturedOutput>(&json).unwrap(), captured);
        }
    }
}
