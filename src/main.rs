//! The executable: calls [`unfurl::main`] and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    unfurl::main()
}
