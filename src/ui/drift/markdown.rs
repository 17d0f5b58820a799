//! The answers of `unfurl drift` in Markdown, for the page of a pipeline or a comment.

use super::blocks::{Block, blocks};
use super::counts::verdict_line;
use super::phrases::{diff_lines, problem, seen, sides};
use crate::drift::{DriftAnswer, Finding};
use crate::ui::markdown::{MAX_CELL, MAX_LENGTH, code, escape};
use crate::ui::words;

/// The length that is kept free for the line that tells what was cut.
const RESERVE: usize = 500;
/// The part of the summary that differences may take.
const MAX_DIFFS: usize = 24_000;
/// The maximum number of lines of one difference.
const MAX_LINES: usize = 40;

/// Returns the answers in Markdown, within the limit of GitHub. Alarms come first, and a last line tells what was cut.
pub fn drift_markdown(answers: &[DriftAnswer]) -> String {
    let mut text = format!("### {}\n", escape(&verdict_line(answers)));
    problems(&mut text, answers);
    let blocks = blocks(answers, true);
    let (diffs, cut_diffs) = differences(&blocks, answers.len() > 1);
    let max = MAX_LENGTH - RESERVE - diffs.len();
    let cut_rows = rows(&mut text, &blocks, answers, max);
    text.push_str(&diffs);
    let mut cut = Vec::new();
    if cut_rows > 0 {
        cut.push(words::count(cut_rows, "more row"));
    }
    if cut_diffs > 0 {
        cut.push(words::count(cut_diffs, "more difference"));
    }
    if !cut.is_empty() {
        let cut = cut.join(" and ");
        let line = format_args!("\nCut here: {cut}. <code>unfurl drift</code> shows everything.\n");
        words::append(&mut text, line);
    }
    text
}

/// Appends the ensembles that were not looked at, and the problems of ignore rules.
fn problems(text: &mut String, answers: &[DriftAnswer]) {
    let mut lines = Vec::new();
    for answer in answers {
        if let Some((word, message)) = answer.problem.as_ref().map(problem) {
            let message = escape(&words::shorten(message, MAX_CELL));
            lines.push(format!("- **{}** {word}: {message}\n", code(&answer.name)));
        }
        for rule in &answer.rule_problems {
            let rule = escape(&words::shorten(rule, MAX_CELL));
            lines.push(format!(
                "- **ignore rule** of {}: {rule}\n",
                code(&answer.name)
            ));
        }
    }
    if lines.is_empty() {
        return;
    }
    text.push('\n');
    for (place, line) in lines.iter().enumerate() {
        if text.len() + line.len() > MAX_LENGTH / 4 {
            let more = words::count(lines.len() - place, "more problem");
            words::append(text, format_args!("- {more}\n"));
            return;
        }
        text.push_str(line);
    }
}

/// Appends the table up to a length of the text. Returns the number of rows that were cut.
fn rows(
    text: &mut String,
    blocks: &[Block<'_>],
    answers: &[DriftAnswer],
    max_length: usize,
) -> usize {
    if blocks.is_empty() {
        return 0;
    }
    text.push_str("\n| Kind | Where | Attribute | Expected → found | Detail |\n| --- | --- | --- | --- | --- |\n");
    let now = answers.iter().map(|answer| answer.at).max();
    for (place, block) in blocks.iter().enumerate() {
        let first = block.first();
        let sides = sides(&first.difference).unwrap_or_default();
        let row = format!(
            "| {} {} | {} | {} | {} | {} |\n",
            escape(block.section.symbol()),
            block.section.word(),
            code(&block.label(answers.len() > 1)),
            code(&first.subject.attribute),
            escape(&words::shorten(&sides, MAX_CELL)),
            escape(&words::shorten(&detail(block, first, now), MAX_CELL)),
        );
        if text.len() + row.len() > max_length {
            return blocks.len() - place;
        }
        text.push_str(&row);
    }
    0
}

fn detail(block: &Block<'_>, first: &Finding, now: Option<jiff::Timestamp>) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(first.reason.as_deref().map(str::to_owned));
    if let ([_], Some(sightings), Some(now)) = (&block.members[..], &first.sightings, now) {
        parts.push(format!("id {}", first.id()));
        parts.push(seen(sightings, now));
    }
    let job = first.left_by.as_deref();
    parts.extend(job.map(|job| format!("left by the failed job {job}")));
    parts.extend(first.ignored_by.as_deref().map(str::to_owned));
    parts.extend(first.place.as_deref().map(str::to_owned));
    parts.join("; ")
}

/// Returns the differences of files and long texts, and the number of those that were cut.
fn differences(blocks: &[Block<'_>], of_several: bool) -> (String, usize) {
    let mut text = String::new();
    let mut cut = 0;
    for block in blocks {
        let lines = diff_lines(&block.first().difference);
        if lines.is_empty() {
            continue;
        }
        let shown = lines.iter().take(MAX_LINES).map(|line| {
            let line = words::shorten(line, MAX_CELL);
            format!("{}\n", escape(&line))
        });
        let mut body: String = shown.collect();
        if let Some(more) = lines.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
            words::append(&mut body, format_args!("… {more} more lines\n"));
        }
        let attribute = &block.first().subject.attribute;
        let part = format!(
            "\n<details><summary>{} {}: - as found, + as a repair writes it</summary>\n\n<pre>\n{body}</pre>\n</details>\n",
            code(&block.label(of_several)),
            code(attribute),
        );
        if text.len() + part.len() > MAX_DIFFS {
            cut += 1;
        } else {
            text.push_str(&part);
        }
    }
    (text, cut)
}
