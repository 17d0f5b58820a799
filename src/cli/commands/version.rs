//! `version`.

use crate::cli::output::Output;

/// The version of Unfurl whose formats are followed.
const FOLLOWED: &str = "1.2.0";

/// Prints the version.
pub(in crate::cli) fn version(semver: bool, output: &Output) -> u8 {
    if semver {
        output.answer(&format!("{FOLLOWED}\n"));
    } else {
        let own = env!("CARGO_PKG_VERSION");
        output.answer(&format!(
            "unfurl version {own} (compatible with {FOLLOWED})\n"
        ));
    }
    0
}
