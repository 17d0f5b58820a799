//! The limits of size and time: sets them for the process, and ends a process in which one step of an
//! evaluation does not end.

use super::args::global::Global;
use crate::expr::EvaluationWatch;
use crate::ops::FailureKind;
use crate::system::clock::CPU_CLOCK;
use crate::system::console::{self, StandardStream};
use crate::system::signals::end_process;
use crate::value::limits::{ResourceLimits, set_limits};

/// Sets the limits of this process, and starts to watch evaluations.
pub(super) fn apply(global: &Global) {
    set_limits(ResourceLimits {
        text: global.max_text,
        value: global.max_value,
        evaluation: global.eval_timeout,
        clock: CPU_CLOCK,
    });
    let thread = std::thread::Builder::new().name("limits".to_owned());
    // Without the thread, checks between the steps of an evaluation still keep the limit.
    drop(thread.spawn(watch));
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
