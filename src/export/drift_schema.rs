//! The JSON Schema of `unfurl drift --output json`.

use serde_json::{Map, Value as Json, json};

/// Returns the keys of the schema: the answers, or the record of `--log`.
pub(super) fn drift_schema() -> Map<String, Json> {
    let about = "The output of `unfurl drift --output json`, with `--log` or without";
    let keys = [
        ("description", about.into()),
        ("type", "object".into()),
        (
            "oneOf",
            json!([{ "$ref": "#/$defs/answers" }, { "$ref": "#/$defs/log" }]),
        ),
        ("$defs", definitions()),
    ];
    keys.map(|(key, schema)| (key.to_owned(), schema))
        .into_iter()
        .collect()
}

fn definitions() -> Json {
    json!({
        "answers": object("The answers about all ensembles", vec![
            ("status", status()),
            ("ensembles", list("ensemble")),
        ], &[]),
        "ensemble": ensemble(),
        "finding": finding(),
        "last_set": last_set(),
        "transitions": transitions(),
        "repair": repair(),
        "log": object("The drift records", vec![("ensembles", list("record"))], &[]),
        "record": object("The drift record of an ensemble, newest first", vec![
            ("name", text()),
            ("manifest", text()),
            ("entries", list("entry")),
            ("total", number()),
            ("problems", texts()),
        ], &[]),
        "entry": { "oneOf": [recorded_answer(), recorded_finding()] },
    })
}

/// Returns the schema of an object with these fields and no others. All but the optional ones are there.
fn object(about: &str, fields: Vec<(&str, Json)>, optional: &[&str]) -> Json {
    let names = fields.iter().map(|(name, _)| *name);
    let required: Vec<&str> = names.filter(|name| !optional.contains(name)).collect();
    let properties: Map<String, Json> = fields
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "description": about,
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn maybe_text(about: &str) -> Json {
    json!({ "type": ["string", "null"], "description": about })
}

fn texts() -> Json {
    json!({ "type": "array", "items": text() })
}

fn number() -> Json {
    json!({ "type": "integer", "minimum": 0 })
}

fn time() -> Json {
    json!({ "type": "string", "format": "date-time", "description": "In UTC" })
}

fn maybe_time() -> Json {
    json!({ "type": ["string", "null"], "format": "date-time", "description": "In UTC" })
}

fn list(of: &str) -> Json {
    json!({ "type": "array", "items": reference(of) })
}

fn reference(of: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{of}") })
}

fn maybe(schema: Json) -> Json {
    let null = json!({ "type": "null" });
    json!({ "anyOf": Json::Array(vec![schema, null]) })
}

fn status() -> Json {
    json!({ "enum": ["clean", "cannot-tell", "invalid", "drifted"] })
}

fn kind() -> Json {
    json!({
        "enum": ["outside", "pending", "unmanaged", "cannot-tell"],
        "description": "Which side moved: the world, the model, neither of them, or nobody knows",
    })
}

fn ensemble() -> Json {
    let problem = vec![
        ("kind", json!({ "enum": ["invalid", "locked"] })),
        ("message", text()),
    ];
    let problem = object("The reason why nothing was looked at", problem, &[]);
    let fields = vec![
        ("name", text()),
        ("status", status()),
        (
            "manifest",
            maybe_text("The path of the ensemble; null for hosts"),
        ),
        ("environment", maybe_text("The environment in use")),
        ("at", time()),
        ("looked_at", number()),
        ("total", number()),
        ("problem", maybe(problem)),
        ("rule_problems", texts()),
        ("findings", list("finding")),
        ("clean", texts()),
        ("transitions", maybe(reference("transitions"))),
        ("repair", reference("repair")),
    ];
    object("The answer about an ensemble", fields, &["repair"])
}

/// Returns the fields that name the subject of a finding.
fn subject() -> Vec<(&'static str, Json)> {
    vec![
        ("instance", maybe_text("The instance; null for hosts")),
        (
            "host",
            maybe_text("The machine that was asked, if it is another one"),
        ),
        ("attribute", text()),
    ]
}

/// Returns the fields that describe a difference.
fn difference() -> Vec<(&'static str, Json)> {
    vec![
        ("kind", kind()),
        ("from", maybe_text("The value of the record or the model")),
        ("to", maybe_text("The value that was found")),
        (
            "lines",
            maybe_text("The difference of a text: `-` was found, `+` is what a repair writes"),
        ),
        ("reason", maybe_text("Details for people")),
        (
            "place",
            maybe_text("The place in the model: `file:line:column`"),
        ),
        (
            "left_by",
            maybe_text("The failed job that left the difference"),
        ),
        (
            "cause",
            json!({ "type": "string", "description": "The digest of kind, attribute and both sides" }),
        ),
        ("last_set", maybe(reference("last_set"))),
    ]
}

fn finding() -> Json {
    let rule = vec![
        ("until", maybe_text("The end of the rule")),
        ("reason", text()),
    ];
    let mut fields = vec![("id", text())];
    fields.extend(subject());
    fields.extend(difference());
    fields.extend([
        ("since", maybe_time()),
        ("seen", maybe_time()),
        (
            "count",
            json!({ "type": ["integer", "null"], "minimum": 1 }),
        ),
        (
            "ignored_by",
            maybe_text("The ignore rule that keeps the finding from the alarm"),
        ),
        (
            "rule",
            maybe(object(
                "The end and the reason of the ignore rule",
                rule,
                &[],
            )),
        ),
        ("on_drift", json!({ "enum": ["report", "ask", "repair"] })),
    ]);
    object(
        "A difference between model, record and reality",
        fields,
        &[],
    )
}

fn last_set() -> Json {
    let fields = vec![
        ("job", text()),
        ("task", maybe_text("The id of the task")),
        (
            "commit",
            maybe_text("The commit that has the record of the job"),
        ),
        ("person", maybe_text("The author of the commit")),
        ("time", maybe_time()),
    ];
    object("The job that last set the value", fields, &[])
}

fn transitions() -> Json {
    let row = vec![("since", time()), ("count", number())];
    let row = object("The row of equal answers that this one continues", row, &[]);
    let fields = vec![
        ("new", texts()),
        ("changed", texts()),
        ("gone", list("finding")),
        ("unchanged", maybe(row)),
    ];
    object("The differences from the last recorded answer", fields, &[])
}

fn repair() -> Json {
    let ask = object(
        "A repair to ask about",
        vec![("instance", text()), ("command", text())],
        &[],
    );
    let fields = vec![
        (
            "result",
            json!({ "enum": ["nothing", "declined", "interrupted", "failed", "done"] }),
        ),
        ("job", maybe_text("The id of the job")),
        ("instances", texts()),
        ("pending", texts()),
        ("ask", json!({ "type": "array", "items": ask })),
    ];
    object("The repair, with `--repair`", fields, &[])
}

fn recorded_answer() -> Json {
    let fields = vec![
        ("time", time()),
        ("event", json!({ "const": "answer" })),
        ("verdict", status()),
        ("last", time()),
        ("count", json!({ "type": "integer", "minimum": 1 })),
        ("looked_at", number()),
        ("total", number()),
        (
            "environment",
            maybe_text("The environment; null for the default one"),
        ),
        ("only", maybe(texts())),
    ];
    object("A row of equal answers", fields, &[])
}

fn recorded_finding() -> Json {
    let mut fields = vec![
        ("time", time()),
        (
            "event",
            json!({ "enum": ["new", "changed", "gone", "ruled"] }),
        ),
        (
            "environment",
            maybe_text("The environment; null for the default one"),
        ),
        ("id", text()),
        ("ignored_by", maybe_text("The ignore rule")),
    ];
    fields.extend(subject());
    let difference = difference();
    let optional: Vec<&str> = difference.iter().map(|(name, _)| *name).collect();
    fields.extend(difference);
    object("A finding that came, changed or went", fields, &optional)
}
