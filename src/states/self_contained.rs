//! Tells which states cannot notice what other machines do.
//!
//! Machines that wait for each other after each state may run several such states before they wait again: no machine
//! can tell the difference.

use super::low_data::{Chunk, UNCERTAIN_KEYWORDS};
use super::slot::{has_slots, is_slot};
use crate::value::Value;

/// The modules whose states read and change their own machine only, and run no command of the author.
const MODULES: [&str; 14] = [
    "alternatives",
    "cron",
    "debconf",
    "environ",
    "file",
    "group",
    "host",
    "ini",
    "locale",
    "ssh_auth",
    "sysctl",
    "test",
    "timezone",
    "user",
];

/// The arguments that may name a file of another machine.
const SOURCES: [&str; 4] = ["source", "source_hash", "source_hashes", "sources"];

/// Returns true if the state cannot notice what other machines do: it reads and changes its own machine only, and
/// runs no command of the author.
pub(super) fn is_self_contained(chunk: &Chunk) -> bool {
    // These two may look for the work of another machine on a shared disk.
    let looks = matches!((&*chunk.state, &*chunk.fun), ("file", "exists" | "missing"));
    let has_keyword = |name: &&str| chunk.keywords.contains_key(*name);
    MODULES.contains(&&*chunk.state)
        && !looks
        && !UNCERTAIN_KEYWORDS.iter().any(has_keyword)
        && !SOURCES
            .iter()
            .filter_map(|key| chunk.args.get(*key))
            .any(is_remote)
        && !is_slot(&chunk.name)
        && !has_slots(&chunk.args)
}

/// Returns true if a source may be a file of another machine.
fn is_remote(source: &Value) -> bool {
    match source.reveal() {
        Value::Str(text) => text.contains("://") && !text.starts_with("salt://"),
        Value::List(items) => items.iter().any(is_remote),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostic::Span;
    use crate::value::Map;

    fn chunk(state: &str, fun: &str, args: &[(&str, Value)], keyword: Option<&str>) -> Chunk {
        let text = |text: &str| -> Arc<str> { text.into() };
        let arg = |(key, value): &(&str, Value)| (text(key), value.clone());
        Chunk {
            id: text("id"),
            sls: text("main"),
            env: text("base"),
            state: text(state),
            fun: text(fun),
            name: text("/x"),
            order: Value::Null,
            args: args.iter().map(arg).collect(),
            keywords: keyword
                .map(|key| (text(key), Value::from(true)))
                .into_iter()
                .collect::<Map>(),
            links: Vec::new(),
            span: Span::NONE,
        }
    }

    #[test]
    fn commands_downloads_and_looks_at_shared_files_may_notice_other_machines() {
        let is = |state, fun, args: &[(&str, Value)], keyword| {
            is_self_contained(&chunk(state, fun, args, keyword))
        };
        let source = |text: &str| [("source", Value::from(text))];
        assert!(is("file", "managed", &source("salt://a"), None));
        assert!(is("file", "managed", &source("/a"), Some("failhard")));
        assert!(!is("file", "managed", &source("https://a/b"), None));
        let several = Value::list([Value::from("salt://a"), "http://a/b".into()]);
        assert!(!is("file", "managed", &[("source", several)], None));
        let slot = [("contents", Value::from("__slot__:salt:cmd.run(x)"))];
        assert!(!is("file", "managed", &slot, None));
        assert!(!is("file", "managed", &[], Some("unless")));
        assert!(!is("file", "exists", &[], None));
        assert!(!is("cmd", "run", &[], None));
        assert!(!is("pkg", "installed", &[], None));
    }
}
