//! The clock of this machine.
#![expect(clippy::disallowed_methods, reason = "this is the door")]

use jiff::Timestamp;

/// Says what time it is.
pub fn now() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let earlier = now();
        assert!(now() >= earlier);
    }
}
