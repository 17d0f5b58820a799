//! What a server for locks of git-lfs answers: read as JSON and as packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl::git::lfs::locks_told_of;

fuzz_target!(|bytes: &[u8]| {
    locks_told_of(bytes);
});
