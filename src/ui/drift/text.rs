//! The answers of `unfurl drift` as text for people.

use unicode_width::UnicodeWidthStr as _;

use super::blocks::{Block, blocks};
use super::counts::{DriftCounts, row, verdict_line};
use super::next::{NextCommands, next_commands};
use super::phrases::{
    Section, diff_lines, name, policy, problem, read_place, seen, sides, split_place, subject,
    times,
};
use crate::diagnostic::SourcePosition;
use crate::drift::{DriftAnswer, Finding, Verdict, verdict};
use crate::ui::drift_note::last_set;
use crate::ui::layout::Layout;
use crate::ui::paint::Tone;
use crate::ui::words;

/// The maximum number of lines of a difference, unless all details are shown.
const MAX_LINES: usize = 12;
/// The indentation of the lines below the first of a block.
const INDENT: usize = 4;

/// The style of the text of an answer.
#[derive(Debug, Clone, Copy)]
pub struct DriftStyle<'a> {
    pub layout: Layout,
    /// Whether findings that a rule ignores are shown, not only counted.
    pub with_ignored: bool,
    /// The commands to type next. None leaves them out.
    pub next: Option<&'a NextCommands>,
}

/// Returns the answers as text. The verdict is the last line.
pub fn drift_text(answers: &[DriftAnswer], style: DriftStyle<'_>) -> String {
    let writer = Writer {
        style,
        of_several: answers.len() > 1,
    };
    let mut text = String::new();
    for block in blocks(answers, style.with_ignored) {
        writer.block(&mut text, &block, answers);
    }
    for answer in answers {
        writer.rules(&mut text, answer);
        writer.gone(&mut text, answer);
    }
    for answer in answers {
        writer.ensemble(&mut text, answer);
    }
    if let Some(next) = style.next {
        writer.next(&mut text, &next_commands(answers, next));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let tone = match verdict(answers) {
        Verdict::Clean => Tone::Good,
        Verdict::CannotTell => Tone::Doubt,
        Verdict::Invalid | Verdict::Drifted => Tone::Bad,
    };
    let mut line = verdict_line(answers);
    let ignored = DriftCounts::of(answers).number(Section::Ignored);
    if ignored > 0 && !style.with_ignored {
        line.push_str("; `--all` shows the ignored ones");
    }
    writer.wrapped(&mut text, 0, &line, Some(tone));
    text
}

/// Writes the parts of a text in a style.
struct Writer<'a> {
    style: DriftStyle<'a>,
    /// Whether the text is about several ensembles.
    of_several: bool,
}

impl Writer<'_> {
    fn layout(&self) -> Layout {
        self.style.layout
    }

    fn is_full(&self) -> bool {
        self.style.layout.is_full
    }

    fn block(&self, text: &mut String, block: &Block<'_>, answers: &[DriftAnswer]) {
        let first = block.first();
        self.heading(text, block);
        self.lines(text, first);
        let mut facts: Vec<String> = reason(block).into_iter().collect();
        facts.extend(self.history(block, answers));
        // Instances of one job differ in their tasks, which are details then.
        let has_task = self.is_full() || block.members.len() == 1;
        let origin = |it: &Finding| {
            let mut set = it.last_set.clone()?;
            set.task = set.task.filter(|_| has_task);
            Some(last_set(&set))
        };
        facts.extend(block.facts(self.is_full(), origin));
        facts.extend(block.facts(self.is_full(), |finding| {
            let job = finding.left_by.as_deref()?;
            Some(format!("left by the failed job {}", words::one_line(job)))
        }));
        facts.extend(block.facts(self.is_full(), |finding| {
            let rule = finding.ignored_by.as_deref()?;
            Some(format!("ignored by the rule {}", words::one_line(rule)))
        }));
        facts.extend(block.facts(self.is_full(), |it| policy(it).map(str::to_owned)));
        if place_of(first).is_none() || block.members.len() > 1 {
            facts.extend(self.places(block));
        }
        for fact in facts {
            self.wrapped(text, INDENT, &fact, None);
        }
    }

    /// Writes the first line of a block, with the place in the model if it fits, and both sides.
    fn heading(&self, text: &mut String, block: &Block<'_>) {
        let paint = self.layout().paint;
        let first = block.first();
        let kind = format!("{} {}", block.section.symbol(), block.section.word());
        let label = block.label(self.of_several);
        let attribute = words::one_line(&first.subject.attribute);
        let colon = if label.is_empty() { "" } else { ": " };
        let mut line = format!(
            "{}  {}{colon}{attribute}",
            paint.tone(block.section.tone(), &kind),
            paint.tone(Tone::Strong, &label),
        );
        let mut used = kind.width() + 2 + label.width() + colon.len() + attribute.width();
        let width = self.layout().width;
        let sides = sides(&first.difference);
        let below = sides.as_ref().filter(|it| used + 2 + it.width() > width);
        if let Some(sides) = sides.as_ref().filter(|_| below.is_none()) {
            line.push_str(&format!(": {sides}"));
            used += 2 + sides.width();
        }
        if let Some(place) = place_of(first).filter(|_| block.members.len() == 1) {
            let shown = paint.place(&place);
            if used + 3 + place.to_string().width() <= width {
                line.push_str(&format!("   {shown}"));
            } else {
                line.push_str(&format!("\n{:INDENT$}{shown}", ""));
            }
        }
        words::append(text, format_args!("{line}\n"));
        if let Some(sides) = below {
            let room = if self.is_full() {
                usize::MAX
            } else {
                width.saturating_sub(INDENT)
            };
            let sides = words::shorten_to_columns(sides, room);
            words::append(text, format_args!("{:INDENT$}{sides}\n", ""));
        }
    }

    /// Returns the places of several findings, or a place that is not readable as such.
    fn places(&self, block: &Block<'_>) -> Vec<String> {
        block.facts(self.is_full(), |finding| {
            Some(words::one_line(finding.place.as_deref()?).into_owned())
        })
    }

    /// Writes the difference of a file or of a long text. A long one is folded.
    fn lines(&self, text: &mut String, finding: &Finding) {
        let lines = diff_lines(&finding.difference);
        if lines.is_empty() {
            return;
        }
        let paint = self.layout().paint;
        let max = if self.is_full() {
            usize::MAX
        } else {
            MAX_LINES
        };
        // Folding a single line would save nothing.
        let max = if lines.len() == max.saturating_add(1) {
            lines.len()
        } else {
            max
        };
        let room = self.layout().width.saturating_sub(INDENT + 2);
        let room = if self.is_full() { usize::MAX } else { room };
        words::append(
            text,
            format_args!("{:INDENT$}(- as found, + as a repair writes it)\n", ""),
        );
        for line in lines.iter().take(max) {
            let shown = words::shorten_to_columns(line, room);
            let shown = match line.chars().next() {
                Some('-') => paint.tone(Tone::Bad, &shown),
                Some('+') => paint.tone(Tone::Good, &shown),
                Some('@') => paint.tone(Tone::Dim, &shown),
                _ => shown.into_owned(),
            };
            words::append(text, format_args!("{:1$}{shown}\n", "", INDENT + 2));
        }
        let folded = &lines[lines.len().min(max)..];
        if !folded.is_empty() {
            let begin = |sign: char| folded.iter().filter(|it| it.starts_with(sign)).count();
            let (found, wanted) = (begin('-'), begin('+'));
            let more = words::count(folded.len(), "more line");
            let more = format!("… {more} (-{found}, +{wanted}); `--detail` shows them");
            words::append(text, format_args!("{:1$}{more}\n", "", INDENT + 2));
        }
    }

    /// Returns the ids, the first sighting and the number of sightings.
    fn history(&self, block: &Block<'_>, answers: &[DriftAnswer]) -> Vec<String> {
        let now = answers
            .iter()
            .map(|answer| answer.at)
            .max()
            .unwrap_or_default();
        let history = |it: &Finding| it.sightings.as_ref().map(|it| seen(it, now));
        if let [member] = &block.members[..] {
            let id = format!("id {}", member.finding.id());
            let parts = std::iter::once(id).chain(history(member.finding));
            return vec![parts.collect::<Vec<_>>().join(", ")];
        }
        let max = if self.is_full() { usize::MAX } else { INDENT };
        let ids = block.members.iter().take(max).map(|member| {
            let of = self.of_ensemble(member.ensemble);
            let name = words::one_line(name(member.finding));
            format!("{name}{of} {}", member.finding.id())
        });
        let mut ids = format!("ids: {}", ids.collect::<Vec<_>>().join(", "));
        let hidden = block.members.len().saturating_sub(max);
        if hidden > 0 {
            ids.push_str(&format!(" and {hidden} more; `--detail` shows them"));
        }
        let mut lines = vec![ids];
        lines.extend(block.facts(self.is_full(), history));
        lines
    }

    /// Returns the name of an ensemble after a name, if there are several ensembles.
    fn of_ensemble(&self, name: &str) -> String {
        if self.of_several {
            format!(" of {}", words::one_line(name))
        } else {
            String::new()
        }
    }

    /// Writes the problems of ignore rules.
    fn rules(&self, text: &mut String, answer: &DriftAnswer) {
        for rule in &answer.rule_problems {
            let paint = self.layout().paint;
            let of = self.of_ensemble(&answer.name);
            let (place, message) = split_place(rule);
            let kind = paint.tone(Tone::Doubt, &format!("? rule{of}"));
            self.wrapped_after(text, &format!("{kind}  "), &words::one_line(message));
            if let Some(place) = place {
                let place = paint.place(&place);
                words::append(text, format_args!("{:INDENT$}{place}\n", ""));
            }
        }
    }

    /// Writes the findings of the last answer that are gone.
    fn gone(&self, text: &mut String, answer: &DriftAnswer) {
        let gone = answer.transitions.iter().flat_map(|it| &it.gone);
        for finding in gone.filter(|it| Section::of(it) != Section::Ignored) {
            let kind = self.layout().paint.tone(Tone::Good, "✓ gone");
            let of = self.of_ensemble(&answer.name);
            let sides = sides(&finding.difference);
            let sides = sides.map_or(String::new(), |sides| format!(": {sides}"));
            let count = finding.sightings.as_ref().map(|it| times(it.count));
            let count = count.map_or(String::new(), |count| format!(" (seen {count})"));
            let line = format!("{}{of}{sides}{count}", subject(finding));
            self.wrapped_after(text, &format!("{kind}  "), &line);
        }
    }

    /// Writes the line of an ensemble that was not looked at, and of a clean one among several.
    fn ensemble(&self, text: &mut String, answer: &DriftAnswer) {
        let paint = self.layout().paint;
        let name = words::one_line(&answer.name);
        if let Some(of) = &answer.problem {
            let (word, message) = problem(of);
            let kind = paint.tone(Tone::Bad, &format!("✗ {name}"));
            self.wrapped_after(text, &format!("{kind} "), &format!("{word}:"));
            for line in message.lines() {
                self.wrapped(text, INDENT, &words::one_line(line), None);
            }
            return;
        }
        let has_findings = answer.findings.iter().any(|it| it.ignored_by.is_none());
        let is_clean = !has_findings && answer.rule_problems.is_empty();
        if !self.of_several || !is_clean {
            return;
        }
        let kind = paint.tone(Tone::Good, &format!("✓ {name}:"));
        let mut parts = vec![row(answer).unwrap_or_else(|| "clean".to_owned())];
        parts.push(DriftCounts::of([answer]).looked());
        self.wrapped_after(text, &format!("{kind} "), &parts.join("; "));
    }

    fn next(&self, text: &mut String, commands: &[(String, &'static str)]) {
        if commands.is_empty() {
            return;
        }
        text.push('\n');
        let widest = commands.iter().map(|(command, _)| command.width()).max();
        let widest = widest.unwrap_or(0);
        for (command, about) in commands {
            let space = widest - command.width() + 3;
            if 2 + widest + 3 + about.width() <= self.layout().width {
                words::append(text, format_args!("  {command}{:space$}{about}\n", ""));
            } else {
                words::append(text, format_args!("  {command}\n      {about}\n"));
            }
        }
    }

    /// Writes a text, wrapped between its words.
    fn wrapped(&self, text: &mut String, indent: usize, line: &str, tone: Option<Tone>) {
        let paint = self.layout().paint;
        let painted: Vec<String> = line
            .split(' ')
            .map(|word| tone.map_or_else(|| word.to_owned(), |tone| paint.tone(tone, word)))
            .collect();
        let layout = self.layout();
        layout.wrapped(text, indent, painted.iter().map(String::as_str));
    }

    /// Writes a text after a beginning that has colours.
    fn wrapped_after(&self, text: &mut String, begin: &str, line: &str) {
        let words = line.split(' ').map(str::to_owned);
        let mut all: Vec<String> = words.collect();
        if let Some(first) = all.first_mut() {
            first.insert_str(0, begin);
        }
        self.layout()
            .wrapped(text, 0, all.iter().map(String::as_str));
    }
}

/// Returns the reason of a block: that of its first member, if those of the others differ in the names alone.
fn reason(block: &Block<'_>) -> Option<String> {
    let first = words::one_line(block.first().reason.as_deref()?);
    let reasons = block.members.iter().map(|it| &it.finding.reason);
    let is_same = reasons.clone().all(|it| *it == block.first().reason);
    if is_same {
        return Some(first.into_owned());
    }
    let name = words::one_line(name(block.first()));
    Some(format!("{name}: {first}, and the same for the others"))
}

fn place_of(finding: &Finding) -> Option<SourcePosition> {
    read_place(finding.place.as_deref()?)
}
