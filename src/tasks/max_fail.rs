//! The limit of failed hosts after which no further host of a task starts.
//!
//! It is given as `--max-fail N` or `--max-fail N%`.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// The number of failed hosts after which no further host of a task starts (F34).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxFail {
    /// An absolute number of hosts, at least 1.
    Count(usize),
    /// A percentage of the task's hosts. At least one host must fail.
    Percent(u8),
}

/// The error for a text that is not a valid limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a number of at least 1 nor a percentage from `1%` to `100%`")]
pub struct InvalidMaxFail(String);

impl MaxFail {
    /// Whether enough hosts have failed to stop.
    pub fn is_reached(self, failed: usize, hosts: usize) -> bool {
        match self {
            Self::Count(max) => failed >= max,
            Self::Percent(percent) => {
                failed > 0 && failed.saturating_mul(100) >= hosts.saturating_mul(percent.into())
            }
        }
    }
}

impl FromStr for MaxFail {
    type Err = InvalidMaxFail;

    fn from_str(text: &str) -> Result<Self, InvalidMaxFail> {
        let found = match text.strip_suffix('%') {
            Some(percent) => match percent.parse() {
                Ok(percent @ 1..=100) => Some(Self::Percent(percent)),
                _ => None,
            },
            None => match text.parse() {
                Ok(count @ 1..) => Some(Self::Count(count)),
                _ => None,
            },
        };
        found.ok_or_else(|| InvalidMaxFail(text.to_owned()))
    }
}

impl Display for MaxFail {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_of_few_hosts_is_at_least_one() {
        let ten: MaxFail = "10%".parse().unwrap();
        assert!(!ten.is_reached(0, 5));
        assert!(ten.is_reached(1, 5));
        assert!(!ten.is_reached(1, 20));
        assert!(ten.is_reached(2, 20));
        assert!("3".parse::<MaxFail>().unwrap().is_reached(3, 1000));
    }

    #[test]
    fn what_is_no_number_of_failures_is_refused() {
        insta::assert_snapshot!("0".parse::<MaxFail>().unwrap_err(), @"`0` is neither a number of at least 1 nor a percentage from `1%` to `100%`");
        assert!("101%".parse::<MaxFail>().is_err());
        assert!("x".parse::<MaxFail>().is_err());
    }
}
