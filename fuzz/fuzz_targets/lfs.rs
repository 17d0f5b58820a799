//! Fuzzes the answers of a git-lfs lock server: each input is read as JSON and as packet lines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unfurl::testing::git::lfs::count_locks;
use unfurl_fuzz::count;

fuzz_target!(|bytes: &[u8]| {
    count(bytes);
    count_locks(bytes);
});
