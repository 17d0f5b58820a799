//! Filters on lists and maps: `combine`, `dict2items`, `union`, `zip`, `groupby` and others of Ansible and
//! Jinja2. Lookups use some of the helpers.
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use minijinja::value::{Tuple, Value as JinjaValue};

use crate::value::{List, Map, Value};

use super::arguments::{FilterArguments, FilterTable, VARIADIC};
use super::error::{Result, filter_error};
use super::limits;
use super::mutable;
use super::text_layout::get_attribute_path;

/// The maximum nesting depth for `combine` and `flatten`.
pub(super) const DEPTH: usize = 100;

const COMBINE: &[&str] = &[VARIADIC, "recursive", "list_merge"];
const NAMES: &[&str] = &["key_name", "value_name"];
const UNIQUE: &[&str] = &["case_sensitive", "attribute"];
const SUBELEMENTS: &[&str] = &["subelements", "skip_missing"];
const REKEY: &[&str] = &["key", "duplicates"];
const DICTSORT: &[&str] = &["case_sensitive", "by", "reverse"];
const GROUPBY: &[&str] = &["attribute", "default", "case_sensitive"];

/// The filters on lists and maps.
pub(super) const FILTERS: FilterTable = &[
    ("combine", COMBINE, combine),
    ("dict2items", NAMES, dict2items),
    ("items2dict", NAMES, items2dict),
    ("flatten", &["levels", "skip_nulls"], flatten),
    ("union", &["b"], union),
    ("intersect", &["b"], intersect),
    ("difference", &["b"], difference),
    ("symmetric_difference", &["b"], symmetric_difference),
    ("unique", UNIQUE, unique),
    ("extract", &["container", "morekeys"], extract),
    ("subelements", SUBELEMENTS, subelements),
    ("rekey_on_member", REKEY, rekey_on_member),
    ("zip", &[VARIADIC], |args| zipped(args, false)),
    ("zip_longest", &[VARIADIC, "fillvalue"], |args| {
        zipped(args, true)
    }),
    ("batch", &["linecount", "fill_with"], batch),
    ("slice", &["slices", "fill_with"], slice),
    ("dictsort", DICTSORT, dictsort),
    ("groupby", GROUPBY, groupby),
    ("sum", &["attribute", "start"], sum),
];

fn combine(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let recursive = args.flag("recursive", false)?;
    let lists = args.text("list_merge")?;
    let lists = lists.as_deref().unwrap_or("replace");
    let known = [
        "replace",
        "keep",
        "append",
        "prepend",
        "append_rp",
        "prepend_rp",
    ];
    if !known.contains(&lists) {
        let known = known.join("`, `");
        return Err(args.fail(format!("`list_merge` must be one of `{known}`")));
    }
    let mut values = Vec::new();
    let others = args
        .positional
        .iter()
        .map(|value| args.variables.revealed_value(value));
    for value in std::iter::once(args.subject()).chain(others) {
        match value? {
            Value::List(items) => values.extend(items.iter().cloned()),
            other => values.push(other),
        }
    }
    let mut result = Map::new();
    for value in values {
        let Value::Map(map) = &value else {
            return Err(args.fail(format!("takes maps, not {}", value.kind())));
        };
        result = merge_maps(result, map, recursive, lists, 0)?;
    }
    args.engine_value(result)
}

fn merge_maps(
    mut base: Map,
    over: &Map,
    recursive: bool,
    lists: &str,
    depth: usize,
) -> Result<Map> {
    if depth > DEPTH {
        return Err(filter_error("`combine`: the maps nest too deeply"));
    }
    for (key, value) in over {
        let value = match (base.get(key), value) {
            (Some(Value::Map(old)), Value::Map(new)) if recursive => {
                merge_maps(Map::clone(old), new, recursive, lists, depth + 1)?.into()
            }
            (Some(Value::List(old)), Value::List(new)) => {
                let both = |a: &List, b: &List| Value::list(a.iter().chain(b).cloned());
                match lists {
                    "append" => both(old, new),
                    "prepend" => both(new, old),
                    "append_rp" => both(&without(old, new), new),
                    "prepend_rp" => both(new, &without(old, new)),
                    "keep" => Value::List(Arc::clone(old)),
                    _ => value.clone(),
                }
            }
            _ => value.clone(),
        };
        base.insert(Arc::clone(key), value);
    }
    Ok(base)
}

fn without(items: &[Value], others: &[Value]) -> List {
    let others: HashSet<String> = others.iter().map(identity).collect();
    let remaining = items
        .iter()
        .filter(|item| !others.contains(&identity(item)));
    remaining.cloned().collect()
}

/// Whether every item of `part` is among the items of `whole`.
pub(super) fn is_within(part: &[Value], whole: &[Value]) -> bool {
    without(part, whole).is_empty()
}

/// Returns a text that is equal for values that Python considers equal.
fn identity(value: &Value) -> String {
    fn write(value: &Value, text: &mut String) {
        match value.reveal() {
            Value::Bool(truth) => *text += if *truth { "1" } else { "0" },
            Value::List(items) => {
                text.push('[');
                for item in items.iter() {
                    write(item, text);
                    text.push(',');
                }
                text.push(']');
            }
            Value::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| *key);
                text.push('{');
                for (key, item) in entries {
                    *text += &format!("{key:?}:");
                    write(item, text);
                    text.push(',');
                }
                text.push('}');
            }
            // An integer and a float with the same value have the same identity.
            Value::Float(float) if float.fract() == 0.0 => *text += &format!("{float:.0}"),
            Value::External(external) => write(&external.value, text),
            other => *text += &format!("{other:?}"),
        }
    }
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn once(items: impl IntoIterator<Item = Value>, of: impl Fn(&Value) -> String) -> List {
    let mut seen = HashSet::new();
    let items = items.into_iter();
    items.filter(|item| seen.insert(of(item))).collect()
}

fn dict2items(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let map = args.subject_map()?;
    let (key_name, value_name) = names(args)?;
    args.engine_value(entries_as_maps(&map, &key_name, &value_name))
}

/// Converts each entry of a map to a map with the given names for its key and value.
pub(super) fn entries_as_maps(map: &Map, key_name: &str, value_name: &str) -> List {
    let item = |(key, value): (&Arc<str>, &Value)| {
        Value::map([
            (key_name, Value::Str(Arc::clone(key))),
            (value_name, value.clone()),
        ])
    };
    map.iter().map(item).collect()
}

fn names(args: &FilterArguments<'_>) -> Result<(String, String)> {
    let name = |name, default: &str| -> Result<String> {
        Ok(args.text(name)?.unwrap_or_else(|| default.to_owned()))
    };
    Ok((name("key_name", "key")?, name("value_name", "value")?))
}

fn items2dict(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let (key_name, value_name) = names(args)?;
    let mut map = Map::new();
    for item in args.subject_list()? {
        let (Some(key), Some(value)) = (item.get(&key_name), item.get(&value_name)) else {
            return Err(args.fail(format!("an item has no `{key_name}` or no `{value_name}`")));
        };
        map.insert(key.to_string().into(), value.clone());
    }
    args.engine_value(map)
}

fn flatten(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let levels = args.size("levels")?.unwrap_or(DEPTH);
    let skip_nulls = args.flag("skip_nulls", true)?;
    let mut flat = List::new();
    flatten_into(&args.subject_list()?, levels, skip_nulls, &mut flat)?;
    args.engine_list(flat)
}

pub(super) fn flatten_into(
    items: &[Value],
    levels: usize,
    skip_nulls: bool,
    flat: &mut List,
) -> Result<()> {
    for item in items {
        match item {
            Value::List(inner) if levels > 0 => {
                flatten_into(inner, levels - 1, skip_nulls, flat)?;
            }
            Value::Null if skip_nulls => {}
            other => flat.push(other.clone()),
        }
        limits::check_item_count(flat.len())?;
    }
    Ok(())
}

fn other(args: &FilterArguments<'_>) -> Result<List> {
    let supplied = args.get("b")?;
    args.list(&supplied.unwrap_or_else(|| Value::list([])))
}

fn union(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let both = args.subject_list()?.into_iter().chain(other(args)?);
    args.engine_list(once(both, identity))
}

fn intersect(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let right: HashSet<String> = other(args)?.iter().map(identity).collect();
    let both = args.subject_list()?.into_iter();
    let both = both.filter(|item| right.contains(&identity(item)));
    args.engine_list(once(both, identity))
}

fn difference(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    args.engine_list(once(
        without(&args.subject_list()?, &other(args)?),
        identity,
    ))
}

fn symmetric_difference(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let (left, right) = (args.subject_list()?, other(args)?);
    let both = without(&left, &right)
        .into_iter()
        .chain(without(&right, &left));
    args.engine_list(once(both, identity))
}

/// Without `case_sensitive`, texts that differ only in case count as equal, as in Jinja2.
fn unique(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let case_sensitive = args.flag("case_sensitive", false)?;
    let attribute = args.text("attribute")?;
    let of = |item: &Value| {
        let item = match &attribute {
            Some(attribute) => get_attribute_path(item, attribute),
            None => item.clone(),
        };
        identity(&fold_case(item, case_sensitive))
    };
    args.engine_list(once(args.subject_list()?, of))
}

/// The filters that differ in documents: those of Salt compare texts with their case.
pub(super) const DOCUMENT_FILTERS: FilterTable = &[("unique", &[], |args| {
    args.engine_list(once(args.subject_list()?, identity))
})];

fn fold_case(value: Value, case_sensitive: bool) -> Value {
    match value.as_str() {
        Some(text) if !case_sensitive => text.to_lowercase().into(),
        _ => value,
    }
}

fn extract(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let container = args
        .raw("container")
        .ok_or_else(|| args.fail("takes a map or a list"))?;
    let mut found = container.get_item(args.subject)?;
    if let Some(more) = args.raw("morekeys").filter(|more| !more.is_none()) {
        let keys = match args.variables.revealed_value(more)? {
            Value::List(keys) => keys.to_vec(),
            key => vec![key],
        };
        for key in keys {
            found = found.get_item(&args.engine_value(key)?)?;
        }
    }
    Ok(found)
}

fn subelements(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let path = match args.get("subelements")? {
        Some(Value::List(path)) => path.iter().map(Value::to_string).collect::<Vec<_>>(),
        Some(path) => path.to_string().split('.').map(str::to_owned).collect(),
        None => return Err(args.fail("takes the name of a list in each item")),
    };
    let items = match args.subject()? {
        Value::Map(map) => map.values().cloned().collect(),
        other => args.list(&other)?,
    };
    let skip_missing = args.flag("skip_missing", false)?;
    args.engine_list(
        pair_with_subelements(&items, &path, skip_missing, true)
            .map_err(|problem| args.fail(problem))?,
    )
}

/// Pairs each item with each element of a list within it.
pub(super) fn pair_with_subelements(
    items: &[Value],
    path: &[String],
    skip_missing: bool,
    whole: bool,
) -> std::result::Result<List, String> {
    let mut pairs = List::new();
    for item in items {
        if item.as_map().is_none() {
            return Err("takes a list of maps, or a map of maps".to_owned());
        }
        let mut found = Some(item.clone());
        for name in path {
            found = found.and_then(|value| value.get(name).cloned());
        }
        let name = path.join(".");
        let elements = match found {
            Some(value) if value.as_list().is_some() => value,
            Some(_) => return Err(format!("`{name}` is not a list")),
            None if skip_missing => continue,
            None => return Err(format!("an item has no `{name}`")),
        };
        let shown = match (whole, item) {
            (false, Value::Map(map)) => {
                let rest = map
                    .iter()
                    .filter(|(key, _)| path.first().is_none_or(|first| ***key != **first));
                Value::map(rest.map(|(key, value)| (Arc::clone(key), value.clone())))
            }
            _ => item.clone(),
        };
        for element in elements.as_list().into_iter().flatten() {
            pairs.push(Value::list([shown.clone(), element.clone()]));
        }
        if pairs.len() > limits::MAX_ITEMS {
            return Err("the result has too many pairs".to_owned());
        }
    }
    Ok(pairs)
}

fn rekey_on_member(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let key = args.text("key")?.unwrap_or_default();
    let overwrite = match args.text("duplicates")?.as_deref() {
        None | Some("error") => false,
        Some("overwrite") => true,
        Some(other) => {
            return Err(args.fail(format!(
                "`duplicates` must be `error` or `overwrite`, not `{other}`"
            )));
        }
    };
    let items: List = match args.subject()? {
        Value::Map(map) => map.values().cloned().collect(),
        other => args.list(&other)?,
    };
    let mut map = Map::new();
    for item in items {
        let Some(name) = item.get(&key) else {
            return Err(args.fail(format!("an item has no `{key}`")));
        };
        let name: Arc<str> = name.to_string().into();
        if map.contains_key(&name) && !overwrite {
            return Err(args.fail(format!(
                "more than one item has the value `{name}` for `{key}`"
            )));
        }
        map.insert(name, item);
    }
    args.engine_value(map)
}

fn zipped(args: &FilterArguments<'_>, longest: bool) -> Result<JinjaValue> {
    let mut lists = vec![args.subject_list()?];
    lists.extend(args.positional_lists()?);
    let fill = args.get("fillvalue")?.unwrap_or_default();
    args.engine_tuples(&transpose(&lists, longest, &fill)?)
}

/// Transposes lists: the first items, then the second items, and so on.
pub(super) fn transpose(lists: &[List], longest: bool, fill: &Value) -> Result<List> {
    let lengths = lists.iter().map(Vec::len);
    let length = if longest {
        lengths.max()
    } else {
        lengths.min()
    };
    let length = length.unwrap_or_default();
    limits::check_item_count(length.saturating_mul(lists.len()))?;
    let cell = |list: &List, row: usize| list.get(row).unwrap_or(fill).clone();
    let row = |row| Value::list(lists.iter().map(|list| cell(list, row)));
    Ok((0..length).map(row).collect())
}

fn batch(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let size = args.size("linecount")?.unwrap_or(1).max(1);
    let fill = args.get("fill_with")?;
    let items = args.subject_list()?;
    if fill.is_some() {
        limits::check_item_count(size)?;
    }
    let rows = items.chunks(size).map(|chunk| {
        let mut row = chunk.to_vec();
        if let Some(fill) = &fill {
            row.resize(size, fill.clone());
        }
        Value::from(row)
    });
    args.engine_list(rows.collect())
}

fn slice(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let count = args.size("slices")?.unwrap_or(1).max(1);
    limits::check_item_count(count)?;
    let fill = args.get("fill_with")?;
    let items = args.subject_list()?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.as_slice();
    let mut rows = List::new();
    for place in 0..count {
        let (row, after) = rest.split_at(each + usize::from(place < longer));
        rest = after;
        let mut row = row.to_vec();
        if let Some(fill) = fill.as_ref().filter(|_| place >= longer && longer > 0) {
            row.push(fill.clone());
        }
        rows.push(row.into());
    }
    args.engine_list(rows)
}

fn dictsort(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let map = args.subject_map()?;
    let by_value = match args.text("by")?.as_deref() {
        None | Some("key") => false,
        Some("value") => true,
        Some(other) => {
            return Err(args.fail(format!(
                "can only sort by `key` or `value`, not by `{other}`"
            )));
        }
    };
    let case_sensitive = args.flag("case_sensitive", false)?;
    let reverse = args.flag("reverse", false)?;
    let pair = |(key, value): (&Arc<str>, &Value)| {
        let key = Value::Str(Arc::clone(key));
        let by = if by_value { value.clone() } else { key.clone() };
        let by = args.engine_value(fold_case(by, case_sensitive))?;
        Ok((by, [key, value.clone()]))
    };
    let mut pairs = map.iter().map(pair).collect::<Result<Vec<_>>>()?;
    pairs.sort_by(|(left, _), (right, _)| {
        let order = left.cmp(right);
        if reverse { order.reverse() } else { order }
    });
    // An item of a map that templates can change stays the same object.
    let is_mutable = mutable::is_map(args.subject);
    let tuple = |(_, [key, value]): (JinjaValue, [Value; 2])| {
        let key = args.engine_value(key)?;
        let own = if is_mutable {
            args.subject.get_item(&key)?
        } else {
            JinjaValue::UNDEFINED
        };
        let value = if own.is_undefined() {
            args.engine_value(value)?
        } else {
            own
        };
        Ok(JinjaValue::from(Tuple::from([key, value])))
    };
    pairs.into_iter().map(tuple).collect::<Result<_>>()
}

/// Returns the sorted groups. Each group holds the common value and the items, by position and by name.
fn groupby(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let attribute = args.text("attribute")?.unwrap_or_default();
    let default = args.get("default")?;
    let case_sensitive = args.flag("case_sensitive", false)?;
    let mut indices: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(JinjaValue, Value, List)> = Vec::new();
    for item in args.subject_list()? {
        let value = match get_attribute_path(&item, &attribute) {
            Value::Null => default.clone().unwrap_or_default(),
            value => value,
        };
        let by = fold_case(value.clone(), case_sensitive);
        let index = *indices.entry(identity(&by)).or_insert(groups.len());
        if index == groups.len() {
            groups.push((args.engine_value(by)?, value, List::new()));
        }
        groups[index].2.push(item);
    }
    groups.sort_by(|(left, ..), (right, ..)| left.cmp(right));
    let groups = groups.into_iter().map(|(_, value, items)| {
        let (value, items) = (args.engine_value(value)?, args.engine_value(items)?);
        Ok(JinjaValue::from_object(GroupObject { value, items }))
    });
    Ok(groups.collect::<Result<Vec<_>>>()?.into())
}

/// A group of `groupby`: a pair whose parts are also named `grouper` and `list`.
#[derive(Debug)]
struct GroupObject {
    value: JinjaValue,
    items: JinjaValue,
}

impl minijinja::value::Object for GroupObject {
    fn repr(self: &Arc<Self>) -> minijinja::value::ObjectRepr {
        minijinja::value::ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &JinjaValue) -> Option<JinjaValue> {
        match (key.as_str(), key.as_usize()) {
            (Some("grouper"), _) | (_, Some(0)) => Some(self.value.clone()),
            (Some("list"), _) | (_, Some(1)) => Some(self.items.clone()),
            _ => None,
        }
    }

    fn enumerate(self: &Arc<Self>) -> minijinja::value::Enumerator {
        minijinja::value::Enumerator::Seq(2)
    }
}

fn sum(args: &FilterArguments<'_>) -> Result<JinjaValue> {
    let mut items = args.subject_list()?;
    if let Some(attribute) = args.text("attribute")? {
        items = items
            .iter()
            .map(|item| get_attribute_path(item, &attribute))
            .collect();
    }
    let start = args.get("start")?.unwrap_or(Value::Int(0));
    if let Value::List(start) = start {
        let mut all = start.to_vec();
        for item in items {
            all.extend(args.list(&item)?);
            limits::check_item_count(all.len())?;
        }
        return args.engine_value(all);
    }
    let whole = |value: &Value| match value {
        Value::Bool(truth) => Some(i128::from(*truth)),
        Value::Int(int) => Some((*int).into()),
        Value::Big(digits) => digits.parse().ok(),
        _ => None,
    };
    let all = || std::iter::once(&start).chain(&items);
    let total = all()
        .map(whole)
        .try_fold(0_i128, |sum, next| sum.checked_add(next?));
    if let Some(total) = total {
        return match i64::try_from(total) {
            Ok(total) => Ok(total.into()),
            Err(_) => args.engine_value(Value::Big(total.to_string().into())),
        };
    }
    let mut total = 0.0;
    for item in all() {
        total += super::percent_format::float(item)
            .ok_or_else(|| filter_error(format!("`sum`: {} is not a number", item.kind())))?;
    }
    Ok(total.into())
}
