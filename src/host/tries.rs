//! The bound of how often a person is asked the same.

/// Counts how often somebody was asked the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries(u8);

impl Tries {
    /// How often somebody is asked the same.
    pub const MAX: u8 = 3;

    /// Counts one more try; says whether it may be made.
    pub fn again(&mut self) -> bool {
        let may = self.0 < Self::MAX;
        self.0 += u8::from(may);
        may
    }

    /// Whether nobody was asked yet.
    pub fn are_none(self) -> bool {
        self.0 == 0
    }

    /// Whether nobody is asked any more.
    pub fn are_over(self) -> bool {
        self.0 == Self::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_asked_three_times() {
        let mut tries = Tries::default();
        assert!(tries.are_none() && !tries.are_over());
        assert_eq!(
            [(); 5].map(|()| tries.again()),
            [true, true, true, false, false]
        );
        assert!(tries.are_over() && !tries.are_none());
    }
}
