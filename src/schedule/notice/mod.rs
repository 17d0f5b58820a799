//! Notices: who is notified of what, and when. The decisions are pure: they compare the answers of a run with the
//! problems that a target already knows.

mod decision;
mod identity;
mod keys;
mod mail;
mod notice;
mod parts;
mod reader;
mod report;
mod retry;
mod rule;
mod secret_spans;
mod silence;
mod state;

pub use decision::after_run;
pub use keys::NOTIFY_KEYS;
pub use mail::MailMessage;
pub use notice::Notice;
pub use reader::read_notify;
pub use report::{EnsembleReport, NoticedRun, RunOutcome};
pub use retry::{is_due, next_attempt};
pub use rule::{MailTarget, NoticeTarget, NotifyRule, Occasion, SecretSource, Webhook};
pub use secret_spans::secret_spans;
pub use silence::{SilenceReport, in_silence};
pub use state::NotifiedState;
