//! Delivers notices: each waits in a folder on disk until its target has taken it.

mod courier;
mod delivery;
mod delivery_error;
mod desk;
mod entry;
mod mail;
mod notice_log;
mod outbox;
mod pass;
mod program;
mod project_desk;
mod reported_run;
mod secret_access;
mod signature;
mod webhook;

pub(super) use courier::{Courier, CourierObserver};
pub use delivery::{DeliveryEvent, DeliveryOutcome};
pub(super) use desk::NoticeDesk;
pub use notice_log::FailedDelivery;
pub(super) use notice_log::failed_deliveries;
pub(super) use pass::{DeliveryTime, PassResult, deliver_within};
pub(super) use project_desk::desk_of;
pub(super) use reported_run::{missed_run, noticed_run};
