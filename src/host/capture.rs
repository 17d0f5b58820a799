//! The captured output of a command: whole, or its first and last bytes.
//!
//! [`super::CaptureBuffer`] collects the output, [`CapturedOutput`] is the result.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::system::fs::{self, UnnamedFile};
use crate::text::format_size;
use crate::value::Secrets;

/// The default number of bytes of an output that are kept in memory.
pub const DEFAULT_CAPTURE_LIMIT: usize = 1 << 20;

/// The default number of bytes of all outputs of a task's command that are kept, in memory and in files.
pub const DEFAULT_TOTAL_CAPTURE_LIMIT: u64 = 64 << 20;

/// The output of a command, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CapturedRepr", into = "CapturedRepr")]
pub struct CapturedOutput {
    /// The first bytes, or the whole output.
    pub head: Vec<u8>,
    /// The last bytes; empty if `head` is the whole output.
    pub tail: Vec<u8>,
    /// The size of the whole output in bytes.
    pub total: u64,
    /// The place of the other bytes. None if the middle was not kept and no setting of the user changes this.
    rest: Option<Box<OutputRest>>,
    is_secret: bool,
}

/// The place of the bytes that are not in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputRest {
    /// The output exceeds this number of bytes, a limit that the user can raise.
    OverLimit(u64),
    /// The file of the output could not be written, for this reason.
    Failed(String),
    /// The whole output is in this file.
    File(OutputFile),
}

/// The file that holds a whole output, with the texts to leave out when it is read.
#[derive(Debug, Clone)]
pub(super) struct OutputFile {
    file: Arc<UnnamedFile>,
    /// The texts to remove.
    removed: Vec<Vec<u8>>,
}

impl PartialEq for OutputFile {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
    }
}

impl Eq for OutputFile {}

impl From<UnnamedFile> for OutputFile {
    fn from(file: UnnamedFile) -> Self {
        Self {
            file: Arc::new(file),
            removed: Vec::new(),
        }
    }
}

impl OutputFile {
    fn read(&self) -> Result<Vec<u8>, fs::Error> {
        let mut bytes = self.file.read()?;
        for text in &self.removed {
            bytes = without(&bytes, text);
        }
        Ok(bytes)
    }
}

/// An output of which only a part was kept, so that it cannot serve as data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteOutput {
    /// The output exceeds a limit that the user can raise.
    #[error(
        "the output of {total} bytes was not kept whole: at most {} are kept; raise the limit with \
         `--capture {}` or the task's `capture`",
        format_size(*limit),
        sufficient_limit(*total)
    )]
    OverLimit { total: u64, limit: u64 },
    /// The output exceeds a fixed limit.
    #[error(
        "the output of {total} bytes was not kept whole: only {kept} bytes are kept; write it to a file instead"
    )]
    Fixed { total: u64, kept: u64 },
    /// The file that should hold the output could not be written or read.
    #[error(
        "the output of {total} bytes was not kept whole: {problem}; free some space there, or set `TMPDIR` to a \
         folder that has room"
    )]
    Failed { total: u64, problem: String },
}

/// Returns a limit, as users write it, that an output of this size does not exceed.
fn sufficient_limit(total: u64) -> String {
    let mib = (total >> 20).saturating_add(1).next_power_of_two();
    match mib >> 10 {
        0 => format!("{mib}M"),
        gib => format!("{gib}G"),
    }
}

impl CapturedOutput {
    /// Creates an output that is short enough to be kept completely.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let head = bytes.into();
        Self {
            total: head.len() as u64,
            head,
            tail: Vec::new(),
            rest: None,
            is_secret: false,
        }
    }

    /// Creates an output of which only the first and the last bytes are known.
    pub fn from_ends(head: impl Into<Vec<u8>>, tail: impl Into<Vec<u8>>, total: u64) -> Self {
        Self::with_rest(head.into(), tail.into(), total, None)
    }

    /// Creates an output of which these first and last bytes are in memory.
    pub(super) fn with_rest(
        head: Vec<u8>,
        tail: Vec<u8>,
        total: u64,
        rest: Option<OutputRest>,
    ) -> Self {
        Self {
            head,
            tail,
            total,
            rest: rest.map(Box::new),
            is_secret: false,
        }
    }

    /// Returns the whole output. Reads it from its file if it is not in memory.
    ///
    /// # Errors
    ///
    /// Only a part of the output was kept.
    pub fn whole(&self) -> Result<Cow<'_, [u8]>, IncompleteOutput> {
        let total = self.total;
        if !self.is_truncated() {
            return Ok(Cow::Borrowed(&self.head));
        }
        Err(match self.rest.as_deref() {
            Some(OutputRest::File(file)) => match file.read() {
                Ok(bytes) => return Ok(Cow::Owned(bytes)),
                Err(error) => IncompleteOutput::Failed {
                    total,
                    problem: error.to_string(),
                },
            },
            Some(OutputRest::OverLimit(limit)) => IncompleteOutput::OverLimit {
                total,
                limit: *limit,
            },
            Some(OutputRest::Failed(problem)) => IncompleteOutput::Failed {
                total,
                problem: problem.clone(),
            },
            None => IncompleteOutput::Fixed {
                total,
                kept: (self.head.len() + self.tail.len()) as u64,
            },
        })
    }

    /// Returns the whole output as text. Invalid UTF-8 is replaced.
    ///
    /// # Errors
    ///
    /// Only a part of the output was kept.
    pub fn whole_text(&self) -> Result<String, IncompleteOutput> {
        Ok(match self.whole()? {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            },
        })
    }

    /// Returns the number of bytes that are not in memory.
    pub fn omitted_bytes(&self) -> u64 {
        self.total
            .saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns the output as text for people: of a long one, the first and the last bytes.
    ///
    /// Invalid UTF-8 is replaced, and a line of its own reports the bytes between them.
    pub fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if self.is_truncated() {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            let left_out = self.omitted_bytes();
            let tail = String::from_utf8_lossy(&self.tail);
            text = format!("{text}[… {left_out} bytes left out …]\n{tail}");
        }
        text
    }

    /// Returns the bytes in memory, head and tail concatenated.
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), &self.tail].concat()
    }

    /// Removes every occurrence of `text`, as if it had never been written.
    pub fn remove(&mut self, text: &[u8]) {
        for part in [&mut self.head, &mut self.tail] {
            let kept = without(part, text);
            self.total -= (part.len() - kept.len()) as u64;
            *part = kept;
        }
        if let Some(OutputRest::File(file)) = self.rest.as_deref_mut() {
            file.removed.push(text.to_vec());
        }
    }

    /// Returns true if a form of a secret occurs in the output, as far as it was kept.
    pub(super) fn contains(&self, secrets: &Secrets) -> bool {
        match self.whole() {
            Ok(bytes) => secrets.occur_in_bytes(&bytes),
            Err(_) => [&self.head, &self.tail]
                .into_iter()
                .any(|part| secrets.occur_in_bytes(part)),
        }
    }

    /// Marks the output as secret: its values are complete, and nothing of it may be shown or recorded.
    pub fn mark_secret(&mut self) {
        self.is_secret = true;
    }

    /// Returns true if nothing of the output may be shown or recorded.
    pub fn is_secret(&self) -> bool {
        self.is_secret
    }

    /// Whether `head` and `tail` are not the whole output. [`Self::whole`] returns it if it was kept.
    pub fn is_truncated(&self) -> bool {
        self.omitted_bytes() > 0
    }

    /// Whether the command wrote nothing at all.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// Returns the bytes without the occurrences of a text.
fn without(bytes: &[u8], text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = find(rest, text) {
        kept.extend_from_slice(&rest[..at]);
        rest = &rest[at + text.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}

fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    if text.is_empty() {
        return None;
    }
    let mut places = bytes.windows(text.len());
    places.position(|part| part == text)
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
        Self::from_ends(head, tail, wire.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn an_output_that_is_not_whole_says_how_much_it_would_need() {
        let over = |total, limit| IncompleteOutput::OverLimit { total, limit }.to_string();
        insta::assert_snapshot!(over(70 << 20, 64 << 20), @"the output of 73400320 bytes was not kept whole: at most 64 MiB are kept; raise the limit with `--capture 128M` or the task's `capture`");
        assert!(over(1 << 30, 64 << 20).contains("`--capture 2G`"));
        let fixed = CapturedOutput::from_ends("ab", "yz", 100);
        insta::assert_snapshot!(fixed.whole().unwrap_err(), @"the output of 100 bytes was not kept whole: only 4 bytes are kept; write it to a file instead");
    }

    #[test]
    fn a_text_is_removed_wherever_it_occurs() {
        let mut captured = CapturedOutput::from_bytes("MaMMbM");
        captured.remove(b"M");
        assert_eq!(captured, CapturedOutput::from_bytes("ab"));
        captured.remove(b"");
        assert_eq!(captured.total, 2);
    }
}
