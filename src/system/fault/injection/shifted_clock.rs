//! A clock that tests set: the variable `UNFURL_TEST_CLOCK` names a file with an offset from the system clock in
//! milliseconds. Each look at the clock reads the file. Child processes follow the same clock.
#![expect(
    clippy::disallowed_methods,
    reason = "only this module may call these methods"
)]

use std::path::PathBuf;
use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};

/// The file of the variable, read once.
static FILE: LazyLock<Option<PathBuf>> =
    LazyLock::new(|| std::env::var_os("UNFURL_TEST_CLOCK").map(PathBuf::from));

/// Returns a time of the system clock as a time of the clock that the test has set.
pub fn shifted(time: Timestamp) -> Timestamp {
    let text = FILE
        .as_ref()
        .and_then(|file| std::fs::read_to_string(file).ok());
    let offset = text.and_then(|text| text.trim().parse().ok());
    let offset = SignedDuration::from_millis(offset.unwrap_or_default());
    time.checked_add(offset).unwrap_or(time)
}
