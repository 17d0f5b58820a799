//! Findings of one cause over instances, hosts and ensembles as one block.

use indexmap::{IndexMap, IndexSet};

use super::phrases::{Section, name};
use crate::drift::{DriftAnswer, Finding};
use crate::ui::host_groups::{host_list, without_name};
use crate::ui::words;

/// The maximum number of entries in a list of names.
const MAX_NAMES: usize = 6;
/// The maximum number of different facts in a block, unless all details are shown.
const MAX_FACTS: usize = 3;

/// A finding with the name of its ensemble.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) ensemble: &'a str,
    pub(super) finding: &'a Finding,
}

/// Findings of one cause. A block has at least one.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) section: Section,
    pub(super) members: Vec<Member<'a>>,
}

/// Groups the findings of all answers by their cause, in the order of the sections. Ignored findings are left out
/// unless `with_ignored` is set.
pub(super) fn blocks(answers: &[DriftAnswer], with_ignored: bool) -> Vec<Block<'_>> {
    let mut groups: IndexMap<_, Vec<Member<'_>>> = IndexMap::new();
    for answer in answers {
        for finding in &answer.findings {
            let section = Section::of(finding);
            if section == Section::Ignored && !with_ignored {
                continue;
            }
            let reason = finding.reason.as_deref();
            let reason = reason.map(|reason| without_name(reason, name(finding)));
            let key = (section, finding.cause(), reason, &finding.ignored_by);
            groups.entry(key).or_default().push(Member {
                ensemble: &answer.name,
                finding,
            });
        }
    }
    let blocks = groups
        .into_iter()
        .map(|((section, ..), members)| Block { section, members });
    let mut blocks: Vec<_> = blocks.collect();
    blocks.sort_by_key(|block| block.section);
    blocks
}

impl<'a> Block<'a> {
    pub(super) fn first(&self) -> &'a Finding {
        self.members[0].finding
    }

    /// Names the members: `web1–web3 (3 instances)`. Ensembles are named if `of_several` is set.
    pub(super) fn label(&self, of_several: bool) -> String {
        let mut by_ensemble: IndexMap<&str, Vec<&str>> = IndexMap::new();
        for member in &self.members {
            let ensemble = if of_several { member.ensemble } else { "" };
            let names = by_ensemble.entry(ensemble).or_default();
            names.push(name(member.finding));
        }
        let list = |names: &Vec<&str>| host_list(names, MAX_NAMES);
        let names = match by_ensemble.first() {
            Some((ensemble, names)) if by_ensemble.len() == 1 => match *ensemble {
                "" => list(names),
                ensemble => format!("{} of {}", list(names), words::one_line(ensemble)),
            },
            _ => {
                let groups = by_ensemble.iter();
                let groups =
                    groups.map(|(of, names)| format!("{}: {}", words::one_line(of), list(names)));
                groups.collect::<Vec<_>>().join("; ")
            }
        };
        let hosts = self.hosts();
        let hosts = match &hosts[..] {
            [] => String::new(),
            hosts => format!(" on {}", host_list(hosts, MAX_NAMES)),
        };
        format!("{names}{hosts}{}", self.count(by_ensemble.len()))
    }

    /// Returns the machines of the instances.
    fn hosts(&self) -> Vec<&'a str> {
        let subjects = self.members.iter().map(|member| &member.finding.subject);
        let hosts = subjects.filter(|subject| subject.instance.is_some());
        let hosts: IndexSet<&str> = hosts.filter_map(|it| it.host.as_deref()).collect();
        hosts.into_iter().collect()
    }

    fn count(&self, ensembles: usize) -> String {
        if self.members.len() < 2 {
            return String::new();
        }
        let subjects = || self.members.iter().map(|member| &member.finding.subject);
        let noun = if subjects().all(|it| it.instance.is_some()) {
            "instance"
        } else if subjects().all(|it| it.instance.is_none()) {
            "host"
        } else {
            "finding"
        };
        let count = words::count(self.members.len(), noun);
        match ensembles {
            ..=1 => format!(" ({count})"),
            ensembles => format!(" ({count} in {})", words::count(ensembles, "ensemble")),
        }
    }

    /// Returns a fact about the members: once if all have the same, else with the names of those that it is about.
    pub(super) fn facts(
        &self,
        is_full: bool,
        fact: impl Fn(&Finding) -> Option<String>,
    ) -> Vec<String> {
        let mut groups: IndexMap<String, Vec<&str>> = IndexMap::new();
        for member in &self.members {
            if let Some(text) = fact(member.finding) {
                groups.entry(text).or_default().push(name(member.finding));
            }
        }
        if let [(text, names)] = groups.iter().collect::<Vec<_>>()[..]
            && names.len() == self.members.len()
        {
            return vec![text.clone()];
        }
        let max = if is_full { usize::MAX } else { MAX_FACTS };
        let hidden = groups.len().saturating_sub(max);
        let shown = groups.iter().take(max);
        let mut facts: Vec<String> = shown
            .map(|(text, names)| format!("{}: {text}", host_list(names, MAX_NAMES)))
            .collect();
        if hidden > 0 {
            facts.push(format!(
                "and {hidden} more like these; `--detail` shows them"
            ));
        }
        facts
    }
}
