//! Words, symbols and colours for the effect of a job on an instance.
//!
//! Plans, prompts, progress, summaries and commit messages use these words and no others.

use super::paint::{Paint, Tone};
use super::words::thousands;
use crate::job::InstanceAction;

impl InstanceAction {
    /// All effects in the order in which totals list them.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Change,
        Self::Replace,
        Self::Delete,
        Self::InDoubt,
        Self::Stop,
        Self::Run,
        Self::Check,
    ];

    /// Returns the symbol of a plan, such as `+`.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Create => "+",
            Self::Change => "~",
            Self::Replace => "-/+",
            Self::Delete => "-",
            Self::InDoubt => "?",
            Self::Stop | Self::Run | Self::Check => ">",
        }
    }

    /// Returns the verb for something that will be done, such as `create`.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::InDoubt => "in doubt",
            Self::Stop => "stop",
            Self::Run => "run",
            Self::Check => "check",
        }
    }

    /// Returns the participle for something that was done, such as `created`.
    pub const fn past(self) -> &'static str {
        match self {
            Self::Create => "created",
            Self::Change => "changed",
            Self::Replace => "replaced",
            Self::Delete => "deleted",
            Self::InDoubt => "run again",
            Self::Stop => "stopped",
            Self::Run => "run",
            Self::Check => "checked",
        }
    }

    /// Returns the tone of the effect.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Create => Tone::Good,
            Self::Change => Tone::Warning,
            Self::Replace | Self::InDoubt => Tone::Doubt,
            Self::Delete => Tone::Bad,
            Self::Stop | Self::Run | Self::Check => Tone::Note,
        }
    }

    /// Returns the symbol and the verb in colour, such as `+ create`.
    pub fn label(self, paint: Paint) -> String {
        paint.tone(self.tone(), &format!("{} {}", self.symbol(), self.verb()))
    }
}

/// Counts effects, in the order of [`InstanceAction::ALL`]. Effects that do not occur are left out.
pub fn count_actions(
    actions: impl IntoIterator<Item = InstanceAction>,
) -> Vec<(InstanceAction, usize)> {
    let mut counts = [0; InstanceAction::ALL.len()];
    for action in actions {
        let place = InstanceAction::ALL.iter().position(|it| *it == action);
        if let Some(count) = place.and_then(|place| counts.get_mut(place)) {
            *count += 1;
        }
    }
    let counted = InstanceAction::ALL.into_iter().zip(counts);
    counted.filter(|(_, count)| *count > 0).collect()
}

/// Lists the counts of planned effects: `create 3, change 1`. Empty without any.
pub fn planned_counts(counts: &[(InstanceAction, usize)]) -> String {
    let words = counts.iter().map(|(action, count)| match action {
        InstanceAction::InDoubt => format!("{} in doubt", thousands(*count)),
        action => format!("{} {}", action.verb(), thousands(*count)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Lists the counts of effects that a job had: `3 created, 1 changed`. Empty without any.
pub fn done_counts(counts: &[(InstanceAction, usize)]) -> String {
    let words = counts
        .iter()
        .map(|(action, count)| format!("{} {}", thousands(*count), action.past()));
    words.collect::<Vec<_>>().join(", ")
}

/// Returns the participle for a finished operation, such as `configured`. None for other operations.
pub fn operation_participle(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "create" => "created",
        "configure" => "configured",
        "start" => "started",
        "stop" => "stopped",
        "delete" => "deleted",
        "check" => "checked",
        "discover" => "discovered",
        "connect" => "connected",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::paint::without_colours;
    use super::*;

    #[test]
    fn counts_are_listed_in_a_fixed_order() {
        use InstanceAction::{Change, Create, InDoubt};
        let counts = count_actions([Change, Create, InDoubt, Create]);
        assert_eq!(planned_counts(&counts), "create 2, change 1, 1 in doubt");
        assert_eq!(done_counts(&counts), "2 created, 1 changed, 1 run again");
        assert_eq!(planned_counts(&[]), "");
    }

    #[test]
    fn labels_have_the_same_words_in_colour() {
        for action in InstanceAction::ALL {
            let plain = action.label(Paint::plain());
            assert_eq!(without_colours(&action.label(Paint::new(true))), plain);
        }
        assert_eq!(InstanceAction::Replace.label(Paint::plain()), "-/+ replace");
    }
}
