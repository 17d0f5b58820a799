//! What a server for locks of git-lfs answers: read as JSON and as packets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl::testing::git::lfs::count_locks;
use unfurl_fuzz::count;

fuzz_target!(|bytes: &[u8]| {
    count(bytes);
    count_locks(bytes);
});
