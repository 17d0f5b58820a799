//! Packages: repositories with versions, the rules that replace them, and the selection of one version for each.
//!
//! A package has an id such as `example.org/team/types.git/sub/v2`. Repositories of a model ask for a package with a
//! minimal version, or with a fixed branch, tag or commit. [`select`] returns one revision for each package. Nothing
//! here reads files or uses the network.

mod request;
mod rules;
mod selection;
mod source_url;
mod version;

pub use request::PackageRequest;
pub use rules::{PackageRule, RuleError, apply_rules, parse_rules};
pub use selection::{Conflict, Selection, select};
pub use source_url::{HttpLogin, SourceUrl, comparable_address, is_git_address};
pub use version::Version;
