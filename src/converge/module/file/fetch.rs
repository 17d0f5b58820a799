//! Files that the machine gets by itself: by download, or from another place on it.

use super::source::{Sum, printed};
use super::work::ask;
use crate::converge::module::step;
use crate::converge::{Facts, Halt};
use crate::host::change::{Change, Like, Run};
use crate::host::fact::Domain;
use crate::text::quoted_always;

/// Where a file is got from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fetch<'a> {
    /// Another path.
    Copy(&'a str),
    /// An address, and the checksum that what is there must have.
    Web(&'a str, Option<&'a Sum>),
}

/// The command that prints the hex digits of a checksum of what it reads.
fn summed(kind: &str) -> String {
    format!("{kind}sum | cut -d' ' -f1")
}

/// Whether a file differs from what is at an address. Without a checksum only a download tells.
pub(super) fn differs(
    address: &str,
    sum: Option<&Sum>,
    path: &str,
    facts: &Facts,
) -> Result<bool, Halt> {
    let kind = sum.map_or("sha256", |sum| sum.kind);
    let is = if kind == "sha256" {
        facts.digest(path)?.unwrap_or_default().to_owned()
    } else {
        let text = format!("cat -- {} | {}", quoted_always(path), summed(kind));
        ask(facts, text, Domain::Path(path.to_owned()))?
    };
    let desired = match sum {
        Some(sum) => sum.digits.clone(),
        None => ask(
            facts,
            format!("{{ {}; }} | {}", printed(address), summed("sha256")),
            Domain::All,
        )?,
    };
    Ok(is != desired)
}

/// The steps that get a file: beside, checked, like what was there, and renamed.
pub(super) fn steps(fetch: &Fetch<'_>, path: &str, is_there: bool, like: &Like) -> Vec<Change> {
    let to = quoted_always(path);
    let get = match fetch {
        Fetch::Copy(source) => format!("cat -- {} >\"$t\"", quoted_always(source)),
        Fetch::Web(address, _) => format!("{{ {}; }} >\"$t\"", printed(address)),
    };
    let check = match fetch {
        Fetch::Web(address, Some(sum)) => format!(
            "s=$({kind}sum <\"$t\" | cut -d' ' -f1); if [ \"$s\" != {digits} ]; then \
             printf 'Specified {kind} checksum for %s (%s) does not match actual checksum (%s)\\n' \
             {address} {digits} \"$s\" >&2; exit 1; fi; ",
            kind = sum.kind,
            digits = sum.digits,
            address = quoted_always(address),
        ),
        _ => String::new(),
    };
    let alike = if is_there {
        format!(
            "chmod \"$(stat -c %a -- {to})\" \"$t\"; \
             chown \"$(stat -c %u:%g -- {to})\" \"$t\" 2>/dev/null || :; "
        )
    } else {
        "chmod 644 \"$t\"; ".to_owned()
    };
    let text = format!(
        "set -e; t=$(mktemp {to}.XXXXXX); trap 'rm -f -- \"$t\"' EXIT; {get}; {check}{alike}\
         mv -f -- \"$t\" {to}; trap - EXIT"
    );
    let mut steps = vec![Change::Run(
        Run::new(text).touching([Domain::Path(path.to_owned())]),
    )];
    if !like.is_any() {
        steps.push(step::set(path, like.clone(), true));
    }
    steps
}
