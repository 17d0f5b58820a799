//! Status, node state and priority, with the words and numbers of Unfurl (rule U-g).

use std::fmt::{Display, Formatter};

macro_rules! vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $number:literal $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$vmeta])* $variant = $number,)*
        }

        impl $name {
            /// The values, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the word that files and the screen use.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns the number that orders the values.
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// Returns the value for a word. None for an unknown word.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == text)
            }

            /// Returns the value for a number. None for an unknown number.
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
    /// The condition of an instance compared with its specification.
    Status {
        /// The status has not been determined.
        Unknown = 0 "unknown",
        /// The instance is operational as specified.
        Ok = 1 "ok",
        /// The instance is operational, but not as specified.
        Degraded = 2 "degraded",
        /// The instance exists but is not operational.
        Error = 3 "error",
        /// The instance is being started or not created yet.
        Pending = 4 "pending",
        /// A check confirmed that the instance does not exist.
        Absent = 5 "absent",
    }
);

impl Status {
    /// Whether the instance is operational: `ok` or `degraded`.
    pub fn is_operational(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded)
    }

    /// Whether the instance exists: `ok`, `degraded` or `error`.
    pub fn is_present(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded | Self::Error)
    }

    /// Returns true if the instance does not exist, as far as known: `pending` or `absent`.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::Pending | Self::Absent)
    }
}

vocabulary!(
    /// The position of an instance in its life cycle (TOSCA 1.3, 3.4.1).
    ///
    /// During an operation the state ends in `-ing`; after its success the next state follows.
    NodeState {
        /// The instance is known, but no operation has started.
        Initial = 1 "initial",
        Creating = 2 "creating",
        Created = 3 "created",
        Configuring = 4 "configuring",
        Configured = 5 "configured",
        Starting = 6 "starting",
        Started = 7 "started",
        Stopping = 8 "stopping",
        Stopped = 9 "stopped",
        Deleting = 10 "deleting",
        Deleted = 11 "deleted",
        /// An operation of the instance failed.
        Error = 12 "error",
    }
);

impl NodeState {
    /// Whether an instance in this state has reached the state `other`.
    ///
    /// States up to `started` are consecutive. A stopped instance still counts as created and configured.
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

    /// Returns the state after the operation that entered this one succeeds.
    pub fn next(self) -> Option<Self> {
        Self::from_number(i64::from(self.number()) + 1)
    }
}

vocabulary!(
    /// The importance of an instance or a task for others.
    Priority {
        /// The status affects no other instance.
        Ignore = 0 "ignore",
        /// Dependent instances become degraded if this one fails.
        Optional = 1 "optional",
        /// Dependent instances fail if this one fails.
        Required = 2 "required",
        /// The job stops if this instance fails.
        Critical = 3 "critical",
    }
);
