//! Quoting of paths, bytes and times for a POSIX shell.

use std::fmt::Write as _;
use std::time::Duration;

use crate::text::{base64, quote_word};

/// The maximum length of one `printf` argument, in bytes.
const MAX_PRINTF_BYTES: usize = 32 << 10;
/// The size in bytes from which binary content is sent as base64. Base64 adds a third to the size,
/// octal escapes multiply it by four.
const BASE64_THRESHOLD: usize = 16 << 10;

/// Quotes a path so that no program takes it for an option or for stdin.
pub(super) fn path_word(path: &str) -> String {
    let trimmed = path.trim_end_matches('/');
    let path = if trimmed.is_empty() { path } else { trimmed };
    if path.starts_with('/') {
        quote_word(path)
    } else {
        quote_word(&format!("./{path}"))
    }
}

/// Returns the definition of a shell function `c` that writes `bytes` to stdout.
///
/// Text is written with the builtin `printf`, so that no process is started.
pub(super) fn content_function(bytes: &[u8]) -> String {
    let mut text = "c() {\n".to_owned();
    match std::str::from_utf8(bytes) {
        Ok(all) if !all.contains('\0') => {
            let mut rest = all;
            while !rest.is_empty() {
                let (piece, next) = rest.split_at(rest.floor_char_boundary(MAX_PRINTF_BYTES));
                write!(text, "printf %s {} && ", quote_word(piece)).ok();
                rest = next;
            }
            text.push_str(":\n}\n");
        }
        _ if bytes.len() >= BASE64_THRESHOLD => {
            text.push_str("base64 -d <<'E'\n");
            let encoded = base64::encode(bytes);
            for line in encoded.as_bytes().chunks(76) {
                text.push_str(&String::from_utf8_lossy(line));
                text.push('\n');
            }
            text.push_str("E\n}\n");
        }
        _ => {
            for piece in bytes.chunks(MAX_PRINTF_BYTES / 4) {
                text.push_str("printf '");
                for byte in piece {
                    match byte {
                        b'%' => text.push_str("%%"),
                        b' '..=b'~' if !b"'\\".contains(byte) => text.push(char::from(*byte)),
                        _ => {
                            write!(text, "\\{byte:03o}").ok();
                        }
                    }
                }
                text.push_str("' && ");
            }
            text.push_str(":\n}\n");
        }
    }
    text
}

/// Returns a duration as every `sleep` and `timeout` accepts it: whole seconds, rounded up, at
/// least one.
pub(super) fn seconds(time: Duration) -> u64 {
    let whole = time.as_secs();
    whole + u64::from(time.subsec_nanos() > 0 || whole == 0)
}
