//! Schedules as data: due times, policies, the log of runs and the decisions who is notified. Nothing here reads a
//! clock, a file or a host: the caller passes times and performs the actions.

mod cron_fields;
mod cron_line;
mod crontab;
mod due;
mod duration;
mod keys;
mod log;
mod metrics;
mod notice;
mod report;
mod row;
mod scheduler;
mod sections;
mod select;
mod silence;
mod spec;
mod spec_reader;
mod systemd;
mod wake_times;

pub use crontab::{MAX_CRON_COMMAND, crontab_block, has_zone_line, longest_command, with_block};
pub use due::start_of;
pub use keys::SCHEDULE_KEYS;
pub use log::{Entry, ScheduleLog};
pub use metrics::{AnswerMetrics, MetricsSnapshot, ScheduleMetrics, SharedMetrics};
pub use notice::{
    EnsembleReport, MailMessage, MailTarget, Notice, NoticeTarget, NoticedRun, NotifiedState,
    NotifyRule, Occasion, RunOutcome, SecretSource, SilenceReport, Webhook, after_run, in_silence,
    is_due, next_attempt, secret_spans,
};
pub use report::{EnsembleOutcome, EnsembleResult, RunReport, outcome_of};
pub use row::{CUT_LINE_END, Claim, Outcome, Row, RunEnd};
pub use scheduler::{Look, MISSED_REASON, Step, first_row, set_paused, step};
pub use sections::{ScheduleSection, schedule_sections};
pub use select::{Candidate, select};
pub use silence::silence_of;
pub use spec::{Missed, Overlap, ScheduleAction, ScheduleSpec};
pub use spec_reader::Schedules;
pub use systemd::{InstallPaths, SystemdUnits, unit_mark};
