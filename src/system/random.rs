//! Bytes that nobody can guess.

/// Fills `bytes` with random ones of the system.
pub fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes).map_err(std::io::Error::from)
}
