//! The merge driver that this program installs in repositories.

use crate::system::env;
use crate::text::force_quote_word;

/// The setting that holds the command of this program's merge driver.
pub(super) const OWN_DRIVER_KEY: &str = "merge.unfurl.driver";

/// Returns the command of this program's merge driver, as `Repository::ensure_merge_rules` installs it.
pub fn own_command() -> Option<String> {
    let path = env::current_exe().ok()?;
    let path = force_quote_word(&path.to_string_lossy()).replace('%', "%%");
    Some(format!("{path} merge-driver -- %O %A %B %P"))
}
