//! Renders the instances of an ensemble as a tree, as `unfurl status` prints it.
//!
//! The caller computes the lines and their depths.

use std::time::Duration;

use unicode_width::UnicodeWidthStr as _;

use super::paint::{Paint, Tone};
use super::words;
use crate::name::{NodeState, Status};
use crate::value::Value;

/// The minimum width in which a type is shown.
const MIN_TYPE: usize = 12;

/// A line of the tree, for one instance.
#[derive(Debug, Clone)]
pub struct StatusLine {
    /// The depth in the tree, which sets the indent.
    pub depth: usize,
    /// The name with those of the enclosing topologies.
    pub name: String,
    /// The node type.
    pub type_name: String,
    /// Whether the instance has the directive `virtual`.
    pub is_virtual: bool,
    /// Whether the instance is computed by others.
    pub is_computed: bool,
    /// The status of the instance itself.
    pub local: Option<Status>,
    /// The status as other instances see it.
    pub effective: Status,
    /// The state in the TOSCA life cycle.
    pub state: Option<NodeState>,
    /// The creator: a change id, an instance key, true or false; null if unknown.
    pub created: Value,
    /// The time since the last change.
    pub age: Option<Duration>,
    /// The reason for which the instance is not ok, if it is known.
    pub problem: Option<String>,
    /// The drift that the last look recorded.
    pub drift: Option<String>,
}

/// Renders the tree as text, one line per instance and one per problem, and the counts as the last line.
///
/// Names are never cut. Types are cut or left out if the lines would be wider than `width`.
pub fn status_tree(lines: &[StatusLine], width: u16, paint: Paint) -> String {
    if lines.is_empty() {
        return "No instances are recorded.\n".to_owned();
    }
    let widest = |column: fn(&StatusLine) -> String| {
        let cells = lines.iter().map(|line| column(line).width());
        cells.max().unwrap_or(0)
    };
    let widths = [
        widest(StatusLine::label),
        widest(StatusLine::status),
        widest(StatusLine::state),
        widest(|line| line.age.map_or_else(String::new, age_text)),
    ];
    let room = usize::from(width).saturating_sub(widths.iter().sum::<usize>() + 2 + 4 * 2);
    let mut text = String::new();
    for line in lines {
        line.write(&mut text, widths, room, paint);
    }
    text.push_str(&counts(lines, paint));
    text
}

/// Returns the age in its largest unit: `just now`, `15 s ago`, `3 h ago`.
pub fn age_text(age: Duration) -> String {
    let seconds = age.as_secs();
    let (count, unit) = match seconds {
        ..10 => return "just now".to_owned(),
        10..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{count} {unit} ago")
}

/// Returns the number of instances by status as a line. Virtual instances do not count.
fn counts(lines: &[StatusLine], paint: Paint) -> String {
    let order = [
        Status::Ok,
        Status::Degraded,
        Status::Error,
        Status::Pending,
        Status::Unknown,
        Status::Absent,
    ];
    let counted = order.into_iter().filter_map(|status| {
        let own = lines.iter().filter(|line| !line.is_virtual);
        let count = own.filter(|line| line.effective == status).count();
        let text = format!("{} {status}", words::thousands(count));
        (count > 0).then(|| paint.tone(tone_of(status), &text))
    });
    let counted: Vec<String> = counted.collect();
    format!("\n{}\n", counted.join(", "))
}

const fn tone_of(status: Status) -> Tone {
    match status {
        Status::Ok => Tone::Good,
        Status::Degraded => Tone::Warning,
        Status::Error => Tone::Bad,
        Status::Pending | Status::Absent => Tone::Dim,
        Status::Unknown => Tone::Doubt,
    }
}

const fn symbol_of(status: Status) -> &'static str {
    match status {
        Status::Ok => "✓",
        Status::Degraded => "!",
        Status::Error => "✗",
        Status::Pending => "·",
        Status::Absent => "-",
        Status::Unknown => "?",
    }
}

impl StatusLine {
    /// Returns the name with the indent of its depth.
    fn label(&self) -> String {
        let name = words::one_line(&self.name);
        format!("{:indent$}{name}", "", indent = 2 * self.depth)
    }

    fn status(&self) -> String {
        match self.local {
            _ if self.is_virtual => "virtual".to_owned(),
            Some(local) if local != self.effective && !self.is_computed => {
                format!("{} (own: {local})", self.effective)
            }
            _ => self.effective.to_string(),
        }
    }

    fn state(&self) -> String {
        self.state.map_or("", NodeState::as_str).to_owned()
    }

    fn write(&self, text: &mut String, widths: [usize; 4], room: usize, paint: Paint) {
        let [name, status, state, age] = widths;
        let tone = if self.is_virtual {
            Tone::Dim
        } else {
            tone_of(self.effective)
        };
        let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let mut line = paint.tone(tone, symbol_of(self.effective));
        let label = self.label();
        line.push_str(&format!(" {label}{}", pad(&label, name)));
        let word = self.status();
        let painted = paint.tone(tone, &word);
        line.push_str(&format!("  {painted}{}", pad(&word, status)));
        for (cell, width) in [
            (self.state(), state),
            (self.age.map_or_else(String::new, age_text), age),
        ] {
            if width > 0 {
                line.push_str(&format!("  {cell}{}", pad(&cell, width)));
            }
        }
        if room >= MIN_TYPE {
            let type_name = words::one_line(&self.type_name);
            let type_name = words::shorten(&type_name, room);
            line.push_str(&format!("  {}", paint.tone(Tone::Dim, &type_name)));
        }
        words::append(text, format_args!("{}\n", line.trim_end()));
        if let Some(problem) = &self.problem {
            let problem = paint.tone(Tone::Bad, &words::one_line(problem));
            let indent = 4 + 2 * self.depth;
            words::append(text, format_args!("{:indent$}{problem}\n", ""));
        }
        if let Some(drift) = &self.drift {
            let drift = format!("! {}", words::one_line(drift));
            let drift = paint.tone(Tone::Warning, &drift);
            let indent = 4 + 2 * self.depth;
            words::append(text, format_args!("{:indent$}{drift}\n", ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::paint::without_colours;
    use super::*;

    fn line(depth: usize, name: &str, status: Status) -> StatusLine {
        StatusLine {
            depth,
            name: name.to_owned(),
            type_name: "tosca.nodes.SoftwareComponent".to_owned(),
            is_virtual: false,
            is_computed: false,
            local: Some(status),
            effective: status,
            state: Some(NodeState::Started),
            created: Value::Null,
            age: Some(Duration::from_secs(7_300)),
            problem: None,
            drift: None,
        }
    }

    fn sample() -> Vec<StatusLine> {
        let mut lines = vec![
            line(0, "server", Status::Ok),
            line(1, "database", Status::Error),
            line(1, "web", Status::Ok),
            line(0, "late", Status::Pending),
        ];
        lines[1].problem = Some("configure failed: exit code 3".to_owned());
        lines[2].effective = Status::Error;
        lines[2].problem = Some("because `database` is error".to_owned());
        lines[3].state = None;
        lines[3].age = None;
        lines[0].drift = Some("drifted since yesterday: status: ok → error".to_owned());
        lines
    }

    #[test]
    fn the_tree_shows_status_state_age_and_problems() {
        let plain = status_tree(&sample(), 100, Paint::plain());
        let coloured = status_tree(&sample(), 100, Paint::new(true));
        assert_eq!(without_colours(&coloured), plain);
        assert!(coloured.contains("\x1b[31m✗\x1b[0m"), "{coloured}");
        insta::assert_snapshot!(plain, @"
        ✓ server      ok               started  2 h ago  tosca.nodes.SoftwareComponent
            ! drifted since yesterday: status: ok → error
        ✗   database  error            started  2 h ago  tosca.nodes.SoftwareComponent
              configure failed: exit code 3
        ✗   web       error (own: ok)  started  2 h ago  tosca.nodes.SoftwareComponent
              because `database` is error
        · late        pending                            tosca.nodes.SoftwareComponent

        1 ok, 2 error, 1 pending
        ");
    }

    #[test]
    fn a_narrow_tree_cuts_types_and_keeps_names() {
        let narrow = status_tree(&sample(), 65, Paint::plain());
        assert!(
            narrow.contains("started  2 h ago  tosca.nodes.Sof…\n"),
            "{narrow}"
        );
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 65),
            "{narrow}"
        );
        let narrow = status_tree(&sample(), 20, Paint::plain());
        assert!(!narrow.contains("tosca"), "{narrow}");
        assert!(narrow.contains("✗   database  error"), "{narrow}");
    }
}
