//! An entry of `notify`: a target, and the occasions on which a notice is sent to that target.

use std::fmt::{Debug, Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::drift::DriftKind;
use crate::name::EnumWords;

/// An occasion for a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Occasion {
    /// Findings are new, changed or gone, or the ignore rule of a finding has ended.
    Change,
    /// A run failed or was cut off, or something could not be determined.
    Failure,
    /// All is clean or works again.
    Recovery,
    /// Nothing has looked for several intervals.
    Silence,
}

impl EnumWords for Occasion {
    const WORDS: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::Change,
            "change",
            "Findings are new, changed or gone, or an ignore rule has ended",
        ),
        (
            Self::Failure,
            "failure",
            "A run failed or was cut off, or something could not be determined",
        ),
        (Self::Recovery, "recovery", "All is clean or works again"),
        (
            Self::Silence,
            "silence",
            "Nothing has looked for several intervals",
        ),
    ];
}

/// An entry of `notify`.
#[derive(Debug, Clone)]
pub struct NotifyRule {
    /// The digest of the settings. Files name the rule by this id, so that changed settings are a new rule.
    pub id: Arc<str>,
    pub occasions: Vec<Occasion>,
    /// The kinds of findings that are changes for this target.
    pub kinds: Vec<DriftKind>,
    /// The number of sightings in a row after which a problem is notified.
    pub after: u32,
    /// The number of due times without an answer after which silence is notified.
    pub silence: u32,
    /// The longest time of an attempt to deliver.
    pub time_limit: Duration,
    pub target: NoticeTarget,
}

/// The receiver of notices.
#[derive(Debug, Clone)]
pub enum NoticeTarget {
    /// A program that gets the notice as JSON on its standard input.
    Command(Vec<Arc<str>>),
    Webhook(Webhook),
    Mail(MailTarget),
}

/// A URL to which notices are posted as JSON.
#[derive(Debug, Clone)]
pub struct Webhook {
    pub url: Arc<str>,
    /// The source of the key that signs each request. None sends no signature.
    pub secret: Option<SecretSource>,
}

/// The place of the key of a webhook.
#[derive(Clone)]
pub enum SecretSource {
    /// A variable of this process.
    Variable(Arc<str>),
    /// A file, relative to the project.
    File(Arc<str>),
    /// A secret backend of the environment.
    Backend {
        from: Option<Arc<str>>,
        name: Arc<str>,
        field: Option<Arc<str>>,
    },
    /// The value itself, which is encrypted in the file or stands there in clear.
    Inline(Zeroizing<String>),
}

impl Debug for SecretSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

/// Names the place, never the value.
impl Display for SecretSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::File(path) => write!(f, "the file `{path}`"),
            Self::Backend {
                from: Some(from),
                name,
                ..
            } => write!(f, "`{name}` of the secret backend `{from}`"),
            Self::Backend { name, .. } => write!(f, "`{name}` of the secret backend"),
            Self::Inline(_) => f.write_str("the value in the settings"),
        }
    }
}

/// The receivers of mails, and the program that sends them.
#[derive(Debug, Clone)]
pub struct MailTarget {
    pub to: Vec<Arc<str>>,
    /// The sender; None is the user of this process at this machine.
    pub from: Option<Arc<str>>,
    /// The path of the program `sendmail`.
    pub sendmail: Arc<str>,
}

impl NotifyRule {
    /// Returns true if notices of this occasion are sent to the target.
    pub fn is_on(&self, occasion: Occasion) -> bool {
        self.occasions.contains(&occasion)
    }
}

/// Names the target for people: the program, the host of the URL, or the receivers. A URL may contain a secret in its
/// path, so only its host is shown.
impl Display for NoticeTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Command(words) => {
                let program = words.first().map_or("", |word| &**word);
                write!(f, "command `{program}`")
            }
            Self::Webhook(webhook) => write!(f, "webhook at `{}`", webhook.host()),
            Self::Mail(mail) => write!(f, "mail to {}", mail.to.join(", ")),
        }
    }
}

impl Webhook {
    /// Returns the host and port of the URL.
    pub fn host(&self) -> &str {
        let after_scheme = self.url.split_once("://").map_or(&*self.url, |it| it.1);
        after_scheme
            .split(['/', '?', '#'])
            .next()
            .unwrap_or_default()
    }
}
