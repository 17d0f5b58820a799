//! The view of a job on a terminal: finished lines, and below them a block that is redrawn.
//!
//! Each line of a task is printed once, above the block. Its prefix names the instance; from the second
//! operation of an instance on, it names the operation too. While the block is on the screen, the cursor
//! rests at its first column and row: to erase the block means to erase everything below the cursor. So
//! nothing of the block remains when the terminal wraps its lines anew.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use unicode_width::UnicodeWidthStr as _;

use super::event::{FinishedTask, ProgressEvent, ProgressView};
use super::tasks::{RunningTask, TaskFailure, Tasks, is_news, message, success, whole_seconds};
use crate::job::LogLevel;
use crate::text::{escape_controls, escape_except_colours};
use crate::ui::paint::{Paint, Tone};
use crate::ui::summary::TaskEnd;
use crate::ui::words;

/// The time in which a job shows no block.
const QUIET_TIME: Duration = Duration::from_millis(500);
/// The time between two frames.
const FRAME_TIME: Duration = Duration::from_millis(100);
/// The time after which an unchanged block is drawn again.
const REFRESH_TIME: Duration = Duration::from_secs(1);
/// The maximum number of running tasks that are shown.
const MAX_ROWS: usize = 8;
/// The number of last lines of a task that the key `t` shows.
const MAX_RECENT_LINES: usize = 10;
/// The number of bytes of finished lines that do not wait for the next frame.
const MAX_PENDING_BYTES: usize = 64 << 10;

/// Begins and ends a frame that the terminal shows at once.
const FRAME_BEGIN: &str = "\x1b[?2026h";
const FRAME_END: &str = "\x1b[?2026l";
/// Erases the block, at whose beginning the cursor rests.
///
/// The rest of the screen is erased from the second column on: tmux takes erasing from the first column of the
/// first row for clearing the screen, and would keep the block in its memory.
const ERASE: &str = "\r\x1b[K\x1b[C\x1b[J\r";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";
const SAVE_CURSOR: &str = "\x1b7";
const RESTORE_CURSOR: &str = "\x1b8";
/// Removes the progress from the bar of the terminal's window.
const CLEAR_TASKBAR: &str = "\x1b]9;4;0\x1b\\";

/// The ends of tasks that get a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EndLines {
    /// Failures only.
    Failures,
    /// Failures and changes. Reads that found nothing new are only counted.
    #[default]
    News,
    All,
}

/// The parts that a [`LiveBlock`] shows.
#[derive(Debug, Clone, Default)]
pub struct LiveSettings {
    pub paint: Paint,
    /// Whether the block is drawn.
    pub has_block: bool,
    pub end_lines: EndLines,
    /// Whether the window of the terminal shows progress (OSC 9;4).
    pub has_taskbar: bool,
    /// The problems that were shown before the job.
    pub shown_problems: Vec<String>,
}

/// The view of a job on a terminal.
#[derive(Debug)]
pub struct LiveBlock {
    settings: LiveSettings,
    /// The columns and rows of the terminal.
    size: (u16, u16),
    tasks: Tasks,
    /// The last lines of running tasks.
    recent: HashMap<usize, VecDeque<String>>,
    /// Finished lines that wait for the next frame.
    pending: String,
    /// The block on the screen.
    drawn: Option<String>,
    /// The time of the last frame.
    last_frame: Option<Duration>,
    is_cursor_hidden: bool,
    has_ended: bool,
    /// The progress that the bar of the window shows.
    taskbar: Option<String>,
}

impl LiveBlock {
    /// Creates a view for a terminal with so many columns and rows.
    pub fn new(mut settings: LiveSettings, size: (u16, u16)) -> Self {
        let mut tasks = Tasks::default();
        tasks.note_problems(std::mem::take(&mut settings.shown_problems));
        Self {
            settings,
            size,
            tasks,
            recent: HashMap::new(),
            pending: String::new(),
            drawn: None,
            last_frame: None,
            is_cursor_hidden: false,
            has_ended: false,
            taskbar: None,
        }
    }

    fn add_output(&mut self, task: usize, text: &str) {
        let prefix = self.tasks.get(task).map_or("", |running| &running.prefix);
        let prefix = self.settings.paint.tone(Tone::Note, prefix);
        for line in text.lines() {
            self.pending.push_str(&prefix);
            self.pending.push_str(line);
            self.pending.push('\n');
        }
        let recent = self.recent.entry(task).or_default();
        let mut last: Vec<&str> = text.lines().rev().take(MAX_RECENT_LINES).collect();
        last.reverse();
        for line in last {
            if recent.len() == MAX_RECENT_LINES {
                recent.pop_front();
            }
            recent.push_back(line.to_owned());
        }
    }

    /// Adds the line about the end of a task.
    fn add_end(&mut self, finished: &FinishedTask) {
        let FinishedTask {
            task,
            instance,
            operation,
            end,
            changed,
            elapsed,
            errors,
            place,
        } = finished;
        self.recent.remove(task);
        let paint = self.settings.paint;
        match end {
            TaskEnd::Success => {
                let is_shown = match self.settings.end_lines {
                    EndLines::Failures => false,
                    EndLines::News => is_news(operation, *changed),
                    EndLines::All => true,
                };
                if is_shown {
                    self.pending
                        .push_str(&success(instance, operation, *elapsed, paint));
                    self.pending.push('\n');
                }
            }
            TaskEnd::Failed => {
                let text = self.tasks.failure(&TaskFailure {
                    instance,
                    operation,
                    elapsed: *elapsed,
                    errors,
                    place: place.as_ref(),
                });
                let text = message(LogLevel::Error, &text, paint);
                self.pending.push_str(&text);
            }
            TaskEnd::Blocked | TaskEnd::Skipped => {}
        }
    }

    /// Returns the block as it is now. Empty if there is none.
    fn block(&self, at: Duration) -> Vec<String> {
        let (columns, rows) = (usize::from(self.size.0), usize::from(self.size.1));
        let max_rows = rows.saturating_sub(2);
        if !self.settings.has_block || self.has_ended || at < QUIET_TIME || max_rows == 0 {
            return Vec::new();
        }
        // A row that fills the last column might be continued on the next one.
        let columns = columns.saturating_sub(1);
        let count = self.tasks.running().len();
        let room = max_rows - 1;
        let named = if count <= MAX_ROWS.min(room) {
            count
        } else {
            MAX_ROWS.min(room.saturating_sub(1))
        };
        let shown: Vec<&RunningTask> = self.tasks.running().take(named).collect();
        let mut block = self.task_rows(&shown, at, columns);
        if count > named && room > named {
            let more = format!("and {} more", count - named);
            block.push(self.row(&[(Tone::Dim, more)], columns));
        }
        block.push(self.totals(at, columns));
        block
    }

    fn task_rows(&self, shown: &[&RunningTask], at: Duration, columns: usize) -> Vec<String> {
        let widest = |texts: &mut dyn Iterator<Item = &String>, limit: usize| {
            texts.map(|text| text.width()).max().unwrap_or(0).min(limit)
        };
        let names = widest(&mut shown.iter().map(|it| &it.instance), columns / 2);
        let operations = widest(&mut shown.iter().map(|it| &it.operation), columns / 3);
        let pad = |text: &str, width: usize| {
            let text = words::shorten_to_columns(text, width);
            let missing = width.saturating_sub(text.width());
            format!("{text}{}  ", " ".repeat(missing))
        };
        let row = |task: &&RunningTask| {
            let elapsed = whole_seconds(at.saturating_sub(task.started));
            let mut parts = vec![
                (Tone::Strong, pad(&task.instance, names)),
                (Tone::Note, pad(&task.operation, operations)),
                (Tone::Dim, elapsed),
            ];
            if let Some((words, is_slow)) = task.comparison(at) {
                let tone = if is_slow { Tone::Warning } else { Tone::Dim };
                parts.push((Tone::Dim, "  ".to_owned()));
                parts.push((tone, words));
            }
            self.row(&parts, columns)
        };
        shown.iter().map(row).collect()
    }

    /// Returns the last row: `12 of 30 done · 1 failed · 3m10s · about 2m left`.
    fn totals(&self, at: Duration, columns: usize) -> String {
        let tasks = &self.tasks;
        let mut parts = vec![(
            Tone::Dim,
            format!("{} of {} done", tasks.done, tasks.total()),
        )];
        let mut add = |tone, text| {
            parts.push((Tone::Dim, " · ".to_owned()));
            parts.push((tone, text));
        };
        if tasks.failed > 0 {
            add(Tone::Bad, format!("{} failed", tasks.failed));
        }
        if tasks.blocked > 0 {
            add(Tone::Warning, format!("{} not run", tasks.blocked));
        }
        add(Tone::Dim, whole_seconds(at));
        if let Some(left) = tasks.time_left(at) {
            add(Tone::Dim, left);
        }
        self.row(&parts, columns)
    }

    /// Joins the parts of a row and cuts it to the width of the terminal.
    fn row(&self, parts: &[(Tone, String)], columns: usize) -> String {
        let mut row = String::new();
        let mut left = columns;
        if columns == 0 {
            return row;
        }
        for (place, (tone, text)) in parts.iter().enumerate() {
            let is_last = place + 1 == parts.len();
            // The mark of a cut needs a column, so a part that is not the last leaves one.
            if text.width() > left || (text.width() == left && !is_last) {
                let shown = words::shorten_to_columns(text, left - 1);
                let shown = format!("{}…", shown.trim_end_matches('…'));
                row.push_str(&self.settings.paint.tone(*tone, &shown));
                break;
            }
            row.push_str(&self.settings.paint.tone(*tone, text));
            left -= text.width();
        }
        row
    }

    /// Writes finished lines and the block.
    fn draw(&mut self, at: Duration, rows: &[String], out: &mut String) {
        let block = block_text(rows);
        let is_old = self.last_frame.is_none_or(|last| at >= last + REFRESH_TIME);
        let is_same = self.drawn.as_deref().unwrap_or_default() == block;
        if self.pending.is_empty() && is_same && (block.is_empty() || !is_old) {
            return;
        }
        self.last_frame = Some(at);
        let has_block = self.drawn.is_some() || !block.is_empty();
        if has_block {
            out.push_str(FRAME_BEGIN);
        }
        self.flush(out);
        if !block.is_empty() {
            if !self.is_cursor_hidden {
                out.push_str(HIDE_CURSOR);
                self.is_cursor_hidden = true;
            }
            out.push_str(&block);
            self.drawn = Some(block);
        }
        self.show_cursor_without_block(out);
        if has_block {
            out.push_str(FRAME_END);
        }
    }

    /// Erases the block and writes finished lines.
    fn flush(&mut self, out: &mut String) {
        if self.drawn.take().is_some() {
            out.push_str(ERASE);
        }
        out.push_str(&self.pending);
        self.pending.clear();
    }

    fn show_cursor_without_block(&mut self, out: &mut String) {
        if self.drawn.is_none() && std::mem::take(&mut self.is_cursor_hidden) {
            out.push_str(SHOW_CURSOR);
        }
    }

    fn update_taskbar(&mut self, at: Duration, out: &mut String) {
        if !self.settings.has_taskbar || at < QUIET_TIME || self.has_ended {
            return;
        }
        let percent = self.tasks.done * 100 / self.tasks.total().max(1);
        let state = if self.tasks.failed > 0 { 2 } else { 1 };
        let sequence = format!("\x1b]9;4;{state};{percent}\x1b\\");
        if self.taskbar.as_ref() != Some(&sequence) {
            out.push_str(&sequence);
            self.taskbar = Some(sequence);
        }
    }

    /// Adds the running tasks with their last lines.
    fn add_running(&mut self, at: Duration) {
        if self.tasks.running().len() == 0 {
            self.pending.push_str("no task is running\n");
        }
        for task in self.tasks.numbers() {
            let Some(running) = self.tasks.get(task) else {
                continue;
            };
            let recent = self.recent.get(&task);
            let silent = if recent.is_none() { ", no output" } else { "" };
            let head = format!("{}{silent}", running.description(at));
            self.pending
                .push_str(&self.settings.paint.tone(Tone::Strong, &head));
            self.pending.push('\n');
            for line in recent.into_iter().flatten() {
                words::append(&mut self.pending, format_args!("  {line}\n"));
            }
        }
    }
}

/// Returns the text that draws rows and leaves the cursor at their beginning. Empty without rows.
///
/// The rows get room first. Each is placed relative to the first, so that the cursor returns to the
/// beginning even if the terminal has just become narrower and wraps them.
fn block_text(rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let count = rows.len();
    let mut text = format!(
        "{WRAP_OFF}{}\x1b[{count}A\r{SAVE_CURSOR}",
        "\n".repeat(count)
    );
    for (place, row) in rows.iter().enumerate() {
        if place > 0 {
            words::append(&mut text, format_args!("{RESTORE_CURSOR}\x1b[{place}B"));
        }
        text.push_str(row);
    }
    text.push_str(RESTORE_CURSOR);
    text.push_str(WRAP_ON);
    text
}

impl ProgressView for LiveBlock {
    fn event(&mut self, at: Duration, event: &ProgressEvent, out: &mut String) {
        self.tasks.update(at, event);
        match event {
            ProgressEvent::Output { task, text, .. } => self.add_output(*task, text),
            ProgressEvent::TaskFinished(finished) => self.add_end(finished),
            ProgressEvent::Message {
                styled,
                level,
                text,
            } => match styled {
                Some(styled) => self.pending.push_str(&escape_except_colours(styled)),
                None => {
                    let line = message(*level, text, self.settings.paint);
                    self.pending.push_str(&line);
                }
            },
            ProgressEvent::Problem(problem) => match &problem.styled {
                Some(styled) => self.pending.push_str(&escape_except_colours(styled)),
                None => self.pending.push_str(&escape_controls(&problem.text)),
            },
            ProgressEvent::JobFinished { .. } => self.has_ended = true,
            _ => {}
        }
        if self.pending.len() > MAX_PENDING_BYTES {
            self.flush(out);
        }
    }

    fn tick(&mut self, at: Duration, out: &mut String) {
        if self.last_frame.is_some_and(|last| at < last + FRAME_TIME) {
            return;
        }
        let rows = self.block(at);
        self.draw(at, &rows, out);
        self.update_taskbar(at, out);
    }

    fn resize(&mut self, size: (u16, u16)) {
        if std::mem::replace(&mut self.size, size) != size {
            // The next frame comes at once and replaces the block of the old size.
            self.last_frame = None;
        }
    }

    fn key(&mut self, at: Duration, key: char, _out: &mut String) {
        if key == 't' {
            self.add_running(at);
        }
    }

    fn pause(&mut self, out: &mut String) {
        self.flush(out);
        self.show_cursor_without_block(out);
        self.last_frame = None;
    }

    fn finish(&mut self, _at: Duration, out: &mut String) {
        self.has_ended = true;
        self.pause(out);
        if self.taskbar.take().is_some() {
            out.push_str(CLEAR_TASKBAR);
        }
    }
}
