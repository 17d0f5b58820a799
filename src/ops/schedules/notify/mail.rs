//! The mail of a notice.

use super::entry::QueuedNotice;
use crate::schedule::{MailMessage, MailTarget};
use crate::system::{machine, user};

/// Returns the mail for `sendmail -t -i`.
pub(super) fn message(notice: &QueuedNotice, target: &MailTarget) -> String {
    let host = machine::hostname();
    let own = format!("{}@{host}", user::name());
    let subject = format!("[unfurl] {}", notice.title);
    MailMessage {
        from: target.from.as_deref().unwrap_or(&own),
        to: &target.to,
        subject: &subject,
        text: &notice.text,
        at: notice.created(),
        id: &notice.id,
        host: &host,
    }
    .format()
}
