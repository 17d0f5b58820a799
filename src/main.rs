//! The executable: calls [`unfurl::main`] and returns its exit code.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The allocator of the program: runs allocate a lot, and that of the C library took a sixth more time on many hosts.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    unfurl::main()
}
