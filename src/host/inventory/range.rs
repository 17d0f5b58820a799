//! Ranges in host names, such as `web[01:20]`, `db-[a:c]` and `n[1:9:2]`.

use super::error::InventoryProblem;

/// The maximum number of hosts in an inventory.
pub(super) const MAX_HOSTS: usize = 1_000_000;

/// Expands a host pattern into host names and the optional port at its end.
pub(super) fn hosts(pattern: &str) -> Result<(Vec<String>, Option<u16>), InventoryProblem> {
    let (name, port) = split_port(pattern)?;
    let mut names = vec![String::new()];
    let mut rest = name;
    while let Some((head, inside, tail)) = next_range(rest) {
        let steps = expand_range(name, inside)?;
        if names.len().saturating_mul(steps.len()) > MAX_HOSTS {
            return Err(InventoryProblem::TooMany(MAX_HOSTS));
        }
        let longer = names.iter().flat_map(|before| {
            steps
                .iter()
                .map(move |step| format!("{before}{head}{step}"))
        });
        names = longer.collect();
        rest = tail;
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok((names, port))
}

/// Splits a text into the parts before, within and after its first range.
fn next_range(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.split_once('[')?;
    let (inside, tail) = rest.split_once(']')?;
    inside.contains(':').then_some((head, inside, tail))
}

/// Splits off the port.
///
/// A port follows the only colon outside of brackets, or brackets around the whole name.
fn split_port(pattern: &str) -> Result<(&str, Option<u16>), InventoryProblem> {
    let bad = || InventoryProblem::Port(pattern.to_owned());
    let mut depth = 0_usize;
    let mut colons = Vec::new();
    for (at, c) in pattern.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => colons.push(at),
            _ => {}
        }
    }
    let (name, port) = match colons.as_slice() {
        [at] => {
            let port = pattern[at + 1..].parse().ok().filter(|port| *port > 0);
            (&pattern[..*at], Some(port.ok_or_else(bad)?))
        }
        _ => (pattern, None),
    };
    // Brackets around the whole name belong to an IPv6 address.
    let inner = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.filter(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok());
    Ok((inner.unwrap_or(name), port))
}

fn expand_range(text: &str, inside: &str) -> Result<Vec<String>, InventoryProblem> {
    let bad = |reason| InventoryProblem::Range {
        text: text.to_owned(),
        reason,
    };
    let bounds: Vec<&str> = inside.split(':').collect();
    let (first, last, step) = match bounds.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => {
            let step = step.parse().ok().filter(|step| *step > 0);
            (
                *first,
                *last,
                step.ok_or_else(|| bad("the step is not a positive number"))?,
            )
        }
        _ => return Err(bad("write `[first:last]` or `[first:last:step]`")),
    };
    let first = if first.is_empty() { "0" } else { first };
    if last.is_empty() {
        return Err(bad("the end is missing"));
    }
    if let (Some(first), Some(last)) = (letter_index(first), letter_index(last)) {
        if first > last {
            return Err(bad("the end is before the start"));
        }
        let letters = (first..=last).step_by(step);
        return Ok(letters.filter_map(letter_at).map(String::from).collect());
    }
    let is_filled = first.starts_with('0') && first.len() > 1;
    if is_filled && first.len() != last.len() {
        return Err(bad(
            "both ends must have the same number of digits if the first starts with `0`",
        ));
    }
    let number = |text: &str| text.parse::<usize>().ok();
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        return Err(bad("the ends are neither numbers nor letters"));
    };
    if from > to {
        return Ok(Vec::new());
    }
    if (to - from) / step >= MAX_HOSTS {
        return Err(InventoryProblem::TooMany(MAX_HOSTS));
    }
    let width = if is_filled { first.len() } else { 0 };
    let numbers = (from..=to).step_by(step);
    Ok(numbers.map(|number| format!("{number:0width$}")).collect())
}

/// Returns the index of a letter; lower case comes before upper case.
fn letter_index(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [small @ b'a'..=b'z'] => Some(small - b'a'),
        [capital @ b'A'..=b'Z'] => Some(capital - b'A' + 26),
        _ => None,
    }
}

fn letter_at(index: u8) -> Option<char> {
    match index {
        0..26 => Some(char::from(b'a' + index)),
        26..52 => Some(char::from(b'A' + index - 26)),
        _ => None,
    }
}
