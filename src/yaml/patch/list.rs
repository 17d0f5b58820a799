//! Edits of lists.

use super::change::Change;
use super::edit::{Editor, Parts, PatchError, Slot, Target};
use super::mapping::runs;
use crate::value::{List, Value};
use crate::yaml::emit::emit_flow;
use crate::yaml::{Node, Step};

/// What happens to a list, sorted out.
#[derive(Default)]
struct Plan<'a> {
    edited: Vec<(usize, &'a Change)>,
    removed: Vec<usize>,
    added: List,
}

impl<'a> Plan<'a> {
    fn of(target: Target<'_>, parts: &'a Parts, length: usize) -> Result<Self, PatchError> {
        let mut plan = Self::default();
        let no_such_place = || PatchError::no_such_place(target.route, "a list");
        for (step, change) in parts {
            let Step::Index(index) = step else {
                return Err(no_such_place());
            };
            match change {
                Change::Remove if *index < length => plan.removed.push(*index),
                Change::Remove => {}
                change if *index < length => plan.edited.push((*index, change)),
                change if *index == length + plan.added.len() => {
                    let route = target.route.clone().index(*index);
                    plan.added.extend(change.onto(None, &route)?);
                }
                _ => return Err(no_such_place()),
            }
        }
        plan.removed.sort_unstable();
        Ok(plan)
    }
}

impl Editor<'_> {
    pub(super) fn block_list(
        &mut self,
        target: Target<'_>,
        items: &[Node],
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let plan = Plan::of(target, parts, items.len())?;
        if plan.removed.len() == items.len() {
            self.replace(target.node, &Value::from(plan.added), target.slot);
            return Ok(());
        }
        let dashes: Option<Vec<usize>> = self.dashes(target, items, &plan);
        let Some(dashes) = dashes else {
            return self.rewrite(target);
        };
        let column = self.page.prefix(dashes[0]).chars().count();
        self.edit_items(target, items, plan.edited, |index| Slot::Item {
            from: dashes[index] + 1,
            column,
        })?;
        for run in runs(&plan.removed) {
            self.lose_items(&items[run.clone()]);
            let start = dashes[run.start];
            let end = (items[run.end - 1].span().end as usize).max(dashes[run.end - 1] + 1);
            let range = if self.page.prefix(start).trim().is_empty() {
                self.page.line_start(start)..self.page.behind_lines(end, column)
            } else {
                start
                    ..dashes
                        .get(run.end)
                        .copied()
                        .ok_or_else(|| target.unsupported())?
            };
            self.page.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let lines = self.fragments().items(&plan.added, column);
            let last_goes = plan.removed.last() == Some(&(items.len() - 1));
            self.add_lines(target, &lines, last_goes);
        }
        Ok(())
    }

    fn lose_items(&mut self, items: &[Node]) {
        for item in items {
            self.lose_anchors(item);
        }
    }

    fn edit_items(
        &mut self,
        target: Target<'_>,
        items: &[Node],
        edited: Vec<(usize, &Change)>,
        slot_of: impl Fn(usize) -> Slot,
    ) -> Result<(), PatchError> {
        for (index, change) in edited {
            let route = target.route.clone().index(index);
            self.edit(Target {
                node: &items[index],
                change,
                slot: slot_of(index),
                route: &route,
            })?;
        }
        Ok(())
    }

    /// The dashes of a block list, `None` if some cannot be found. To append, the first is enough:
    /// lists of records are long.
    fn dashes(&self, target: Target<'_>, items: &[Node], plan: &Plan<'_>) -> Option<Vec<usize>> {
        let only_added = plan.edited.is_empty() && plan.removed.is_empty();
        let needed = if only_added { &items[..1] } else { items };
        let mut done = target.start();
        let mut dashes = Vec::with_capacity(needed.len());
        for item in needed {
            let start = item.span().start as usize;
            if item.span().source != target.node.span().source || start < done {
                // An alias: its own place is not known.
                return None;
            }
            dashes.push(self.page.dash_before(start)?);
            done = item.span().end as usize;
        }
        Some(dashes)
    }

    pub(super) fn flow_list(
        &mut self,
        target: Target<'_>,
        items: &[Node],
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let plan = Plan::of(target, parts, items.len())?;
        if plan.removed.len() == items.len() {
            self.replace(target.node, &Value::from(plan.added), target.slot);
            return Ok(());
        }
        let mut done = target.start();
        let mut places = Vec::with_capacity(items.len());
        for item in items {
            let (start, end) = (item.span().start as usize, item.span().end as usize);
            if start < done || item.span().source != target.node.span().source {
                return self.rewrite(target);
            }
            places.push(self.page.with_properties(start)..end);
            done = end;
        }
        self.edit_items(target, items, plan.edited, |_| Slot::FlowItem)?;
        for run in runs(&plan.removed) {
            self.lose_items(&items[run.clone()]);
            let range = match (places.get(run.end), run.start.checked_sub(1)) {
                (Some(next), _) => places[run.start].start..next.start,
                (None, Some(before)) => places[before].end..places[run.end - 1].end,
                (None, None) => continue,
            };
            self.page.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let kept = (0..places.len())
                .rev()
                .find(|index| !plan.removed.contains(index));
            let place = kept.map_or(target.end(), |index| places[index].end);
            let mut text = String::new();
            for item in &plan.added {
                text.push_str(", ");
                text.push_str(&emit_flow(item));
            }
            self.page.splice(place, place, &text);
        }
        Ok(())
    }
}
