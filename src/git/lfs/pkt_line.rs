//! Git's pkt-line format: each line is preceded by its length. `git-lfs-transfer` uses it.

/// The maximum number of payload bytes in one packet.
const MAX_PAYLOAD_BYTES: usize = 65516;

/// A buffer of consecutive requests in pkt-line format.
#[derive(Debug, Default)]
pub(super) struct RequestBuffer(Vec<u8>);

impl RequestBuffer {
    /// Appends a request: a command and its arguments.
    pub(super) fn add(&mut self, command: &str, arguments: &[(&str, &str)]) {
        self.push_line(command);
        for (name, value) in arguments {
            self.push_line(&format!("{name}={value}"));
        }
        self.0.extend_from_slice(b"0000");
    }

    fn push_line(&mut self, text: &str) {
        let text = text.replace(['\n', '\0'], "");
        let mut end = text.len().min(MAX_PAYLOAD_BYTES - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line = &text[..end];
        self.0
            .extend_from_slice(format!("{:04x}{line}\n", line.len() + 5).as_bytes());
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// A packet of the pkt-line format.
#[derive(Debug, PartialEq, Eq)]
enum Packet<'a> {
    Line(&'a [u8]),
    /// The flush packet, which ends a response.
    Flush,
    /// The delimiter packet, which separates the head of a response from its body.
    Delimiter,
}

/// Reads one packet and advances `bytes`; `None` if the packet is incomplete or invalid.
fn take_packet<'a>(bytes: &mut &'a [u8]) -> Option<Packet<'a>> {
    let digits = bytes.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let length = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    let (packet, size) = match length {
        0 => (Packet::Flush, 4),
        1 => (Packet::Delimiter, 4),
        4.. => (Packet::Line(bytes.get(4..length)?), length),
        _ => return None,
    };
    *bytes = &bytes[size..];
    Some(packet)
}

/// A response of `git-lfs-transfer`: arguments and body lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TransferResponse {
    /// The lines before the delimiter: the status and arguments.
    pub(super) head: Vec<String>,
    /// The lines after the delimiter: a message or a list.
    pub(super) body: Vec<String>,
}

impl TransferResponse {
    /// Returns the status code in the first line.
    pub(super) fn status(&self) -> Option<u16> {
        self.head.first()?.strip_prefix("status ")?.parse().ok()
    }

    /// Returns the value of an argument `name=value`.
    pub(super) fn argument(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ String| -> Option<usize> {
            let rest = line.strip_prefix(name)?;
            rest.starts_with('=').then_some(name.len() + 1)
        };
        let line = self.head.iter().find(|line| value(line).is_some())?;
        line.get(value(line)?..)
    }

    /// Returns the body as one line of text.
    pub(super) fn message(&self) -> String {
        self.body.join(" ")
    }
}

/// Parses all complete responses and stops at the first invalid byte.
pub(super) fn parse_responses(mut bytes: &[u8]) -> Vec<TransferResponse> {
    let mut all = Vec::new();
    let mut answer = TransferResponse::default();
    let mut after = false;
    while let Some(packet) = take_packet(&mut bytes) {
        match packet {
            Packet::Line(line) => {
                let text = String::from_utf8_lossy(line);
                let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
                let lines = if after {
                    &mut answer.body
                } else {
                    &mut answer.head
                };
                lines.push(text);
            }
            Packet::Delimiter => after = true,
            Packet::Flush => {
                all.push(std::mem::take(&mut answer));
                after = false;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_its_command_its_arguments_and_an_end() {
        let mut requests = RequestBuffer::default();
        requests.add("version 1", &[]);
        requests.add("lock", &[("path", "ä"), ("refname", "refs/heads/x")]);
        let bytes = requests.into_bytes();
        insta::assert_snapshot!(
            String::from_utf8(bytes).unwrap().replace('\n', "|"),
            @"000eversion 1|00000009lock|000cpath=ä|0019refname=refs/heads/x|0000"
        );
    }

    #[test]
    fn answers_have_a_status_arguments_and_words() {
        let bytes = b"000eversion=1\n0000000fstatus 409\n0009id=7\n0001000dconflict\n0000000fstat";
        let all = parse_responses(bytes);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].argument("version"), Some("1"));
        assert_eq!(
            (all[1].status(), all[1].argument("id")),
            (Some(409), Some("7"))
        );
        assert_eq!(all[1].message(), "conflict");
    }

    #[test]
    fn noise_ends_the_answers() {
        for noise in [&b"Welcome!\n"[..], b"0003", b"+004x", b"fffe", b"00", b""] {
            assert_eq!(parse_responses(noise), []);
        }
    }

    proptest! {
        /// No bytes from a server make the parser panic.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for answer in parse_responses(&bytes) {
                answer.status();
                answer.argument("id");
                answer.message();
            }
        }

        /// Parsing returns the requests that were written.
        #[test]
        fn requests_are_read_as_they_were_written(words in prop::collection::vec("[ -~]{1,30}", 1..5)) {
            let mut requests = RequestBuffer::default();
            for word in &words {
                requests.add(word, &[]);
            }
            let read: Vec<_> = parse_responses(&requests.into_bytes()).into_iter().map(|it| it.head).collect();
            let written: Vec<_> = words.into_iter().map(|word| vec![word]).collect();
            prop_assert_eq!(read, written);
        }
    }
}
