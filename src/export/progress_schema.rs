//! The JSON Schema of a line of `--progress json`.

use serde_json::{Map, Value as Json, json};

/// Returns the keys of the schema: one alternative for each event.
pub(super) fn progress_schema() -> Map<String, Json> {
    let levels = json!({ "enum": ["debug", "verbose", "info", "warning", "error"] });
    let statuses = json!({ "enum": ["unknown", "pending", "ok", "degraded", "error", "absent"] });
    let output = vec![
        ("task", number()),
        ("stream", json!({ "enum": ["stdout", "stderr"] })),
        ("text", text()),
    ];
    let remaining = vec![("remaining", seconds())];
    let message = vec![("level", levels), ("text", text())];
    let problem = vec![("problem", json!({ "$ref": "#/$defs/problem" }))];
    let job_finished = vec![("status", statuses)];
    let events = [
        (
            "job-started",
            "The job begins to run its tasks",
            job_started(),
        ),
        ("task-started", "A task begins to run", task_started()),
        (
            "output",
            "A command of a task has written whole lines",
            output,
        ),
        (
            "task-finished",
            "A task has ended, or cannot run",
            task_finished(),
        ),
        (
            "remaining",
            "An estimate of the time to the end of the job",
            remaining,
        ),
        ("message", "Any other text of the program", message),
        (
            "problem",
            "A diagnostic, in the form of `--output json`",
            problem,
        ),
        ("job-finished", "All tasks have ended", job_finished),
    ];
    let events = events
        .into_iter()
        .map(|(name, about, fields)| event(name, about, fields));
    let about = "A line of the error output with `--progress json`";
    let keys = [
        ("description", about.into()),
        ("type", "object".into()),
        ("oneOf", events.collect()),
        ("$defs", definitions()),
    ];
    keys.map(|(key, schema)| (key.to_owned(), schema))
        .into_iter()
        .collect()
}

fn text() -> Json {
    json!({ "type": "string" })
}

fn number() -> Json {
    json!({ "type": "integer", "minimum": 1 })
}

fn seconds() -> Json {
    json!({ "type": "number", "minimum": 0, "description": "In seconds" })
}

/// Returns the fields that name a task.
fn task() -> Vec<(&'static str, Json)> {
    vec![
        ("task", number()),
        ("instance", text()),
        ("operation", text()),
    ]
}

fn job_started() -> Vec<(&'static str, Json)> {
    vec![
        ("id", text()),
        ("workflow", text()),
        ("tasks", json!({ "type": "integer", "minimum": 0 })),
    ]
}

fn task_started() -> Vec<(&'static str, Json)> {
    let usual = json!({
        "type": ["number", "null"],
        "minimum": 0,
        "description": "The median time of the last 5 successful runs, in seconds",
    });
    let mut fields = task();
    fields.push(("usual", usual));
    fields
}

fn task_finished() -> Vec<(&'static str, Json)> {
    let place = json!({ "anyOf": [{ "$ref": "#/$defs/place" }, { "type": "null" }] });
    let mut fields = task();
    fields.extend([
        (
            "end",
            json!({ "enum": ["ok", "failed", "blocked", "skipped"] }),
        ),
        ("changed", json!({ "type": "boolean" })),
        ("elapsed", seconds()),
        ("errors", json!({ "type": "array", "items": text() })),
        ("place", place),
    ]);
    fields
}

/// Returns the schema of an event. All of its fields are there, and no others.
fn event(name: &str, about: &str, fields: Vec<(&str, Json)>) -> Json {
    let time = json!({ "type": "string", "format": "date-time", "description": "In UTC" });
    let head = [("event", json!({ "const": name })), ("time", time)];
    let all: Map<String, Json> = head
        .into_iter()
        .chain(fields)
        .map(|(key, schema)| (key.to_owned(), schema))
        .collect();
    let required: Vec<&String> = all.keys().collect();
    json!({
        "title": name,
        "description": about,
        "required": required,
        "properties": all,
        "additionalProperties": false,
    })
}

fn definitions() -> Json {
    let place = json!({
        "file": { "type": "string" },
        "line": { "type": "integer", "minimum": 1 },
        "column": { "type": "integer", "minimum": 1 },
    });
    let mut label = place.clone();
    label["text"] = json!({ "type": "string" });
    json!({
        "place": {
            "description": "A place in a file of the project",
            "type": "object",
            "required": ["file", "line", "column"],
            "properties": place,
        },
        "problem": {
            "type": "object",
            "required": ["severity", "message"],
            "properties": {
                "severity": { "enum": ["error", "warning", "note"] },
                "message": { "type": "string" },
                "labels": { "type": "array", "items": { "type": "object", "properties": label } },
                "includedFrom": { "type": "array", "items": { "$ref": "#/$defs/place" } },
                "help": { "type": ["string", "null"] },
            },
        },
    })
}
