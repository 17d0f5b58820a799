//! Status, node state and priority, with the numbers and names Unfurl gives them (§ (g)).

use std::fmt::{Display, Formatter};

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vmeta])* $variant = $number,)*
        }

        impl $name {
            /// Every value, in the order of its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word used in files and on the screen.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The number that orders the values.
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// The value of a word, if it is one.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }

            /// The value of a number, if it has one.
            pub fn from_number(number: i64) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| i64::from(value.number()) == number)
            }
        }

        impl Display for $name {
            fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

vocabulary!(
    /// What an instance is worth relative to its specification.
    Status {
        /// Nothing is known.
        Unknown = 0 "unknown",
        /// Operational.
        Ok = 1 "ok",
        /// Operational, but not as it should be.
        Degraded = 2 "degraded",
        /// Not operational.
        Error = 3 "error",
        /// Being brought up, or not created yet.
        Pending = 4 "pending",
        /// Confirmed not to exist.
        Absent = 5 "absent",
    }
);

impl Status {
    /// Whether the instance works: `ok` or `degraded`.
    pub fn is_operational(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded)
    }

    /// Whether the instance exists: `ok`, `degraded` or `error`.
    pub fn is_present(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded | Self::Error)
    }
}

vocabulary!(
    /// Where an instance is in its life cycle (TOSCA 1.3, 3.4.1).
    NodeState {
        /// Known, not begun.
        Initial = 1 "initial",
        /// `create` runs.
        Creating = 2 "creating",
        /// `create` is done.
        Created = 3 "created",
        /// `configure` runs.
        Configuring = 4 "configuring",
        /// `configure` is done.
        Configured = 5 "configured",
        /// `start` runs.
        Starting = 6 "starting",
        /// `start` is done.
        Started = 7 "started",
        /// `stop` runs.
        Stopping = 8 "stopping",
        /// `stop` is done.
        Stopped = 9 "stopped",
        /// `delete` runs.
        Deleting = 10 "deleting",
        /// `delete` is done.
        Deleted = 11 "deleted",
        /// It failed.
        Error = 12 "error",
    }
);

impl NodeState {
    /// Whether an instance in this state has come as far as `other`: states up to `started` follow
    /// each other, and a stopped instance is still created and configured.
    pub fn has_passed(self, other: Self) -> bool {
        match other {
            Self::Initial => true,
            Self::Error => self == Self::Error,
            _ if self == Self::Error => false,
            _ if other < Self::Stopping => {
                let stopped = matches!(self, Self::Stopping | Self::Stopped);
                (self < Self::Stopping && self >= other) || (stopped && other < Self::Starting)
            }
            Self::Stopping | Self::Stopped => {
                matches!(self, Self::Stopping | Self::Stopped) && self >= other
            }
            _ => self >= other,
        }
    }

    /// The state that follows when the operation that entered this one succeeds.
    pub fn next(self) -> Option<Self> {
        Self::from_number(i64::from(self.number()) + 1)
    }
}

vocabulary!(
    /// How much others rely on an instance or a task.
    Priority {
        /// Its status counts for nobody.
        Ignore = 0 "ignore",
        /// Others become degraded with it.
        Optional = 1 "optional",
        /// Others fail with it.
        Required = 2 "required",
        /// The job stops with it.
        Critical = 3 "critical",
    }
);
