//! Parses server responses: JSON of the HTTP API and responses of `git-lfs-transfer`.

use jiff::Timestamp;
use serde_json::Value;

use super::Error;
use super::LfsLock;
use super::pkt_line::{TransferResponse, parse_responses};

/// A page of a list of locks.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LockPage {
    pub(super) locks: Vec<LfsLock>,
    /// The cursor of the next page, if there is one.
    pub(super) next: Option<String>,
    /// The ids of locks that belong to this user, as far as the server says so.
    pub(super) own_ids: Vec<String>,
    /// The server's time when it sent the page.
    pub(super) server_time: Option<Timestamp>,
}

/// Runs all parsers on the same bytes and returns the number of locks found. Used for fuzzing, because
/// responses come from untrusted servers.
pub fn count_locks(bytes: &[u8]) -> usize {
    parse_message(bytes);
    parse_verified_page(bytes);
    let page = parse_page(bytes).unwrap_or_default();
    let mut count = usize::from(parse_lock(bytes).is_some()) + page.locks.len();
    for answer in parse_responses(bytes) {
        answer.status();
        answer.message();
        count += usize::from(parse_transfer_lock(&answer).is_some());
        count += parse_transfer_page(&answer).locks.len();
    }
    count
}

/// Parses the lock (key `lock`) in a response of the HTTP API.
pub(super) fn parse_lock(body: &[u8]) -> Option<LfsLock> {
    let value: Value = serde_json::from_slice(body).ok()?;
    lock_from_json(value.get("lock")?)
}

/// Parses the list of locks in a response of the HTTP API.
pub(super) fn parse_page(body: &[u8]) -> Option<LockPage> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let locks = match value.get("locks")? {
        Value::Null => Vec::new(),
        Value::Array(locks) => locks.iter().map(lock_from_json).collect::<Option<_>>()?,
        _ => return None,
    };
    Some(LockPage {
        locks,
        next: next_cursor(&value),
        ..LockPage::default()
    })
}

fn next_cursor(page: &Value) -> Option<String> {
    let next = page.get("next_cursor").and_then(text_from_json);
    next.filter(|next| !next.is_empty())
}

/// Parses the lists of own and other locks in a response of the HTTP API.
pub(super) fn parse_verified_page(body: &[u8]) -> Option<LockPage> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list = |name: &str| match value.get(name)? {
        Value::Null => Some(Vec::new()),
        Value::Array(locks) => locks.iter().map(lock_from_json).collect(),
        _ => None,
    };
    let (mut locks, others) = (list("ours")?, list("theirs")?);
    let own_ids = locks.iter().map(|lock: &LfsLock| lock.id.clone()).collect();
    locks.extend(others);
    Some(LockPage {
        locks,
        next: next_cursor(&value),
        own_ids,
        server_time: None,
    })
}

/// Returns the message in a response of the HTTP API; empty if it has none.
pub(super) fn parse_message(body: &[u8]) -> String {
    let value: Option<Value> = serde_json::from_slice(body).ok();
    let message = value.and_then(|value| value.get("message").and_then(text_from_json));
    message.unwrap_or_default()
}

/// Converts an error status to an error. `no_locks` lists the statuses that mean that the server has no lock
/// API.
pub(super) fn refusal_error(
    server: String,
    message: String,
    status: u16,
    no_locks: &[u16],
) -> Error {
    match status {
        401 => Error::Unauthorized { server, message },
        403 => Error::Forbidden { server, message },
        status if no_locks.contains(&status) => Error::LocksUnsupported { server, status },
        status => Error::Failed {
            server,
            status,
            message,
        },
    }
}

fn lock_from_json(value: &Value) -> Option<LfsLock> {
    let text = |name: &str| value.get(name).and_then(text_from_json);
    let owner = value.get("owner").and_then(|owner| owner.get("name"));
    Some(LfsLock {
        id: text("id").filter(|id| !id.is_empty())?,
        path: text("path")?,
        owner: owner.and_then(text_from_json),
        locked_at: text("locked_at"),
    })
}

/// Returns a JSON string or number as text, because some servers send numeric ids.
fn text_from_json(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Parses the lock in a response of `git-lfs-transfer`.
pub(super) fn parse_transfer_lock(answer: &TransferResponse) -> Option<LfsLock> {
    let argument = |name: &str| answer.argument(name).map(str::to_owned);
    Some(LfsLock {
        id: argument("id").filter(|id| !id.is_empty())?,
        path: argument("path")?,
        owner: argument("ownername"),
        locked_at: argument("locked-at"),
    })
}

/// Parses the list of locks in a response of `git-lfs-transfer`. Some servers put it before the delimiter.
pub(super) fn parse_transfer_page(answer: &TransferResponse) -> LockPage {
    let mut page = LockPage {
        next: answer.argument("next-cursor").map(str::to_owned),
        ..LockPage::default()
    };
    for line in answer.head.iter().chain(&answer.body) {
        let mut words = line.splitn(3, ' ');
        let (Some(key), Some(id)) = (words.next(), words.next()) else {
            continue;
        };
        if key == "lock" {
            page.locks.push(LfsLock {
                id: id.to_owned(),
                path: String::new(),
                owner: None,
                locked_at: None,
            });
            continue;
        }
        // The attributes of a lock follow its `lock` line.
        let last = page.locks.last_mut().filter(|lock| lock.id == id);
        let (Some(lock), Some(value)) = (last, words.next()) else {
            continue;
        };
        match key {
            "path" => value.clone_into(&mut lock.path),
            "locked-at" => lock.locked_at = Some(value.to_owned()),
            "ownername" => lock.owner = Some(value.to_owned()),
            "owner" if value == "ours" => page.own_ids.push(id.to_owned()),
            _ => {}
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lock_is_read_with_all_its_fields() {
        let body =
            br#"{"lock": {"id": 7, "path": "a", "locked_at": "t", "owner": {"name": "ann"}}}"#;
        let lock = parse_lock(body).unwrap();
        assert_eq!((&*lock.id, lock.owner.as_deref()), ("7", Some("ann")));
        let bare = parse_lock(br#"{"lock": {"id": "7", "path": "a"}}"#).unwrap();
        assert_eq!((bare.owner, bare.locked_at), (None, None));
        for body in [
            &b"{}"[..],
            b"",
            b"[]",
            b"{\"lock\": {\"id\": \"\", \"path\": \"a\"}}",
            b"\xff",
        ] {
            assert_eq!(parse_lock(body), None);
        }
    }

    #[test]
    fn a_list_may_go_on_and_may_be_empty() {
        let body = br#"{"locks": [{"id": "1", "path": "a"}], "next_cursor": "x"}"#;
        let page = parse_page(body).unwrap();
        assert_eq!((page.locks.len(), page.next.as_deref()), (1, Some("x")));
        let empty = parse_page(br#"{"locks": null, "next_cursor": ""}"#).unwrap();
        assert_eq!(empty, LockPage::default());
        assert_eq!(parse_page(br#"{"locks": [1]}"#), None);
        assert_eq!(parse_page(br#"{"message": "no"}"#), None);
    }

    #[test]
    fn a_list_of_own_and_other_locks_says_which_are_own() {
        let body = br#"{"ours": [{"id": 1, "path": "a"}], "theirs": [{"id": 2, "path": "b"}]}"#;
        let page = parse_verified_page(body).unwrap();
        assert_eq!(
            (page.locks.len(), &*page.own_ids),
            (2, &["1".to_owned()][..])
        );
        assert_eq!(parse_verified_page(br#"{"ours": []}"#), None);
    }

    #[test]
    fn a_list_over_ssh_is_read_line_by_line() {
        let answer = TransferResponse {
            head: vec!["status 200".into(), "next-cursor=z".into()],
            body: [
                "lock 1",
                "path 1 a b",
                "ownername 2 eve",
                "ownername 1 Ann B",
                "owner 1 ours",
            ]
            .map(str::to_owned)
            .to_vec(),
        };
        let page = parse_transfer_page(&answer);
        assert_eq!(page.next.as_deref(), Some("z"));
        let [lock] = &*page.locks else {
            panic!("{page:?}");
        };
        assert_eq!((&*lock.path, lock.owner.as_deref()), ("a b", Some("Ann B")));
        assert_eq!(page.own_ids, ["1"]);
    }

    proptest! {
        /// No bytes from a server make the parsers panic.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            count_locks(&bytes);
        }

        /// Malformed JSON makes no parser panic.
        #[test]
        fn any_json_is_read(key in "(lock|locks|next_cursor|message)", value in "[\\[\\]{}\":,0-9a-z]{0,30}") {
            let body = format!("{{\"{key}\": {value}}}");
            parse_lock(body.as_bytes());
            parse_page(body.as_bytes());
            parse_message(body.as_bytes());
        }

        /// Packets with arbitrary lines make no parser panic.
        #[test]
        fn any_lines_are_read(lines in prop::collection::vec("(lock|path|id=|status |x)?[ =0-9a-z]{0,8}", 0..8)) {
            let answer = TransferResponse { head: lines.clone(), body: lines };
            answer.status();
            parse_transfer_lock(&answer);
            parse_transfer_page(&answer);
        }
    }
}
