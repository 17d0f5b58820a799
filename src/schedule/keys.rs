//! The keys of a schedule in `unfurl.yaml`.

use super::notice::NOTIFY_KEYS;
use crate::yaml::{Shape, tables};

use Shape::{ListOf, Names, Scalar, Text, Words};

tables! {
    pub SCHEDULE_KEYS closed "schedule" "A schedule: an action that `unfurl serve`, cron or systemd runs at set times"
        needs ["action"] {
        "action" Words(ACTION_WORDS), "The command to run";
        "cron" Text, "The due times as the five fields of a cron line, such as `15 6 * * mon-fri`";
        "timezone" Text, "The time zone of the cron line, such as `Europe/Berlin`; the default is UTC";
        "every" Scalar, "The time between two due times, such as `15m`";
        "jitter" Scalar, "The longest delay of a start; the delay differs from due time to due time";
        "ensembles" Names, "The ensembles by name, path or glob; the default is all ensembles of the project";
        "environment" Text, "The environment; the default is that of the ensemble";
        "hosts" Names, "The hosts for `drift`, `task` and `state test`, as for the option `--hosts`";
        "task" Text, "The name of the task, for `action: task`";
        "states" Names, "The states for `action: state test`";
        "overlap" Words(OVERLAP_WORDS),
            "Skip due times while a run continues, which is the default, or run the last of them after it";
        "missed" Words(MISSED_WORDS),
            "Skip due times that passed while nothing ran, which is the default, or run the last of them and restart runs that were cut off";
        "time_limit" Scalar, "The longest time of a run over all its ensembles; the default is `1h`";
        "at_most" Scalar, "The number of ensembles per run; those that were unchecked longest come first, and locked ones do not count";
        "unless_deployed_within" Scalar, "Leave out ensembles that were deployed within this time";
        "notify" ListOf(&NOTIFY_KEYS), "The places to notify, and the occasions";
    }
}

/// The values of `action`.
pub(super) const ACTION_WORDS: &[&str] = &["drift", "check", "deploy", "task", "state test"];
/// The values of `overlap`.
pub(super) const OVERLAP_WORDS: &[&str] = &["skip", "wait"];
/// The values of `missed`.
pub(super) const MISSED_WORDS: &[&str] = &["skip", "run"];
