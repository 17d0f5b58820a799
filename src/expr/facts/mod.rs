//! The facts about a raw value that can be determined without evaluating it: the names that its expressions
//! and templates use, and their syntax errors. [`facts`] is the entry; the static checks judge the facts.

mod fact;
mod hints;
mod template_facts;
mod walk;

pub use fact::{Fact, MemberRead};
pub use hints::{filter_hint, function_hint, part_hint, test_hint};
pub use walk::{facts, raw_template_facts};
