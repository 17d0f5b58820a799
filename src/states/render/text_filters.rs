//! Salt's Jinja filters for digests, encodings, paths, names and networks.

use std::collections::HashSet;
use std::net::IpAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::IpNetwork;
use crate::states::modules::normalize_path;
use crate::text::base64;
use crate::value::{Map, Value, hex, hex_digest, name_uuid};

/// The most addresses that `network_hosts` lists.
const MAX_HOSTS: i64 = 1 << 16;

/// Applies a filter. The first argument is the filtered value. Returns `None` if the filter is unknown.
pub(super) fn apply_text_filter(
    name: &str,
    args: &[Value],
    named: &Map,
) -> Option<Result<Value, String>> {
    let null = Value::Null;
    let subject = args.first().unwrap_or(&null).reveal();
    let arg = |place: usize, key: &str| args.get(place).or_else(|| named.get(key));
    let word = |place: usize, key: &str| {
        arg(place, key).map_or_else(String::new, |value| value.reveal().to_string())
    };
    let text = subject.to_string();
    Some(Ok(match name {
        "md5" | "sha1" | "sha256" | "sha512" => hex_digest(name, text.as_bytes())?.into(),
        "hmac" => {
            let code = message_code(&text, &word(1, "shared_secret"));
            (base64::encode(&code) == word(2, "challenge_hmac")).into()
        }
        "hmac_compute" => hex(&message_code(&text, &word(1, "shared_secret"))).into(),
        "base64_encode" => base64::encode(text.as_bytes()).into(),
        "base64_decode" => return Some(decoded(&text)),
        "path_join" => joined(&text, args.get(1..).unwrap_or_default()).into(),
        "uuid" => uuid(&text).into(),
        "network_hosts" => return Some(for_networks(subject, hosts)),
        "network_size" => return Some(for_networks(subject, |network| Ok(network.size_value()))),
        "ipwrap" => wrapped(subject),
        "is_iter" => matches!(subject, Value::List(_) | Value::Map(_)).into(),
        "is_hex" => subject.as_str().is_some_and(is_hex).into(),
        "contains_whitespace" => text.contains(char::is_whitespace).into(),
        "substring_in_list" => {
            let list = items_of(arg(1, "lst").unwrap_or(&null));
            list.iter().any(|it| it.to_string().contains(&text)).into()
        }
        "avg" => return Some(average(subject)),
        "exactly_n_true" => exactly(subject, arg(1, "amount").and_then(Value::as_int)),
        "exactly_one_true" => exactly(subject, Some(1)),
        "sorted_ignorecase" => {
            let mut items = items_of(subject).to_vec();
            if let Some(other) = items.iter().find(|item| item.reveal().as_str().is_none()) {
                return Some(Err(format!("`{other}` is not a text")));
            }
            items.sort_by_key(|item| item.to_string().to_lowercase());
            Value::list(items)
        }
        "compare_lists" => compare_lists(subject, arg(1, "new").unwrap_or(&null)),
        "compare_dicts" => compare_maps(subject, arg(1, "new").unwrap_or(&null)),
        "to_snake_case" => snake_case(&text).into(),
        "to_camelcase" => {
            let is_upper = arg(1, "uppercamel").is_some_and(Value::is_truthy);
            camel_case(&text, is_upper).into()
        }
        _ => return None,
    }))
}

/// Returns the UUID of version 5 for a name in Salt's namespace.
fn uuid(name: &str) -> String {
    const NAMESPACE: [u8; 16] = [
        0x91, 0x63, 0x3e, 0xbf, 0x1c, 0x86, 0x5e, 0x33, 0x93, 0x5a, 0x28, 0x06, 0x1f, 0x4b, 0x48,
        0x0e,
    ];
    name_uuid(NAMESPACE, name.as_bytes())
}

fn items_of(value: &Value) -> &[Value] {
    value.as_list().map_or(&[], Vec::as_slice)
}

fn message_code(text: &str, secret: &str) -> Vec<u8> {
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return Vec::new();
    };
    code.update(text.as_bytes());
    code.finalize().into_bytes().to_vec()
}

fn decoded(text: &str) -> Result<Value, String> {
    let digits: String = text.split_whitespace().collect();
    let bytes = base64::decode(&digits).ok_or_else(|| format!("`{text}` is not base64"))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| "the decoded bytes are not UTF-8, so no text can hold them".to_owned())?;
    Ok(text.into())
}

/// Joins paths, each without `.`, `..` and doubled slashes. An absolute path does not replace those before it.
fn joined(first: &str, parts: &[Value]) -> String {
    let mut path = normalize_path(first);
    for part in parts {
        let part = normalize_path(&part.reveal().to_string());
        path = format!("{path}/{}", part.trim_start_matches('/'));
    }
    normalize_path(&path)
}

/// Applies a function to the network that a text names, or to all networks of a list. All else gives null.
fn for_networks(
    value: &Value,
    give: fn(IpNetwork) -> Result<Value, String>,
) -> Result<Value, String> {
    let network = |value: &Value| IpNetwork::parse(value.reveal().as_str()?);
    match value {
        Value::List(items) => {
            let networks: Vec<IpNetwork> = items.iter().filter_map(network).collect();
            if networks.is_empty() {
                return Ok(Value::Null);
            }
            let given = networks.into_iter().map(give);
            Ok(Value::list(given.collect::<Result<Vec<_>, _>>()?))
        }
        one => network(one).map_or(Ok(Value::Null), give),
    }
}

fn hosts(network: IpNetwork) -> Result<Value, String> {
    let hosts = network
        .hosts(MAX_HOSTS)
        .ok_or_else(|| format!("`{network}` has more than {MAX_HOSTS} hosts"))?;
    Ok(Value::list(hosts.iter().map(|it| it.to_string().into())))
}

fn wrapped(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(|item| wrapped(item.reveal()))),
        one => match one.to_string().parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]").into(),
            _ => one.clone(),
        },
    }
}

fn is_hex(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = text.strip_prefix("0x").unwrap_or(text);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lists are short, and Python computes with floats, too"
)]
fn average(value: &Value) -> Result<Value, String> {
    let number = |value: &Value| match value.reveal() {
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
        other => Err(format!("`{other}` is not a number")),
    };
    match value {
        Value::List(items) if items.is_empty() => Err("the list is empty".to_owned()),
        Value::List(items) => {
            let numbers: Vec<f64> = items.iter().map(number).collect::<Result<_, _>>()?;
            Ok((numbers.iter().sum::<f64>() / numbers.len() as f64).into())
        }
        Value::Str(text) => {
            let number = text.trim().parse::<f64>();
            let number = number.map_err(|_| format!("`{text}` is not a number"))?;
            Ok(number.into())
        }
        one => Ok(number(one)?.into()),
    }
}

fn exactly(value: &Value, wanted: Option<i64>) -> Value {
    let items = items_of(value);
    let count = items.iter().filter(|item| item.is_truthy()).count();
    (i64::try_from(count).ok() == wanted.or(Some(1))).into()
}

fn compare_lists(old: &Value, new: &Value) -> Value {
    let (old, new) = (items_of(old), items_of(new));
    // The text of an item tells it from others, also from one of another type.
    let texts = |items: &[Value]| -> HashSet<String> {
        items.iter().map(|item| format!("{item:?}")).collect()
    };
    let without = |items: &[Value], others: &HashSet<String>| -> Vec<Value> {
        let is_other = |item: &&Value| !others.contains(&format!("{item:?}"));
        items.iter().filter(is_other).cloned().collect()
    };
    let entries = [
        ("new", without(new, &texts(old))),
        ("old", without(old, &texts(new))),
    ];
    let entries = entries.into_iter().filter(|(_, items)| !items.is_empty());
    Value::map(entries.map(|(name, items)| (name, Value::list(items))))
}

fn compare_maps(old: &Value, new: &Value) -> Value {
    let empty = Map::new();
    let (old, new) = (
        old.as_map().unwrap_or(&empty),
        new.as_map().unwrap_or(&empty),
    );
    let keys = old
        .keys()
        .chain(new.keys().filter(|key| !old.contains_key(&**key)));
    let changed = keys.filter(|key| old.get(&***key) != new.get(&***key));
    let side = |map: &Map, key: &str| map.get(key).cloned().unwrap_or_else(|| "".into());
    Value::map(changed.map(|key| {
        let pair = [("old", side(old, key)), ("new", side(new, key))];
        (key.to_string(), Value::map(pair))
    }))
}

/// Puts an underline before each upper-case letter that begins a word.
fn snake_case(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut snake = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let follows_small = place > 0 && letters[place - 1].is_lowercase();
        let precedes_small = letters.get(place + 1).is_some_and(|it| it.is_lowercase());
        if place > 0 && letter.is_uppercase() && (follows_small || precedes_small) {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

fn camel_case(text: &str, is_upper: bool) -> String {
    let mut camel = String::new();
    for (place, part) in text.split('_').enumerate() {
        if place == 0 && !is_upper {
            camel.push_str(part);
            continue;
        }
        let mut letters = part.chars();
        camel.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        camel.push_str(&letters.as_str().to_lowercase());
    }
    camel
}
