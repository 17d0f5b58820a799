//! The sections of `unfurl.yaml` that have schedules: `schedules` itself, and those of environments.
//!
//! Unfurl refuses a project file with a section `schedules`, and passes over unknown keys of environments. Projects
//! that both programs read keep their schedules there.

use std::collections::HashSet;
use std::sync::Arc;

use super::spec_reader::Schedules;
use crate::diagnostic::Diagnostic;
use crate::yaml::{MapEntry, Node};

/// The environment that stands for all others.
const DEFAULTS: &str = "defaults";

/// A section with schedules.
#[derive(Debug, Clone)]
pub struct ScheduleSection {
    /// The environment of its schedules, unless they name another one.
    pub environment: Option<Arc<str>>,
    pub node: Node,
}

/// Returns the sections with schedules of a project file. `environments` is its section of that name.
pub fn schedule_sections(
    schedules: Option<&Node>,
    environments: Option<&Node>,
) -> Vec<ScheduleSection> {
    let own = schedules.map(|node| ScheduleSection {
        environment: None,
        node: node.clone(),
    });
    let environments = environments.and_then(Node::as_map).into_iter().flatten();
    let section = |(name, entry): (&Arc<str>, &MapEntry)| {
        Some(ScheduleSection {
            environment: (&**name != DEFAULTS).then(|| Arc::clone(name)),
            node: entry.value.get("schedules")?.clone(),
        })
    };
    own.into_iter()
        .chain(environments.filter_map(section))
        .collect()
}

impl Schedules {
    /// Reads all sections of a project. A name that an earlier section has is a problem.
    pub fn read_all(sections: &[ScheduleSection]) -> Self {
        let mut all = Self::default();
        let mut names: HashSet<Arc<str>> = HashSet::new();
        for section in sections {
            let mut read = Self::read(&section.node);
            for mut spec in read.specs.drain(..) {
                if !names.insert(Arc::clone(&spec.name)) {
                    let message = format!("two schedules have the name `{}`", spec.name);
                    let problem = Diagnostic::error(message).label(spec.span, "the second one");
                    all.problems.push(problem.help("rename one of them"));
                    continue;
                }
                if spec.environment.is_none() && spec.action.is_per_ensemble() {
                    spec.environment.clone_from(&section.environment);
                }
                all.specs.push(spec);
            }
            all.problems.append(read.problems);
            all.invalid.append(&mut read.invalid);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Sources;
    use crate::yaml::{Limits, parse};

    fn read(text: &str) -> Schedules {
        let mut sources = Sources::default();
        let id = sources.add("unfurl.yaml", text, None);
        let document = parse(&sources, id, &Limits::default()).unwrap();
        let sections = schedule_sections(document.get("schedules"), document.get("environments"));
        Schedules::read_all(&sections)
    }

    #[test]
    fn schedules_of_an_environment_use_that_environment() {
        let read = read(
            "schedules: {a: {every: 1h, action: drift}}
environments:
  defaults: {schedules: {b: {every: 1h, action: drift}}}
  prod: {schedules: {c: {every: 1h, action: drift}, d: {every: 1h, action: check, environment: test}}}
  test:
",
        );
        let found: Vec<_> = read
            .specs
            .iter()
            .map(|spec| (&*spec.name, spec.environment.as_deref()))
            .collect();
        assert_eq!(
            found,
            [
                ("a", None),
                ("b", None),
                ("c", Some("prod")),
                ("d", Some("test"))
            ]
        );
        assert!(read.problems.is_empty());
    }

    #[test]
    fn a_name_counts_once_in_all_sections() {
        let read = read(
            "schedules: {a: {every: 1h, action: drift}}
environments: {prod: {schedules: {a: {every: 2h, action: drift}, b: {every: x, action: drift}}}}
",
        );
        assert_eq!(read.specs.len(), 1);
        assert_eq!(read.invalid, ["b".into()]);
        let messages: Vec<_> = read.problems.iter().map(|it| it.message.clone()).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert_eq!(messages[0], "two schedules have the name `a`");
    }
}
