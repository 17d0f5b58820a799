//! The output of the tool: a JSON object on each line.

use serde_json::Value as Json;

use crate::task::RunProgress;
use crate::value::{Map, REDACTED, Value};

/// The maximum number of lines that are kept for messages.
const MAX_LAST_LINES: usize = 5;
/// The warning about the option for the state, which this program uses on purpose.
const STATE_OPTION: &str = "Deprecated flag: -state";

/// A problem that the tool reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToolDiagnostic {
    pub(super) is_error: bool,
    pub(super) summary: String,
    pub(super) detail: String,
    /// The address of the resource, if the problem is that of one.
    pub(super) address: Option<String>,
    /// The file and the line.
    pub(super) place: Option<String>,
}

impl ToolDiagnostic {
    fn of(line: &Json) -> Option<Self> {
        let body = line.get("diagnostic")?;
        let text = |key: &str| body.get(key).and_then(Json::as_str).map(str::trim);
        let range = body.get("range");
        let file = range.and_then(|range| range["filename"].as_str());
        let number = range.and_then(|range| range["start"]["line"].as_u64());
        Some(Self {
            is_error: text("severity") == Some("error"),
            summary: text("summary").unwrap_or_default().to_owned(),
            detail: text("detail").unwrap_or_default().to_owned(),
            address: text("address")
                .filter(|it| !it.is_empty())
                .map(str::to_owned),
            place: file.map(|file| match number {
                Some(number) => format!("{file}:{number}"),
                None => file.to_owned(),
            }),
        })
    }

    /// Returns the problem as one text: the resource, the tool's words, and the place.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(address) = &self.address {
            text.push_str(address);
            text.push_str(": ");
        }
        text.push_str(&self.summary);
        if !self.detail.is_empty() && self.detail != self.summary {
            text.push_str(": ");
            text.push_str(&self.detail.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        if let Some(place) = &self.place {
            text.push_str(&format!(" ({place})"));
        }
        text
    }
}

/// A change of one resource, planned or done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ResourceAction {
    pub(super) address: String,
    pub(super) action: String,
    /// The identity that the provider gave to the resource.
    pub(super) id: Option<String>,
}

impl ResourceAction {
    fn of(body: &Json) -> Option<Self> {
        Some(Self {
            address: body["resource"]["addr"].as_str()?.to_owned(),
            action: body["action"].as_str().unwrap_or_default().to_owned(),
            id: body["id_value"].as_str().map(str::to_owned),
        })
    }
}

/// The number of resources to add, change and remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ChangeCounts {
    pub(super) add: u64,
    pub(super) change: u64,
    pub(super) remove: u64,
}

impl ChangeCounts {
    fn of(body: &Json) -> Self {
        let count = |key: &str| body[key].as_u64().unwrap_or_default();
        Self {
            add: count("add") + count("import"),
            change: count("change"),
            remove: count("remove"),
        }
    }

    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// The output of the tool, read line by line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToolOutput {
    /// The version of the tool, as its first line says.
    pub(super) version: Option<String>,
    pub(super) diagnostics: Vec<ToolDiagnostic>,
    /// The changes that are planned.
    pub(super) planned: Vec<ResourceAction>,
    /// The changes that others have made since the last job.
    pub(super) drifted: Vec<ResourceAction>,
    /// The resources whose change has begun.
    pub(super) started: Vec<ResourceAction>,
    /// The resources whose change is complete.
    pub(super) completed: Vec<ResourceAction>,
    /// The counts of the plan.
    pub(super) plan_counts: Option<ChangeCounts>,
    /// The counts of what was done.
    pub(super) done_counts: Option<ChangeCounts>,
    /// The outputs that are not sensitive.
    pub(super) outputs: Map,
    /// The messages for people, one a line.
    pub(super) messages: Vec<String>,
    /// The last lines that are no JSON.
    pub(super) other_lines: Vec<String>,
}

impl ToolOutput {
    /// Reads the lines of an output.
    pub(super) fn read(text: &str) -> Self {
        let mut output = Self::default();
        for line in text.lines() {
            output.add_line(line);
        }
        output
    }

    /// Reads one line.
    pub(super) fn add_line(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let parsed: Option<Json> = serde_json::from_str(line).ok();
        let Some(parsed) = parsed.filter(|json| json.get("@level").is_some()) else {
            if self.other_lines.len() >= MAX_LAST_LINES {
                self.other_lines.remove(0);
            }
            self.other_lines.push(line.to_owned());
            return;
        };
        self.add(&parsed);
    }

    fn add(&mut self, line: &Json) {
        let diagnostic = ToolDiagnostic::of(line);
        if diagnostic
            .as_ref()
            .is_some_and(|it| it.summary == STATE_OPTION)
        {
            return;
        }
        if let Some(message) = line["@message"].as_str() {
            self.messages.push(message.to_owned());
        }
        let hook = || ResourceAction::of(&line["hook"]);
        let change = || ResourceAction::of(&line["change"]);
        match line["type"].as_str().unwrap_or_default() {
            "version" => {
                let version = line.get("terraform").or_else(|| line.get("tofu"));
                self.version = version.and_then(Json::as_str).map(str::to_owned);
            }
            "diagnostic" => self.diagnostics.extend(diagnostic),
            "planned_change" => self.planned.extend(change()),
            "resource_drift" => self.drifted.extend(change()),
            "outputs" => self.add_outputs(&line["outputs"]),
            "apply_start" => self.started.extend(hook()),
            "apply_complete" => self.completed.extend(hook()),
            "change_summary" => {
                let counts = ChangeCounts::of(&line["changes"]);
                if line["changes"]["operation"].as_str() == Some("plan") {
                    self.plan_counts = Some(counts);
                } else {
                    self.done_counts = Some(counts);
                }
            }
            _ => {}
        }
    }

    fn add_outputs(&mut self, outputs: &Json) {
        for (name, output) in outputs.as_object().into_iter().flatten() {
            if let Some(value) = output.get("value") {
                self.outputs
                    .insert(name.as_str().into(), Value::from(value.clone()));
            }
        }
    }

    /// Returns the errors that the tool reports.
    pub(super) fn errors(&self) -> impl Iterator<Item = &ToolDiagnostic> {
        self.diagnostics.iter().filter(|it| it.is_error)
    }

    /// Returns true if the tool says that the folder has to be initialised.
    pub(super) fn needs_init(&self) -> bool {
        let asks = |text: &str| {
            let words = [
                "terraform init",
                "tofu init",
                "Backend initialization required",
            ];
            words.iter().any(|words| text.contains(words))
        };
        let mut errors = self.errors();
        errors.any(|error| asks(&error.detail) || asks(&error.summary))
            || self.other_lines.iter().any(|line| asks(line))
    }

    /// Returns true if the tool refused a saved plan before it changed anything: the state was changed since, or the plan
    /// lacks values that are never saved.
    pub(super) fn refuses_plan(&self) -> bool {
        let is_about_plan = |error: &ToolDiagnostic| {
            let summary = error.summary.to_lowercase();
            summary.contains("plan") || summary.contains("variable")
        };
        self.started.is_empty() && self.errors().any(is_about_plan)
    }

    /// Returns true if the tool printed what it prints in the form of JSON.
    pub(super) fn is_understood(&self) -> bool {
        self.version.is_some() || !self.messages.is_empty()
    }
}

/// Returns the progress that a line reports. Only a finished change of a resource must not be forgotten.
pub(super) fn progress_of(line: &str) -> Option<RunProgress> {
    let line: Json = serde_json::from_str(line.trim()).ok()?;
    let message = line["@message"].as_str()?.to_owned();
    let (is_detail, is_durable) = match line["type"].as_str()? {
        "apply_complete" => (false, true),
        "apply_start" | "apply_errored" => (false, false),
        "apply_progress" | "provision_start" | "refresh_start" => (true, false),
        _ => return None,
    };
    Some(RunProgress {
        message,
        is_detail,
        is_durable,
    })
}

/// The words with which the tool says that a change is complete, and the name of the change.
const COMPLETE: [(&str, &str); 4] = [
    (": Creation complete after ", "create"),
    (": Modifications complete after ", "update"),
    (": Import complete ", "import"),
    (": Destruction complete after ", "delete"),
];

/// Returns the finished change of a resource that a message for people reports.
pub(super) fn completed_of(message: &str) -> Option<ResourceAction> {
    let (place, action) = COMPLETE
        .iter()
        .find_map(|(words, action)| Some((message.rfind(words)?, *action)))?;
    let id = message[place..].split_once("[id=");
    let id = id.and_then(|(_, id)| id.trim_end().strip_suffix(']'));
    Some(ResourceAction {
        address: message[..place].to_owned(),
        action: action.to_owned(),
        id: id.filter(|id| !id.contains(REDACTED)).map(str::to_owned),
    })
}
