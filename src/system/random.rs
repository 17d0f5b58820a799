//! Random bytes from the operating system, suitable for keys and tokens.

/// Fills `bytes` with secure random bytes from the operating system.
pub fn fill(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes).map_err(std::io::Error::from)
}
