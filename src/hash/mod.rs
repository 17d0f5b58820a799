//! Tables that are looked into often, faster than those of the standard library.

mod fold;

pub use fold::{Fold, FoldMap};
