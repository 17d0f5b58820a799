//! Tests of the views for people: a script of events with its own clock, and the screen that comes of it.

use std::num::NonZeroU16;
use std::time::Duration;

use super::block::{EndLines, LiveBlock, LiveSettings};
use super::event::{FinishedTask, ProgressEvent, ProgressView};
use super::plain::PlainLog;
use crate::diagnostic::SourcePosition;
use crate::host::Stream;
use crate::job::LogLevel;
use crate::ui::paint::{Paint, without_colours};
use crate::ui::summary::TaskEnd;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn job(tasks: usize) -> ProgressEvent {
    ProgressEvent::JobStarted {
        id: "A6BO1uRA0000".to_owned(),
        workflow: "deploy".to_owned(),
        tasks,
    }
}

fn start(task: usize, name: &str, usual: Option<u64>) -> ProgressEvent {
    let (instance, operation) = name.split_once(' ').unwrap();
    ProgressEvent::TaskStarted {
        task,
        instance: instance.to_owned(),
        operation: operation.to_owned(),
        usual: usual.map(Duration::from_secs),
    }
}

fn output(task: usize, text: &str) -> ProgressEvent {
    ProgressEvent::Output {
        task,
        stream: Stream::Stdout,
        text: text.to_owned(),
    }
}

fn end(task: usize, name: &str, end: TaskEnd, millis: u64) -> ProgressEvent {
    let (instance, operation) = name.split_once(' ').unwrap();
    let failed = end == TaskEnd::Failed;
    ProgressEvent::TaskFinished(FinishedTask {
        task,
        instance: instance.to_owned(),
        operation: operation.to_owned(),
        end,
        changed: false,
        elapsed: ms(millis),
        errors: failed
            .then(|| "exit code 3".to_owned())
            .into_iter()
            .collect(),
        place: failed.then(|| SourcePosition {
            path: "ensemble.yaml".into(),
            line: 24,
            column: 9,
        }),
    })
}

fn block(columns: u16, rows: u16) -> Box<dyn ProgressView> {
    let settings = LiveSettings {
        has_block: true,
        ..LiveSettings::default()
    };
    Box::new(LiveBlock::new(settings, (columns, rows)))
}

fn plain() -> Box<dyn ProgressView> {
    Box::new(PlainLog::new(Paint::plain(), EndLines::News, Vec::new()))
}

/// Feeds events at their times, with a tick after each. Returns the text.
fn text_of(view: &mut dyn ProgressView, script: &[(u64, ProgressEvent)]) -> String {
    let mut text = String::new();
    for (at, event) in script {
        view.event(ms(*at), event, &mut text);
        view.tick(ms(*at), &mut text);
    }
    text
}

/// Returns what a terminal shows of a text.
fn screen(text: &str, columns: u16, rows: u16) -> String {
    let size = |size| NonZeroU16::new(size).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(columns), 1000);
    terminal.process(text.replace('\n', "\r\n").as_bytes());
    terminal.screen().contents()
}

fn shown(script: &[(u64, ProgressEvent)]) -> String {
    screen(&text_of(block(80, 24).as_mut(), script), 80, 24)
}

#[test]
fn nothing_is_drawn_in_the_first_half_second() {
    let script = [(0, job(2)), (10, start(1, "web create", None))];
    let mut view = block(80, 24);
    assert_eq!(text_of(view.as_mut(), &script), "");
    let mut text = String::new();
    view.tick(ms(499), &mut text);
    assert_eq!(text, "");
    view.tick(ms(500), &mut text);
    assert!(text.contains("0 of 2 done"), "{text}");
}

#[test]
fn a_short_job_prints_lines_without_any_sequence() {
    let script = [
        (0, job(2)),
        (10, start(1, "web create", None)),
        (20, output(1, "hello\n")),
        (300, end(1, "web create", TaskEnd::Success, 290)),
    ];
    let mut view = block(80, 24);
    let mut text = text_of(view.as_mut(), &script);
    view.finish(ms(310), &mut text);
    assert_eq!(text, "[web] hello\nweb created in 0.3 s\n");
}

#[test]
fn the_block_is_drawn_ten_times_a_second_at_most_and_once_at_least() {
    let mut view = block(80, 24);
    text_of(
        view.as_mut(),
        &[(0, job(2)), (0, start(1, "web create", None))],
    );
    let mut frames = Vec::new();
    for at in 500..2600 {
        let mut text = String::new();
        let line = output(1, "x\n");
        if at < 1000 {
            view.event(ms(at), &line, &mut text);
        }
        view.tick(ms(at), &mut text);
        if !text.is_empty() {
            frames.push(at);
        }
    }
    assert_eq!(frames, [500, 600, 700, 800, 900, 1000, 2000]);
}

#[test]
fn running_tasks_are_a_block_below_the_lines() {
    let script = [
        (0, job(4)),
        (0, start(1, "web create", Some(240))),
        (100, start(2, "database configure", Some(2))),
        (200, start(3, "app backup", None)),
        (300, output(2, "one\n")),
        (400, output(1, "two\nthree\n")),
        (500, ProgressEvent::Remaining(Duration::from_mins(2))),
        (900, end(3, "app backup", TaskEnd::Success, 700)),
        (7_000, output(1, "four\n")),
    ];
    insta::assert_snapshot!(shown(&script), @r"
    [database] one
    [web] two
    [web] three
    app: backup done in 0.7 s
    [web] four
    web       create     7 s  usually 4m
    database  configure  6 s  3 times longer than usual
    1 of 4 done · 7 s · about 2m left
    ");
}

#[test]
fn at_most_eight_running_tasks_are_named_and_rows_keep_their_order() {
    let mut script = vec![(0, job(30))];
    for task in 1..=11 {
        script.push((task as u64, start(task, &format!("n{task} create"), None)));
    }
    script.push((600, end(3, "n3 create", TaskEnd::Success, 590)));
    script.push((700, end(5, "n5 create", TaskEnd::Failed, 3_200)));
    insta::assert_snapshot!(shown(&script), @r"
    n3 created in 0.6 s
    error: n5: create failed after 3.2 s: exit code 3 (ensemble.yaml:24:9)
    n1   create  0 s
    n2   create  0 s
    n4   create  0 s
    n6   create  0 s
    n7   create  0 s
    n8   create  0 s
    n9   create  0 s
    n10  create  0 s
    and 1 more
    2 of 30 done · 1 failed · 0 s
    ");
}

#[test]
fn the_block_is_lower_than_the_terminal() {
    let mut script = vec![(0, job(30))];
    for task in 1..=11 {
        script.push((task as u64, start(task, &format!("n{task} create"), None)));
    }
    script.push((600, output(1, "a line\n")));
    for (rows, names) in [(2, 0), (3, 0), (4, 0), (5, 1), (6, 2), (12, 8), (13, 8)] {
        let text = text_of(block(80, rows).as_mut(), &script);
        let screen = screen(&text, 80, rows);
        let named = screen.matches("create").count();
        assert_eq!(named, names, "{rows} rows:\n{screen}");
        assert_eq!(screen.contains("done"), rows > 2, "{rows} rows:\n{screen}");
        assert!(screen.lines().count() <= usize::from(rows), "{screen}");
    }
}

#[test]
fn rows_are_cut_to_the_width_and_lines_are_not() {
    let long = "x".repeat(50);
    let script = [
        (0, job(2)),
        (0, start(1, &format!("日本語{long} create"), Some(60))),
        (600, output(1, &format!("{long}\n"))),
    ];
    let text = text_of(block(30, 24).as_mut(), &script);
    insta::assert_snapshot!(screen(&text, 30, 24), @r"
    [日本語xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx] xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
    日本語xxxxxxx…  create  0 s…
    0 of 2 done · 0 s
    ");
}

#[test]
fn a_block_that_wraps_on_a_narrower_terminal_leaves_nothing() {
    let mut view = block(80, 24);
    let mut text = text_of(
        view.as_mut(),
        &[
            (0, job(3)),
            (0, start(1, &format!("{} create", "a".repeat(60)), Some(60))),
            (0, start(2, &format!("{} create", "b".repeat(60)), Some(60))),
            (600, output(1, "a line\n")),
        ],
    );
    // The terminal had become narrower before it got this frame.
    view.resize((50, 24));
    view.event(ms(700), &output(2, "another line\n"), &mut text);
    view.tick(ms(700), &mut text);
    view.finish(ms(800), &mut text);
    let shown = screen(&text, 50, 24);
    let unwrapped = shown.replace('\n', "");
    assert!(
        unwrapped.ends_with(&format!("[{}] another line", "b".repeat(60))),
        "{shown}"
    );
    assert!(
        !shown.contains("create") && !shown.contains("done"),
        "{shown}"
    );
}

/// tmux keeps the screen in its memory if it is erased from the first column of the first row.
#[test]
fn the_block_is_never_erased_from_the_first_column() {
    let mut view = block(80, 24);
    let mut text = text_of(
        view.as_mut(),
        &[
            (0, job(2)),
            (0, start(1, "web create", None)),
            (600, start(2, "db create", None)),
            (1_700, output(1, "a line\n")),
        ],
    );
    view.finish(ms(1_800), &mut text);
    let mut terminal = vt100::Parser::default();
    let mut parts = text.replace('\n', "\r\n");
    let mut erased = 0;
    while let Some((before, after)) = parts.clone().split_once("\x1b[J") {
        terminal.process(before.as_bytes());
        let (_, column) = terminal.screen().cursor_position();
        assert_eq!(column, 1, "{text:?}");
        terminal.process(b"\x1b[J");
        erased += 1;
        parts = after.to_owned();
    }
    assert_eq!(erased, 2, "{text:?}");
    terminal.process(parts.as_bytes());
    assert_eq!(terminal.screen().contents(), "[web] a line");
}

#[test]
fn the_end_removes_the_block_and_shows_the_cursor() {
    let mut view = block(80, 24);
    let mut text = text_of(
        view.as_mut(),
        &[
            (0, job(2)),
            (0, start(1, "web create", None)),
            (600, output(1, "a line\n")),
        ],
    );
    assert!(text.contains("\x1b[?25l"));
    view.finish(ms(700), &mut text);
    assert!(text.contains("\x1b[?25h"));
    assert_eq!(screen(&text, 80, 24), "[web] a line");
}

#[test]
fn a_later_operation_of_an_instance_is_named_and_a_single_task_has_no_prefix() {
    let script = [
        (0, job(2)),
        (0, start(1, "web create", None)),
        (0, output(1, "one\n")),
        (0, end(1, "web create", TaskEnd::Success, 60)),
        (0, start(2, "web configure", None)),
        (0, output(2, "two\n")),
        (100, end(2, "web configure", TaskEnd::Success, 0)),
    ];
    insta::assert_snapshot!(shown(&script), @r"
    [web] one
    web created in 60 ms
    [web: configure] two
    web configured
    ");
    let script = [
        (0, job(1)),
        (0, start(1, "web create", None)),
        (0, output(1, "one\n")),
    ];
    assert_eq!(shown(&script), "one");
}

#[test]
fn reads_that_find_nothing_new_are_only_counted() {
    let script = [
        (0, job(3)),
        (0, end(1, "web check", TaskEnd::Success, 1_000)),
        (0, end(2, "app check", TaskEnd::Blocked, 0)),
        (600, start(3, "db check", None)),
    ];
    insta::assert_snapshot!(shown(&script), @r"
    db  check  0 s
    2 of 3 done · 1 not run · 0 s
    ");
}

#[test]
fn the_key_t_shows_running_tasks_with_their_last_lines() {
    let mut view = block(80, 24);
    let mut text = text_of(
        view.as_mut(),
        &[
            (0, job(3)),
            (0, start(1, "web create", Some(240))),
            (0, start(2, "db create", None)),
            (
                100,
                output(
                    1,
                    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
                        .map(|n| format!("line {n}\n"))
                        .concat(),
                ),
            ),
        ],
    );
    text.clear();
    view.key(ms(12_000), 'x', &mut text);
    view.key(ms(12_000), 't', &mut text);
    view.tick(ms(12_000), &mut text);
    view.finish(ms(12_100), &mut text);
    insta::assert_snapshot!(screen(&text, 80, 24), @r"
    web: create running 12 s, usually 4m
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
      line 9
      line 10
      line 11
      line 12
    db: create running 12 s, no output
    ");
}

#[test]
fn messages_stand_above_the_block_and_cannot_steer_the_terminal() {
    let message = ProgressEvent::Message {
        level: LogLevel::Warning,
        text: "careful\x1b[2J".to_owned(),
        styled: None,
    };
    let script = [
        (0, job(2)),
        (0, start(1, "w\x1b[2Jeb create", None)),
        (600, message),
    ];
    insta::assert_snapshot!(shown(&script), @r"
    warning: careful\u001b[2J
    w\u001b[2Jeb  create  0 s
    0 of 2 done · 0 s
    ");
}

#[test]
fn a_problem_that_was_shown_is_not_repeated() {
    let settings = LiveSettings {
        shown_problems: vec!["Standard.create of `web`: exit code 3".to_owned()],
        ..LiveSettings::default()
    };
    let mut view = LiveBlock::new(settings, (80, 24));
    let text = text_of(&mut view, &[(0, end(1, "web create", TaskEnd::Failed, 0))]);
    assert_eq!(text, "error: web: create failed\n");
}

#[test]
fn the_window_shows_progress_where_the_terminal_can() {
    let settings = LiveSettings {
        has_block: true,
        has_taskbar: true,
        ..LiveSettings::default()
    };
    let mut view = LiveBlock::new(settings, (80, 24));
    let mut text = text_of(
        &mut view,
        &[
            (0, job(4)),
            (600, end(1, "web create", TaskEnd::Success, 0)),
            (800, end(2, "db create", TaskEnd::Failed, 0)),
        ],
    );
    view.finish(ms(900), &mut text);
    let sequences: Vec<&str> = text
        .split("\x1b]9;4;")
        .skip(1)
        .filter_map(|rest| rest.split_once('\x1b'))
        .map(|(state, _)| state)
        .collect();
    assert_eq!(sequences, ["1;25", "2;50", "0"]);
}

#[test]
fn colours_do_not_change_the_words_of_the_display() {
    let script = [
        (0, job(4)),
        (0, start(1, "web create", Some(1))),
        (0, start(2, "db create", Some(1))),
        (600, output(1, "one\n")),
        (700, end(2, "db create", TaskEnd::Failed, 700)),
        (7_000, end(3, "app create", TaskEnd::Success, 700)),
    ];
    let texts = [false, true].map(|is_coloured| {
        let settings = LiveSettings {
            paint: Paint::new(is_coloured),
            has_block: true,
            ..LiveSettings::default()
        };
        let live = text_of(&mut LiveBlock::new(settings, (80, 24)), &script);
        let mut log = PlainLog::new(Paint::new(is_coloured), EndLines::News, Vec::new());
        // Other sequences than colours end in other letters.
        let live = screen(&live, 80, 24);
        live + &without_colours(&text_of(&mut log, &script))
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn without_a_terminal_each_task_is_one_block() {
    let script = [
        (0, job(4)),
        (0, start(1, "web create", None)),
        (0, start(2, "db create", None)),
        (0, start(3, "app create", None)),
        (100, output(1, "w1\n")),
        (200, output(2, "d1\n")),
        (300, output(1, "w2\n")),
        (400, end(2, "db create", TaskEnd::Failed, 400)),
        (500, end(1, "web create", TaskEnd::Success, 500)),
        (600, end(4, "dns check", TaskEnd::Success, 0)),
        (700, output(3, "cut\n")),
    ];
    let mut view = plain();
    let mut text = text_of(view.as_mut(), &script);
    view.finish(ms(800), &mut text);
    insta::assert_snapshot!(text, @r"
    == db: create
    d1
    error: db: create failed after 0.4 s: exit code 3 (ensemble.yaml:24:9)
    == web created in 0.5 s
    w1
    w2
    == app: create, cut off
    cut
    ");
}

#[test]
fn without_a_terminal_the_only_task_prints_its_lines_at_once() {
    let script = [
        (0, job(1)),
        (0, start(1, "web create", None)),
        (100, output(1, "w1\n")),
    ];
    let mut view = plain();
    assert_eq!(text_of(view.as_mut(), &script), "w1\n");
    let end = [(1_200, end(1, "web create", TaskEnd::Success, 1_200))];
    assert_eq!(text_of(view.as_mut(), &end), "web created in 1.2 s\n");
}

#[test]
fn a_minute_of_silence_ends_with_a_line_about_what_runs() {
    let script = [
        (0, job(40)),
        (0, start(1, "db configure", Some(240))),
        (0, start(2, "web create", None)),
        (1_000, end(2, "web create", TaskEnd::Success, 1_000)),
    ];
    let mut view = plain();
    text_of(view.as_mut(), &script);
    let mut text = String::new();
    for second in 1..=190 {
        view.tick(Duration::from_secs(second), &mut text);
    }
    insta::assert_snapshot!(text, @r"
    1 of 40 done; db: configure running 1m01s, usually 4m
    1 of 40 done; db: configure running 2m01s, usually 4m
    1 of 40 done; db: configure running 3m01s, usually 4m
    ");
}

#[test]
fn much_output_of_a_task_is_printed_before_its_end() {
    let line = format!("{}\n", "x".repeat(999));
    let mut script = vec![
        (0, job(2)),
        (0, start(1, "web create", None)),
        (0, start(2, "db create", None)),
    ];
    script.extend((0..1_500).map(|_| (0, output(1, &line))));
    script.push((0, end(1, "web create", TaskEnd::Success, 0)));
    let text = text_of(plain().as_mut(), &script);
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("==")).collect();
    assert_eq!(
        heads,
        ["== web: create, output so far", "== web created, continued"]
    );
    assert_eq!(text.matches("xx\n").count(), 1_500);
}
