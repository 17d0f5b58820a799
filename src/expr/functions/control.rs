//! The functions `foreach`, `q`, `template`, `validate_json` and `lookup`.

use std::path::PathBuf;

use crate::expr::error::Error;
use crate::expr::lazy::LazyValue;
use crate::expr::lookup_options::LookupOptions;
use crate::value::Value;

use super::call::FunctionCall;
use super::schema;

pub(super) fn foreach(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let current = &call.scene.current;
    let items = match current {
        LazyValue::Value(value) if value.as_map().is_some() => {
            let marks = value.own_marks();
            let map = value.marked_entries().into_iter().flatten();
            map.map(|(key, item)| (Value::Str(key).marked(marks), LazyValue::Value(item)))
                .collect()
        }
        item => match call.evaluator.values(item)? {
            Some(items) => (0i64..).map(Value::Int).zip(items).collect(),
            None => vec![(Value::Int(0), item.clone())],
        },
    };
    let results = call.evaluator.for_each_keyed(call.raw, items, call.scene)?;
    Ok(LazyValue::Value(call.evaluator.values_of(results)?.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "all functions have the same type")]
pub(super) fn quote(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    Ok(LazyValue::Value(call.raw.clone()))
}

pub(super) fn template(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let overrides = call.option("overrides")?;
    if call.has_data() {
        return Err(call.fail("takes no `overrides` from the output of a command"));
    }
    let open = |text: &str| TemplateText {
        text: text.to_owned(),
        is_secret: false,
    };
    let TemplateText {
        mut text,
        is_secret,
    } = match call.raw {
        Value::Str(text) => open(text),
        raw => match call.evaluate_marked(raw)? {
            // Data is not a template: the result is the text itself.
            data if data.has_data() => return Ok(LazyValue::Value(data)),
            Value::Str(text) => open(&text),
            other => from_path(call, &other)?,
        },
    };
    if let Some(overrides) = overrides.as_ref().and_then(Value::as_map) {
        let pairs: Vec<_> = overrides
            .iter()
            .map(|(key, value)| format!("{key}: {value:?}"))
            .collect();
        text = format!("#jinja2: {}\n{text}", pairs.join(", "));
    }
    let rendered = call.evaluator.template(&text, call.scene)?;
    Ok(LazyValue::Value(rendered.sensitive_if(is_secret)))
}

/// The text of a template.
struct TemplateText {
    text: String,
    /// True if the file with the text is encrypted.
    is_secret: bool,
}

fn from_path(call: &FunctionCall<'_>, source: &Value) -> Result<TemplateText, Error> {
    let Some(path) = source
        .get("path")
        .map(|path| PathBuf::from(path.reveal().to_string()))
    else {
        return Err(call.fail(format!("takes a text or a `path`, not {}", source.kind())));
    };
    let path = if path.is_absolute() {
        path
    } else {
        super::files::named_directory(call.evaluator, call.scene, Some("src"), false)?.join(path)
    };
    let content = call
        .evaluator
        .read_file(&path)
        .map_err(|error| call.fail(format!("cannot read `{}`: {error}", path.display())))?;
    call.evaluator.record_file_read(&path);
    Ok(TemplateText {
        text: String::from_utf8_lossy(&content.bytes).into_owned(),
        is_secret: content.is_secret,
    })
}

pub(super) fn validate_json(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let (value, schema) = call.two_values()?;
    let valid = schema::is_valid(&value, &schema, 0).map_err(|problem| call.fail(problem))?;
    Ok(LazyValue::Value(valid.into()))
}

pub(super) fn lookup(call: &FunctionCall<'_>) -> Result<LazyValue, Error> {
    let mut options = call
        .evaluate_marked(call.raw)?
        .marked_entries()
        .unwrap_or_default();
    let Some((name, args)) = options.shift_remove_index(0) else {
        return Err(call.fail("takes a map with the name of a lookup"));
    };
    let args = args.marked_items().unwrap_or_else(|| vec![args]);
    let options = LookupOptions(options);
    let results = call.evaluator.lookup(&name, &args, &options, call.scene)?;
    Ok(LazyValue::Value(match results.len() {
        0 => Value::Null,
        1 => results.into_iter().next().unwrap_or_default(),
        _ => results.into(),
    }))
}
