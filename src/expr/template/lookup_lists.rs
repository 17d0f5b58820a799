//! Lookups that build lists from their terms and read nothing else: `dict`, `flattened`, `subelements`,
//! `sequence`, …

use crate::value::{List, Value};

use super::{collections, combinatorics, limits, percent_format};
use crate::expr::lookup_options::LookupOptions;

/// Runs a lookup that builds a list from its terms.
pub(super) fn run(name: &str, terms: &[Value], options: &LookupOptions) -> Result<List, String> {
    let error_text = |error: minijinja::Error| error.detail().unwrap_or_default().to_owned();
    match name {
        "list" => Ok(terms.to_vec()),
        "flattened" => {
            let mut flat = List::new();
            collections::flatten_into(terms, collections::DEPTH, false, &mut flat)
                .map_err(error_text)?;
            Ok(flat)
        }
        "dict" => {
            let items: List = terms.iter().flat_map(items_of).collect();
            let maps = items.iter().filter_map(Value::as_map);
            let pairs = maps.flat_map(|map| collections::entries_as_maps(map, "key", "value"));
            Ok(pairs.collect())
        }
        "indexed_items" => Ok((0_i64..)
            .zip(terms.iter().flat_map(items_of))
            .map(|(place, item)| Value::list([place.into(), item]))
            .collect()),
        "together" => {
            let lists: Vec<List> = terms.iter().map(items_of).collect();
            collections::transpose(&lists, true, &Value::Null).map_err(error_text)
        }
        "nested" => {
            let lists: Vec<List> = terms.iter().map(items_of).collect();
            let lists: Vec<&List> = lists.iter().collect();
            combinatorics::cartesian_product(&lists).map_err(str::to_owned)
        }
        "subelements" => subelements(terms),
        "sequence" => sequence(terms, options),
        _ => Ok(terms.iter().flat_map(items_of).collect()),
    }
}

/// Returns the items of a list. Any other value is its own only item.
pub(super) fn items_of(term: &Value) -> List {
    term.marked_items().unwrap_or_else(|| vec![term.clone()])
}

fn subelements(terms: &[Value]) -> Result<List, String> {
    // The terms may also arrive as one list.
    let terms = match terms {
        [Value::List(terms)] => terms.as_slice(),
        terms => terms,
    };
    let (Some(items), Some(path)) = (terms.first(), terms.get(1)) else {
        return Err("takes a list and the name of a list in each item".to_owned());
    };
    let items = match items.reveal() {
        Value::Map(map) => map.values().cloned().collect(),
        _ => items_of(items),
    };
    let skip = terms.get(2).and_then(|flags| flags.get("skip_missing"));
    let path: Vec<String> = path.to_string().split('.').map(str::to_owned).collect();
    collections::pair_with_subelements(&items, &path, skip.is_some_and(Value::is_truthy), false)
}

#[derive(Debug, Default)]
struct SequenceSpec {
    start: Option<i64>,
    end: Option<i64>,
    count: Option<i64>,
    stride: Option<i64>,
    format: Option<String>,
}

fn sequence(terms: &[Value], options: &LookupOptions) -> Result<List, String> {
    let mut texts: Vec<String> = terms.iter().map(|term| term.reveal().to_string()).collect();
    if texts.is_empty() {
        texts.push(String::new());
    }
    let mut numbers = List::new();
    for text in texts {
        let mut sequence = SequenceSpec::default();
        for (name, value) in &options.0 {
            sequence.set(name, &value.to_string())?;
        }
        if !text.trim().is_empty() && !sequence.shorthand(text.trim()) {
            for pair in text.split_whitespace() {
                let pair = pair.split_once('=');
                let (name, value) =
                    pair.ok_or_else(|| format!("`{text}` is not a sequence such as `1-10/2`"))?;
                sequence.set(name, value)?;
            }
        }
        sequence.run(&mut numbers)?;
    }
    Ok(numbers)
}

impl SequenceSpec {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let slot = match name {
            "start" => &mut self.start,
            "end" => &mut self.end,
            "count" => &mut self.count,
            "stride" => &mut self.stride,
            "format" => {
                self.format = Some(value.to_owned());
                return Ok(());
            }
            "wantlist" | "errors" => return Ok(()),
            other => return Err(format!("there is no argument `{other}`")),
        };
        let number = whole(value).ok_or_else(|| format!("`{name}` is not an integer"))?;
        *slot = Some(number);
        Ok(())
    }

    /// Parses the short form `[start-]end[/stride][:format]`. Returns whether the text matches it.
    fn shorthand(&mut self, text: &str) -> bool {
        let (range, format) = match text.split_once(':') {
            Some((range, format)) => (range, Some(format.to_owned())),
            None => (text, None),
        };
        let (range, stride) = match range.split_once('/') {
            Some((range, stride)) => (range, Some(stride)),
            None => (range, None),
        };
        let (start, end) = match range.split_once('-') {
            Some((start, end)) => (Some(start), end),
            None => (None, range),
        };
        let start = start.map(whole);
        let stride = stride.map(whole);
        let (Some(end), false, false) = (whole(end), start == Some(None), stride == Some(None))
        else {
            return false;
        };
        self.end = Some(end);
        self.start = start.flatten().or(self.start);
        self.stride = stride.flatten().or(self.stride);
        self.format = format.or_else(|| self.format.take());
        true
    }

    fn run(&self, numbers: &mut List) -> Result<(), String> {
        let start = self.start.unwrap_or(1);
        let stride = self.stride.unwrap_or(1);
        let end = match (self.end, self.count) {
            (Some(end), None) => end,
            (None, Some(0)) => return Ok(()),
            (None, Some(count)) => {
                let steps = count
                    .checked_sub(1)
                    .and_then(|steps| steps.checked_mul(stride));
                let end = steps.and_then(|steps| start.checked_add(steps));
                end.ok_or("the numbers are too large")?
            }
            _ => return Err("takes either `end` or `count`".to_owned()),
        };
        if stride == 0 {
            return Ok(());
        }
        if (stride > 0 && end < start) || (stride < 0 && end > start) {
            let direction = if stride > 0 { "backwards" } else { "forwards" };
            return Err(format!(
                "to count {direction} the stride must be {}",
                if stride > 0 { "negative" } else { "positive" }
            ));
        }
        let mut number = start;
        while (stride > 0 && number <= end) || (stride < 0 && number >= end) {
            let text = match &self.format {
                Some(format) => percent_format::format(format, &[number.into()], &Value::Null)
                    .map_err(|error| error.detail().unwrap_or_default().to_owned())?,
                None => number.to_string(),
            };
            numbers.push(text.into());
            limits::check_item_count(numbers.len())
                .map_err(|_| "the sequence has too many numbers".to_owned())?;
            match number.checked_add(stride) {
                Some(next) => number = next,
                None => break,
            }
        }
        Ok(())
    }
}

/// Parses an integer as Python writes it.
fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let lower = digits.to_lowercase();
    let number = match (
        lower.strip_prefix("0x"),
        lower.strip_prefix("0o"),
        lower.strip_prefix('0'),
    ) {
        (Some(digits), ..) => i64::from_str_radix(digits, 16),
        (_, Some(digits), _) => i64::from_str_radix(digits, 8),
        (.., Some(digits)) if !digits.is_empty() => i64::from_str_radix(digits, 8),
        _ => lower.parse(),
    };
    number.ok().map(|number| sign * number)
}
