//! Template functions (`salt['dig.…']`) that ask the name service with the program `dig` of the machine.

use super::call::{CallResult, TemplateCall};
use super::machine_functions::{probe, text};
use crate::host::fact::Domain;
use crate::states::Halt;
use crate::text::shlex_quote;
use crate::value::Value;

/// The implementation of a template function.
type DigFn = fn(&TemplateCall<'_>) -> CallResult;

/// The table of functions by name.
pub(super) const FUNCTIONS: &[(&str, DigFn)] = &[
    ("dig.A", |call| addresses(call, "A")),
    ("dig.AAAA", |call| addresses(call, "AAAA")),
    ("dig.CNAME", alias),
    ("dig.MX", exchangers),
    ("dig.NS", name_servers),
    ("dig.PTR", |call| lines(call, "-x")),
    ("dig.TXT", |call| lines(call, "TXT")),
    ("dig.a", |call| addresses(call, "A")),
    ("dig.aaaa", |call| addresses(call, "AAAA")),
    ("dig.check_ip", |call| {
        let address = call.text(0, "addr")?;
        let address = address.split_once('/').map_or(&*address, |(it, _)| it);
        Ok(is_address(address).into())
    }),
    ("dig.cname", alias),
    ("dig.mx", exchangers),
    ("dig.ns", name_servers),
    ("dig.ptr", |call| lines(call, "-x")),
];

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

/// Asks for records of a kind, or with `-x` for the names of an address. Returns the output, or `None` if the program
/// failed. Without the program `dig`, the function does not exist, as in Salt.
fn ask(
    call: &TemplateCall<'_>,
    host: &str,
    kind: &str,
    server_place: usize,
) -> Result<Option<Value>, Halt> {
    let host = shlex_quote(host);
    let server = match call.text_or(server_place, "nameserver", "") {
        server if server.is_empty() => server,
        server => format!("{} ", shlex_quote(&format!("@{server}"))),
    };
    let question = match kind {
        "-x" => format!("-x {host}"),
        kind => format!("{host} {kind}"),
    };
    let command = format!("dig {server}+short {question}");
    let found = probe(call, command, Domain::All)?;
    if found.code == 127 {
        return Err(call.fail("the host has no program `dig`"));
    }
    Ok((found.code == 0).then(|| text(&found.stdout)))
}

/// The addresses of a host. Other answers, such as aliases, are left out.
fn addresses(call: &TemplateCall<'_>, kind: &str) -> CallResult {
    Ok(Value::list(addresses_of(
        call,
        &call.text(0, "host")?,
        kind,
        1,
    )?))
}

fn addresses_of(
    call: &TemplateCall<'_>,
    host: &str,
    kind: &str,
    server_place: usize,
) -> Result<Vec<Value>, Halt> {
    let answer = ask(call, host, kind, server_place)?.unwrap_or_default();
    let all = answer.to_string();
    let found = all.lines().filter(|line| is_address(line));
    Ok(found.map(Value::from).collect())
}

/// The name that a host is an alias of. Empty if it is none.
fn alias(call: &TemplateCall<'_>) -> CallResult {
    let answer = ask(call, &call.text(0, "host")?, "CNAME", 1)?;
    Ok(answer.unwrap_or_else(|| Value::list([])))
}

/// The lines of an answer. As in Salt, an empty answer has one empty line.
fn lines(call: &TemplateCall<'_>, kind: &str) -> CallResult {
    let answer = ask(call, &call.text(0, "host")?, kind, 1)?;
    Ok(answer.map_or_else(|| Value::list([]), |it| lines_of(&it)))
}

fn lines_of(answer: &Value) -> Value {
    let all = answer.to_string();
    Value::list(all.split('\n').map(Value::from))
}

/// The name servers of a domain: their addresses, or their names with `resolve=False`.
fn name_servers(call: &TemplateCall<'_>) -> CallResult {
    let Some(answer) = ask(call, &call.text(0, "domain")?, "NS", 2)? else {
        return Ok(Value::list([]));
    };
    if !call.flag(1, "resolve", true) {
        return Ok(lines_of(&answer));
    }
    let mut found = Vec::new();
    for host in answer.to_string().split('\n') {
        found.extend(addresses_of(call, host, "A", 2)?);
    }
    Ok(found.into())
}

/// The mail exchangers of a domain, each with its priority. With `resolve=True` their first addresses.
fn exchangers(call: &TemplateCall<'_>) -> CallResult {
    let Some(answer) = ask(call, &call.text(0, "domain")?, "MX", 2)? else {
        return Ok(Value::list([]));
    };
    let mut found = Vec::new();
    for line in answer.to_string().split('\n') {
        let mut words: Vec<Value> = line.split_whitespace().map(Value::from).collect();
        if call.flag(1, "resolve", false)
            && let Some(host) = words.get(1).map(ToString::to_string)
        {
            words.truncate(1);
            words.extend(addresses_of(call, &host, "A", 2)?.into_iter().take(1));
        }
        found.push(words.into());
    }
    Ok(found.into())
}
