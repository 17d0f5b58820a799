//! The limits of size and time, and what counts as an ordinary text: sets them for the process, and ends a process in which one step of an
//! evaluation does not end.

use std::path::Path;

use super::args::global::Global;
use crate::expr::EvaluationWatch;
use crate::ops::FailureKind;
use crate::system::clock::CPU_CLOCK;
use crate::system::console::{self, StandardStream};
use crate::system::signals::end_process;
use crate::system::{fs, machine};
use crate::value::limits::{ResourceLimits, set_limits};
use crate::value::set_existing_names;

/// Sets the limits of this process, and starts to watch evaluations.
pub(super) fn apply(global: &Global) {
    set_limits(ResourceLimits {
        text: global.max_text,
        value: global.max_value,
        evaluation: global.eval_timeout,
        clock: CPU_CLOCK,
    });
    set_existing_names(is_existing_name);
    let thread = std::thread::Builder::new().name("limits".to_owned());
    // Without the thread, checks between the steps of an evaluation still keep the limit.
    drop(thread.spawn(watch));
}

/// Returns true if a text is an absolute path that exists, or the name of this machine.
fn is_existing_name(text: &str) -> bool {
    if text.starts_with('/') {
        return fs::exists(Path::new(text));
    }
    text.eq_ignore_ascii_case(&machine::hostname())
}

/// Ends the process as soon as an evaluation hangs.
fn watch() {
    let mut evaluations = EvaluationWatch::default();
    loop {
        std::thread::sleep(EvaluationWatch::interval());
        if let Some(problem) = evaluations.overdue() {
            let text = format!("error: {problem}\n");
            console::write(StandardStream::Stderr, &text).ok();
            end_process(i32::from(FailureKind::Load.exit_code()));
        }
    }
}
