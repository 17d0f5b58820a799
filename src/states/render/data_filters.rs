//! Salt's Jinja filters on lists, maps and sizes that Jinja and Ansible lack or define in another way.

use crate::text::{Glob, Pattern};
use crate::value::{Map, Value};

/// The maximum depth of lists that are flattened.
const MAX_DEPTH: usize = 100;

/// The maximum width of a value that Python writes on one line.
const PYTHON_WIDTH: usize = 80;

/// The letters of the units of sizes, each 1024 times the one before.
const UNITS: &str = "bkmgtpezy";

/// Applies a filter. The first argument is the filtered value. Returns `None` if the filter is unknown.
pub(super) fn apply_data_filter(
    name: &str,
    args: &[Value],
    named: &Map,
) -> Option<Result<Value, String>> {
    let null = Value::Null;
    let subject = args.first().unwrap_or(&null).reveal();
    let arg = |place: usize, key: &str| {
        args.get(place)
            .or_else(|| named.get(key))
            .map(Value::reveal)
    };
    Some(match name {
        "check_whitelist_blacklist" => {
            let listed = |list: Option<&Value>| list.filter(|list| list.is_truthy()).cloned();
            is_allowed(
                subject,
                listed(arg(1, "whitelist")).as_ref(),
                listed(arg(2, "blacklist")).as_ref(),
            )
        }
        "compress" => compressed(subject, arg(1, "selectors").unwrap_or(&null)),
        "flatten" => {
            let levels = arg(1, "levels").and_then(Value::as_int);
            let keeps_nulls = arg(2, "preserve_nulls").is_some_and(Value::is_truthy);
            let mut items = Vec::new();
            flatten(subject, levels, keeps_nulls, 0, &mut items).map(|()| Value::list(items))
        }
        "from_entries" => from_entries(subject),
        "human_to_bytes" => {
            let unit = arg(1, "default_unit").map_or_else(|| "B".to_owned(), ToString::to_string);
            let is_metric = arg(2, "handle_metric").is_some_and(Value::is_truthy);
            Ok(bytes_of(&subject.to_string(), &unit, is_metric))
        }
        "mysql_to_dict" => {
            let key = arg(1, "key").map(ToString::to_string).unwrap_or_default();
            table_rows(subject, &key)
        }
        "python" => python_text(subject),
        "skip" => Ok("".into()),
        "to_bool" => Ok(to_bool(subject).into()),
        "str_to_num" | "to_num" => Ok(to_number(subject)),
        "to_entries" => to_entries(subject),
        _ => return None,
    })
}

/// Returns true if a value is in the first list, or not in the second one. Both have globs and regular expressions.
fn is_allowed(
    value: &Value,
    allowed: Option<&Value>,
    refused: Option<&Value>,
) -> Result<Value, String> {
    let fits = |list: &Value| -> Result<bool, String> {
        let items = match list {
            Value::List(items) => items.to_vec(),
            Value::Map(map) => map.keys().cloned().map(Value::Str).collect(),
            Value::Str(_) => vec![list.clone()],
            other => return Err(format!("`{other}` is not a list")),
        };
        let Value::Str(text) = value else {
            return Ok(false);
        };
        Ok(items
            .iter()
            .any(|item| is_match(text, &item.reveal().to_string())))
    };
    let is_refused = refused.map(fits).transpose()?;
    let is_listed = allowed.map(fits).transpose()?;
    Ok((is_listed != Some(false) && is_refused != Some(true)).into())
}

/// Returns true if a glob or a regular expression matches a whole text.
fn is_match(text: &str, expression: &str) -> bool {
    Glob::new(expression).matches(text)
        || Pattern::new(&format!("\\A(?:\\A{expression}\\z)"))
            .is_ok_and(|pattern| pattern.is_match(text).unwrap_or(false))
}

fn items_of(value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::List(items) => Ok(items.to_vec()),
        Value::Map(map) => Ok(map.keys().cloned().map(Value::Str).collect()),
        Value::Str(text) => Ok(text.chars().map(|it| it.to_string().into()).collect()),
        other => Err(format!("takes a list, not `{other}`")),
    }
}

/// Returns the items whose selector is true.
fn compressed(value: &Value, selectors: &Value) -> Result<Value, String> {
    let (items, selectors) = (items_of(value)?, items_of(selectors)?);
    let pairs = items.into_iter().zip(selectors);
    let chosen = pairs.filter(|(_, selector)| selector.is_truthy());
    Ok(Value::list(chosen.map(|(item, _)| item)))
}

fn flatten(
    value: &Value,
    levels: Option<i64>,
    keeps_nulls: bool,
    depth: usize,
    items: &mut Vec<Value>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("the lists nest too deeply".to_owned());
    }
    for item in items_of(value)? {
        let is_null = match item.reveal() {
            Value::Null => true,
            Value::Str(text) => matches!(&**text, "None" | "null"),
            _ => false,
        };
        let is_list = matches!(item.reveal(), Value::List(_) | Value::Map(_));
        if is_null && !keeps_nulls {
            continue;
        }
        if is_list && levels.is_none_or(|levels| levels >= 1) {
            let levels = levels.map(|levels| levels - 1);
            flatten(item.reveal(), levels, keeps_nulls, depth + 1, items)?;
        } else {
            items.push(item);
        }
    }
    Ok(())
}

fn to_entries(value: &Value) -> Result<Value, String> {
    let entry = |key: Value, value: &Value| Value::map([("key", key), ("value", value.clone())]);
    match value {
        Value::Map(map) => Ok(Value::list(
            map.iter()
                .map(|(key, value)| entry(Value::Str(key.clone()), value)),
        )),
        Value::List(items) => Ok(Value::list(
            (0_i64..)
                .zip(items.iter())
                .map(|(place, value)| entry(place.into(), value)),
        )),
        _ => Err("Input data must be a dict or list".to_owned()),
    }
}

/// Makes a map of entries with a `key` or `name`, whose upper and lower case letters do not count, and a `value`.
fn from_entries(value: &Value) -> Result<Value, String> {
    let mut result = Map::new();
    for entry in items_of(value)? {
        let Some(entry) = entry.reveal().as_map() else {
            return Err(format!("the entry `{entry}` is not a map"));
        };
        let field = |name: &str| {
            let mut fields = entry.iter().rev();
            fields.find_map(|(key, value)| (key.to_lowercase() == name).then(|| value.clone()))
        };
        let key = ["key", "name"].into_iter().filter_map(field);
        if let Some(key) = key.into_iter().find(Value::is_truthy) {
            let value = field("value").unwrap_or_default();
            result.insert(key.reveal().to_string().into(), value);
        }
    }
    Ok(result.into())
}

/// Returns the number of bytes that a text such as `2 MiB` means, or 0 if it has another form.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "Python computes with floats and cuts off the fraction, too"
)]
fn bytes_of(text: &str, usual_unit: &str, is_metric: bool) -> Value {
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = match unit.trim_start() {
        "" => usual_unit.to_lowercase(),
        unit => unit.to_lowercase(),
    };
    let power = unit.chars().next().and_then(|letter| UNITS.find(letter));
    let Some(power) = power.and_then(|power| u32::try_from(power).ok()) else {
        return 0.into();
    };
    let is_known = match unit.get(1..) {
        Some("") => true,
        Some("b" | "ib") => power > 0,
        _ => false,
    };
    if !is_known {
        return 0.into();
    }
    let base = if is_metric && unit.len() == 2 {
        1000_i128
    } else {
        1024
    };
    let factor = base.pow(power);
    if let Ok(number) = number.parse::<i64>() {
        let bytes = factor.saturating_mul(number.into());
        return match i64::try_from(bytes) {
            Ok(bytes) => bytes.into(),
            Err(_) => Value::Big(bytes.to_string().into()),
        };
    }
    let number = number.parse::<f64>();
    number.map_or_else(
        |_| 0.into(),
        |number| ((number * factor as f64) as i64).into(),
    )
}

/// Reads the lines of a table that `mysql` printed. The result has the rows by the value of one column.
fn table_rows(lines: &Value, key: &str) -> Result<Value, String> {
    let mut headers: Vec<String> = Vec::new();
    let mut rows = Map::new();
    for line in items_of(lines)? {
        let line = line.reveal().to_string();
        if line.is_empty() || line.starts_with('+') {
            continue;
        }
        let cells = line.split('|').map(|cell| cell.trim().to_owned());
        let cells: Vec<String> = cells.collect();
        if headers.len() < 2 {
            headers = cells;
            continue;
        }
        let mut row = Map::new();
        for (place, header) in headers.iter().enumerate().take(headers.len() - 1).skip(1) {
            let cell = cells.get(place).map(String::as_str);
            let cell = cell.ok_or_else(|| format!("the row `{line}` is too short"))?;
            row.insert(header.as_str().into(), to_number(&cell.into()));
        }
        let name = row.get(key).map(ToString::to_string);
        let name = name.ok_or_else(|| format!("the table has no column `{key}`"))?;
        rows.insert(name.into(), row.into());
    }
    Ok(rows.into())
}

/// Writes a value as a literal of Python, unless Python would write it on several lines.
fn python_text(value: &Value) -> Result<Value, String> {
    let text = format!("{:?}", value.sorted());
    if text.chars().count() > PYTHON_WIDTH {
        return Err(format!(
            "the text is longer than {PYTHON_WIDTH} characters, for which Python writes several lines; use the \
             filter json"
        ));
    }
    Ok(text.into())
}

fn to_bool(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Str(text) => matches!(&*text.to_lowercase(), "yes" | "1" | "true"),
        Value::Int(number) => *number > 0,
        Value::List(_) | Value::Map(_) => value.is_truthy(),
        _ => false,
    }
}

/// Converts a text to the number that Python's `int` or `float` reads from it.
fn to_number(value: &Value) -> Value {
    let text = match value {
        Value::Str(text) => text.trim(),
        Value::Float(number) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "Python cuts off the fraction, too"
            )]
            let whole = *number as i64;
            return whole.into();
        }
        Value::Bool(truth) => return i64::from(*truth).into(),
        other => return other.clone(),
    };
    let has_digits = text.contains(|letter: char| letter.is_ascii_digit());
    let is_decimal = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    match text.parse::<f64>() {
        Ok(number) if has_digits && text.chars().all(is_decimal) => number.into(),
        _ => value.clone(),
    }
}
