//! A finding: a single difference between model, record and reality, with its kind, cause and history.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::on_drift::OnDrift;
use crate::name::{EnumWords, InstanceName};
use crate::value::hex;

/// The kind of a finding: which side moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriftKind {
    /// The world changed since the last job.
    Outside,
    /// The model changed, and no job has applied the change yet.
    Pending,
    /// Something exists that the model does not have, or that no job created.
    Unmanaged,
    /// The state is not known: the operation has no check, the check failed, or the machine is away.
    CannotTell,
}

impl EnumWords for DriftKind {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Outside,
            "outside",
            "The world changed since the last job",
        ),
        (
            Self::Pending,
            "pending",
            "The model changed, and no job has applied the change yet",
        ),
        (
            Self::Unmanaged,
            "unmanaged",
            "Something exists that the model does not have",
        ),
        (
            Self::CannotTell,
            "cannot-tell",
            "Nothing could determine the state",
        ),
    ];
}

/// The stable id of a finding: 12 hexadecimal digits of its place, which never depend on values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FindingId(pub Arc<str>);

impl FindingId {
    /// Returns true if a word has the form of an id, or of its first 4 digits or more.
    pub fn is_written_as(word: &str) -> bool {
        let is_hex = word.chars().all(|digit| digit.is_ascii_hexdigit());
        is_hex && (4..=12).contains(&word.len())
    }
}

impl Display for FindingId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The thing that a finding is about. Findings of an ensemble have an instance; findings of hosts without an ensemble
/// have a host alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    pub instance: Option<InstanceName>,
    /// The machine that was asked, if the finding is about a machine other than this one.
    pub host: Option<Arc<str>>,
    /// The attribute, the path of the file, or the state as `ID (file.managed)`. `status` stands for the instance as a
    /// whole.
    pub attribute: Arc<str>,
}

/// The two sides of a finding as texts. Secrets are masked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The value that the record or the model has. None if there is none.
    pub from: Option<Arc<str>>,
    /// The value that was found. None if there is none.
    pub to: Option<Arc<str>>,
    /// The difference of a file or of a long text, as lines that begin with ` `, `+` or `-`. The lines with `-` are those
    /// that were found; the lines with `+` are those that a repair writes.
    pub lines: Option<Arc<str>>,
}

/// The job that last set a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastSet {
    /// The id of the job.
    pub job: Arc<str>,
    /// The id of the task.
    pub task: Option<Arc<str>>,
    /// The abbreviated id of the commit that has the record of the job.
    pub commit: Option<Arc<str>>,
    /// The author of the commit.
    pub person: Option<Arc<str>>,
    pub time: Option<Timestamp>,
}

/// How often a finding was seen with the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sightings {
    /// The time of the first sighting.
    pub since: Timestamp,
    /// The time of the last sighting.
    pub seen: Timestamp,
    /// The number of sightings, at least 1.
    pub count: u32,
}

/// The ignore rule that keeps a finding from the alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedRule {
    /// The end of the rule. None if it has no end.
    pub until: Option<Arc<str>>,
    /// The reason, for people.
    pub reason: Arc<str>,
}

/// A difference between model, record and reality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub subject: Subject,
    pub kind: DriftKind,
    pub difference: Difference,
    /// Details for people: the reason why nothing could be determined, or the change of the model.
    pub reason: Option<Arc<str>>,
    /// The failed job after which the difference appeared: "left by job X".
    pub left_by: Option<Arc<str>>,
    /// The place in the model: `file:line:column`.
    pub place: Option<Arc<str>>,
    /// The job that last set the value, if the record knows it.
    pub last_set: Option<LastSet>,
    /// The history of the finding. None if it was not recorded yet.
    pub sightings: Option<Sightings>,
    /// The ignore rule that keeps the finding from the alarm, as the rule reads.
    pub ignored_by: Option<Arc<str>>,
    /// The end and the reason of that rule. None also if only the record knows the rule.
    pub rule: Option<AppliedRule>,
    /// The reaction that the policies demand for drift of the instance.
    pub on_drift: OnDrift,
}

impl Finding {
    pub fn new(subject: Subject, kind: DriftKind, difference: Difference) -> Self {
        Self {
            subject,
            kind,
            difference,
            reason: None,
            left_by: None,
            place: None,
            last_set: None,
            sightings: None,
            ignored_by: None,
            rule: None,
            on_drift: OnDrift::Report,
        }
    }

    /// Returns the id, which is the same in each answer as long as the subject is the same.
    pub fn id(&self) -> FindingId {
        let Subject {
            instance,
            host,
            attribute,
        } = &self.subject;
        let instance = instance.as_ref().map_or("", InstanceName::as_str);
        let host = host.as_deref().unwrap_or_default();
        FindingId(short_digest(&[instance, host, attribute]))
    }

    /// Returns the digest of the cause: findings of several hosts or ensembles with the same attribute, sides and kind
    /// have the same cause.
    pub fn cause(&self) -> Arc<str> {
        let Difference { from, to, lines } = &self.difference;
        let text = |text: &Option<Arc<str>>| text.as_deref().map(str::to_owned).unwrap_or_default();
        short_digest(&[
            self.kind.as_str(),
            &self.subject.attribute,
            &text(from),
            &text(to),
            &text(lines),
        ])
    }

    /// Returns true if the finding raises the alarm: something drifted from outside, and no rule ignores it.
    pub fn is_alarm(&self) -> bool {
        self.kind == DriftKind::Outside && self.ignored_by.is_none()
    }
}

/// Returns 12 hexadecimal digits of the digest of a text.
pub(super) fn text_digest(text: &str) -> Arc<str> {
    short_digest(&[text])
}

/// Returns 12 hexadecimal digits of the digest of several texts.
fn short_digest(parts: &[&str]) -> Arc<str> {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part.as_bytes());
    }
    let bytes = digest.finalize();
    hex(&bytes[..6]).into()
}
