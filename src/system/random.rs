//! Bytes that nobody can guess.

use std::io::Read as _;

/// Fills `bytes` with random ones of the system.
pub fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    std::fs::File::open("/dev/urandom")?.read_exact(bytes)
}
