//! Live progress of a run on a terminal.
//!
//! A [`Progress`] draws a bar and the names of running tasks. Without a terminal it does nothing.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::words;

/// The maximum number of running tasks that are named at once.
const MAX_NAMED: usize = 8;

/// A progress bar with the names of running tasks.
#[derive(Debug)]
pub struct Progress {
    /// The bars on the terminal. None without a terminal.
    bars: Option<ProgressBars>,
    running: Vec<String>,
    done: u64,
    total: u64,
}

#[derive(Debug)]
struct ProgressBars {
    all: MultiProgress,
    bar: ProgressBar,
    tasks: ProgressBar,
}

impl Progress {
    /// Creates a progress that shows nothing, for output that is not a terminal.
    pub fn silent() -> Self {
        Self {
            bars: None,
            running: Vec::new(),
            done: 0,
            total: 0,
        }
    }

    /// Creates a progress bar on the error output, which must be a terminal.
    pub fn on_stderr(total: u64) -> Self {
        Self::on(ProgressDrawTarget::stderr_with_hz(10), total)
    }

    fn on(target: ProgressDrawTarget, total: u64) -> Self {
        let all = MultiProgress::with_draw_target(target);
        let tasks = all.add(ProgressBar::new_spinner());
        tasks.set_style(style("  {msg}"));
        let bar = all.add(ProgressBar::new(total));
        bar.set_style(style("[{elapsed_precise}] {bar:30} {pos}/{len} tasks"));
        // The elapsed time advances even while a long task runs.
        bar.enable_steady_tick(Duration::from_millis(500));
        Self {
            bars: Some(ProgressBars { all, bar, tasks }),
            running: Vec::new(),
            done: 0,
            total,
        }
    }

    /// Records that a task has started.
    pub fn started(&mut self, label: &str) {
        self.running.push(words::one_line(label).into_owned());
        self.show();
    }

    /// Records that a task has ended.
    pub fn finished(&mut self, label: &str) {
        let label = words::one_line(label);
        if let Some(place) = self.running.iter().position(|name| *name == label) {
            self.running.remove(place);
        }
        self.done += 1;
        self.total = self.total.max(self.done);
        self.show();
    }

    /// Hides the progress while something else is written to the terminal.
    pub fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.bars {
            Some(screen) => screen.all.suspend(write),
            None => write(),
        }
    }

    /// Removes the progress from the terminal for good.
    pub fn clear(&mut self) {
        if let Some(screen) = self.bars.take() {
            screen.tasks.finish_and_clear();
            screen.bar.finish_and_clear();
            drop(screen.all.clear());
        }
    }

    fn show(&self) {
        let Some(screen) = &self.bars else { return };
        screen.bar.set_length(self.total);
        screen.bar.set_position(self.done);
        screen.tasks.set_message(self.line());
    }

    fn line(&self) -> String {
        let named = self.running.iter().take(MAX_NAMED).cloned();
        let mut line = named.collect::<Vec<_>>().join(", ");
        let hidden = self.running.len().saturating_sub(MAX_NAMED);
        if hidden > 0 {
            words::append(&mut line, format_args!(" and {hidden} more"));
        }
        line
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}

#[cfg(test)]
mod tests {
    use indicatif::TermLike;

    use super::*;
    use std::io::Result;
    use std::sync::{Arc, Mutex};

    #[derive(Debug, Clone, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl Paper {
        fn add(&self, text: &str) {
            self.0.lock().unwrap().push_str(text);
        }
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            80
        }
        fn move_cursor_up(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _: usize) -> Result<()> {
            Ok(())
        }
        fn write_line(&self, line: &str) -> Result<()> {
            self.add(line);
            self.add("\n");
            Ok(())
        }
        fn write_str(&self, text: &str) -> Result<()> {
            self.add(text);
            Ok(())
        }
        fn clear_line(&self) -> Result<()> {
            Ok(())
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_terminal_shows_what_runs_and_how_much_is_done() {
        let paper = Paper::default();
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        let mut progress = Progress::on(target, 2);
        progress.started("web: create");
        progress.finished("web: create");
        progress.clear();
        let shown = paper.0.lock().unwrap().clone();
        assert!(shown.contains("web: create"), "{shown}");
    }

    #[test]
    fn many_running_tasks_are_counted_not_named() {
        let mut progress = Progress::silent();
        for number in 0..10 {
            progress.started(&format!("t{number}"));
        }
        progress.finished("t3");
        assert_eq!(progress.line(), "t0, t1, t2, t4, t5, t6, t7, t8 and 1 more");
        assert_eq!(progress.suspend(|| 7), 7);
    }
}
