//! Groups hosts with the same outcome, and shortens lists of their names: `web1–web40, db`.

use indexmap::IndexMap;

use super::words::one_line;

/// The number of consecutive names from which a list shows a range.
const MIN_RANGE: usize = 3;
/// The placeholder for the name of each host in a text about several hosts.
const PLACEHOLDER: &str = "HOST";

/// Groups rows by the outcome of their hosts, in the order in which the outcomes appear first.
pub fn group_hosts<'a, K: std::hash::Hash + Eq>(
    rows: impl IntoIterator<Item = (&'a str, K)>,
) -> IndexMap<K, Vec<&'a str>> {
    let mut groups: IndexMap<K, Vec<&str>> = IndexMap::new();
    for (host, outcome) in rows {
        groups.entry(outcome).or_default().push(host);
    }
    groups
}

/// A name with a number: `web1.example.com` is `web`, 1, `.example.com`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NumberedName<'a> {
    before: &'a str,
    after: &'a str,
    /// The number of digits if the number has leading zeros, else 0.
    padding: usize,
    number: u64,
}

impl<'a> NumberedName<'a> {
    /// Splits a name at the last number of its first label, or at the last part of an IPv4 address.
    fn parse(name: &'a str) -> Option<Self> {
        let start = name.find('@').map_or(0, |at| at + 1);
        let port = name[start..].find(':').map_or(name.len(), |at| start + at);
        let host = &name[start..port];
        let is_address = host
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
        let label = match host.find('.') {
            Some(dot) if !is_address => &host[..dot],
            _ => host,
        };
        let end = start + label.rfind(|c: char| c.is_ascii_digit())? + 1;
        let digits = name[..end].bytes().rev();
        let digits = digits.take_while(u8::is_ascii_digit).count();
        let text = &name[end - digits..end];
        let is_padded = digits > 1 && text.starts_with('0');
        Some(Self {
            before: &name[..end - digits],
            after: &name[end..],
            padding: if is_padded { digits } else { 0 },
            number: text.parse().ok()?,
        })
    }

    fn is_followed_by(&self, next: &Self) -> bool {
        (self.before, self.after, self.padding) == (next.before, next.after, next.padding)
            && self.number.checked_add(1) == Some(next.number)
    }
}

/// Lists names of hosts. Three and more consecutive numbers are a range. At most `max` entries are listed, and
/// the other names are counted.
pub fn host_list(names: &[&str], max: usize) -> String {
    let mut numbered: Vec<(NumberedName<'_>, &str)> = Vec::new();
    let mut others = Vec::new();
    for name in names {
        match NumberedName::parse(name) {
            Some(parsed) => numbered.push((parsed, name)),
            None => others.push(one_line(name).into_owned()),
        }
    }
    numbered.sort();
    numbered.dedup();
    let mut entries: Vec<(String, usize)> = Vec::new();
    for run in numbered.chunk_by(|(one, _), (next, _)| one.is_followed_by(next)) {
        if let (true, [(_, first), .., (_, last)]) = (run.len() >= MIN_RANGE, run) {
            entries.push((format!("{}–{}", one_line(first), one_line(last)), run.len()));
        } else {
            entries.extend(run.iter().map(|(_, name)| (one_line(name).into_owned(), 1)));
        }
    }
    entries.extend(others.into_iter().map(|name| (name, 1)));
    let hidden: usize = entries.iter().skip(max).map(|(_, count)| count).sum();
    let shown: Vec<String> = entries
        .into_iter()
        .take(max)
        .map(|(text, _)| text)
        .collect();
    match hidden {
        0 => shown.join(", "),
        hidden => format!("{} and {hidden} more", shown.join(", ")),
    }
}

/// Replaces the name of a host in a text about it, so that equal texts about several hosts can be found.
pub fn without_name(text: &str, host: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(host).filter(|_| !host.is_empty()) {
        let (before, found) = rest.split_at(at);
        let after = &found[host.len()..];
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        let is_whole = is_whole && !(before.is_empty() && plain.ends_with(is_part));
        plain.push_str(before);
        plain.push_str(if is_whole { PLACEHOLDER } else { host });
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_names_are_a_range() {
        let list = |names: &str| host_list(&names.split(' ').collect::<Vec<_>>(), 9);
        insta::assert_snapshot!(list("web1 web2 web3 db"), @"web1–web3, db");
        insta::assert_snapshot!(list("web10 web9 db web8 web1 web2"), @"web1, web2, web8–web10, db");
        insta::assert_snapshot!(list("n01 n02 n03 n3 n4 n5"), @"n3–n5, n01–n03");
        insta::assert_snapshot!(list("a1.eu2 a2.eu2 a3.eu2 a4.eu3"), @"a1.eu2–a3.eu2, a4.eu3");
        insta::assert_snapshot!(list("10.0.0.8 10.0.0.9 10.0.0.10"), @"10.0.0.8–10.0.0.10");
        insta::assert_snapshot!(list("u@w1:22 u@w2:22 u@w3:22 u@w4:23"), @"u@w1:22–u@w3:22, u@w4:23");
        insta::assert_snapshot!(list("x99999999999999999999 é1é"), @"é1é, x99999999999999999999");
    }

    #[test]
    fn long_lists_are_counted() {
        let names = ["a", "b", "c", "w1", "w2", "w3"];
        insta::assert_snapshot!(host_list(&names, 2), @"w1–w3, a and 2 more");
        insta::assert_snapshot!(host_list(&["a", "b", "w1", "w2", "w3"], 0), @" and 5 more");
    }

    #[test]
    fn the_name_of_the_host_does_not_make_a_difference() {
        assert_eq!(
            without_name("web1 port 22: web1", "web1"),
            "HOST port 22: HOST"
        );
        assert_eq!(
            without_name("web12, xweb1, web1.", "web1"),
            "web12, xweb1, HOST."
        );
        assert_eq!(without_name("a failed, aa", "a"), "HOST failed, aa");
        assert_eq!(without_name("none", ""), "none");
    }
}
