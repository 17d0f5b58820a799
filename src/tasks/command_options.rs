//! The options with which commands run, and how a step inherits those of the blocks around it.

use std::time::Duration;

use super::TemplateText;

/// The options with which a command runs.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each field is a separate option"
)]
pub struct CommandOptions {
    /// The exit codes that mean success. Empty if only 0 does.
    pub ok_codes: Vec<i32>,
    /// The working folder of the command on a host.
    pub cd: Option<TemplateText>,
    /// The folder of this machine that local commands run in and local paths start at.
    pub lcd: Option<TemplateText>,
    pub env: Vec<(String, TemplateText)>,
    /// The commands that run before the command, in its shell.
    pub prefix: Vec<TemplateText>,
    /// The changes to `PATH` of the command.
    pub path: PathChange,
    /// The shell that runs the command, instead of the environment's.
    pub shell: Option<TemplateText>,
    /// The text that the command reads from its standard input.
    pub stdin: Option<TemplateText>,
    /// True if the command reads the input of this program, instead of `stdin`.
    pub program_input: bool,
    /// True if the command runs in a pseudo-terminal.
    pub pty: bool,
    /// True if the SSH server gets the text as it is, without a shell of this program.
    pub raw: bool,
    /// The time limit of the command.
    pub time_limit: Option<Duration>,
    /// The maximum size of long outputs of the command that are kept whole.
    pub capture: Option<u64>,
    /// For a command that restarts its host: the time within which the host must be up again.
    pub restart: Option<Duration>,
    /// True if the command and its output are hidden.
    pub secret: bool,
    /// The kinds of output that are hidden.
    pub hide: OutputKinds,
    /// The kinds of output that are shown although a block around hides them.
    pub show: OutputKinds,
}

/// Folders that are added to `PATH`, or replace it.
#[derive(Debug, Clone, Default)]
pub struct PathChange {
    pub append: Vec<TemplateText>,
    pub prepend: Vec<TemplateText>,
    pub replace: Option<Vec<TemplateText>>,
}

/// A set of kinds of output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutputKinds(u8);

impl OutputKinds {
    /// The text of each step before it runs.
    pub const RUNNING: Self = Self(1);
    pub const STDOUT: Self = Self(2);
    pub const STDERR: Self = Self(4);
    /// The warnings about failures that are tolerated.
    pub const WARNINGS: Self = Self(8);
    /// The messages of `echo`.
    pub const USER: Self = Self(16);
    /// The output of commands.
    pub const OUTPUT: Self = Self(2 | 4);

    /// The names of the kinds in `tasks.yaml`, with those of groups.
    pub(super) const NAMES: [(&'static str, Self); 8] = [
        ("running", Self::RUNNING),
        ("stdout", Self::STDOUT),
        ("stderr", Self::STDERR),
        ("warnings", Self::WARNINGS),
        ("user", Self::USER),
        ("output", Self::OUTPUT),
        ("commands", Self(1 | 2 | 4)),
        ("everything", Self(31)),
    ];

    /// Returns true if the set has all of these kinds.
    pub fn has(self, kinds: Self) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    #[must_use]
    pub(super) fn with(self, kinds: Self) -> Self {
        Self(self.0 | kinds.0)
    }

    fn without(self, kinds: Self) -> Self {
        Self(self.0 & !kinds.0)
    }
}

/// The options of a step and of the blocks and the task around it, outermost first.
#[derive(Debug, Clone, Copy)]
pub(super) struct OptionStack<'a>(pub(super) &'a [&'a CommandOptions]);

impl<'a> OptionStack<'a> {
    /// Returns the innermost value of an option.
    pub(super) fn innermost<T>(self, of: impl Fn(&'a CommandOptions) -> Option<T>) -> Option<T> {
        self.0.iter().rev().find_map(|options| of(options))
    }

    /// Returns true if the flag is set anywhere.
    pub(super) fn any(self, of: impl Fn(&CommandOptions) -> bool) -> bool {
        self.0.iter().any(|options| of(options))
    }

    /// Returns the values of all levels, outermost first.
    pub(super) fn all<T: 'a>(
        self,
        of: impl Fn(&'a CommandOptions) -> &'a [T],
    ) -> impl Iterator<Item = &'a T> {
        self.0.iter().flat_map(move |options| of(options).iter())
    }

    /// Returns the kinds of output that are hidden: what an inner level shows again is shown.
    pub(super) fn hidden(self) -> OutputKinds {
        let none = OutputKinds::default();
        self.0.iter().fold(none, |hidden, options| {
            hidden.with(options.hide).without(options.show)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_level_shows_again_what_an_outer_one_hides() {
        let outer = CommandOptions {
            hide: OutputKinds::OUTPUT.with(OutputKinds::RUNNING),
            ..CommandOptions::default()
        };
        let inner = CommandOptions {
            show: OutputKinds::STDOUT,
            ..CommandOptions::default()
        };
        let hidden = OptionStack(&[&outer, &inner]).hidden();
        assert!(hidden.has(OutputKinds::STDERR) && hidden.has(OutputKinds::RUNNING));
        assert!(!hidden.has(OutputKinds::STDOUT) && !hidden.has(OutputKinds::OUTPUT));
    }
}
