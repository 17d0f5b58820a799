//! The edits of block and flow lists: changes, removals and additions of items.

use super::change::ValueChange;
use super::edit::{EditTarget, Editor, Parts, PatchError, ValueSlot};
use super::mapping::runs;
use crate::value::{List, Value};
use crate::yaml::emit::emit_flow;
use crate::yaml::{Node, RouteStep};

/// The changes of a list, by kind.
#[derive(Default)]
struct ListPlan<'a> {
    edited: Vec<(usize, &'a ValueChange)>,
    removed: Vec<usize>,
    added: List,
}

impl<'a> ListPlan<'a> {
    fn of(target: EditTarget<'_>, parts: &'a Parts, length: usize) -> Result<Self, PatchError> {
        let mut plan = Self::default();
        let no_such_place = || PatchError::no_such_part(target.route, "a list");
        for (step, change) in parts {
            let RouteStep::Index(index) = step else {
                return Err(no_such_place());
            };
            match change {
                ValueChange::Remove if *index < length => plan.removed.push(*index),
                ValueChange::Remove => {}
                change if *index < length => plan.edited.push((*index, change)),
                change if *index == length + plan.added.len() => {
                    let route = target.route.clone().index(*index);
                    plan.added.extend(change.apply_to(None, &route)?);
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
        target: EditTarget<'_>,
        items: &[Node],
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let plan = ListPlan::of(target, parts, items.len())?;
        if plan.removed.len() == items.len() {
            self.replace(target.node, &Value::from(plan.added), target.slot);
            return Ok(());
        }
        let dashes: Option<Vec<usize>> = self.dashes(target, items, &plan);
        let Some(dashes) = dashes else {
            return self.rewrite(target);
        };
        let column = self.buffer.prefix(dashes[0]).chars().count();
        self.edit_items(target, items, plan.edited, |index| ValueSlot::Item {
            from: dashes[index] + 1,
            column,
        })?;
        for run in runs(&plan.removed) {
            self.record_lost_items(&items[run.clone()]);
            let start = dashes[run.start];
            let end = (items[run.end - 1].span().end as usize).max(dashes[run.end - 1] + 1);
            let range = if self.buffer.prefix(start).trim().is_empty() {
                self.buffer.line_start(start)..self.buffer.element_end(end, column)
            } else {
                start
                    ..dashes
                        .get(run.end)
                        .copied()
                        .ok_or_else(|| target.unsupported())?
            };
            self.buffer.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let lines = self.fragments().items(&plan.added, column);
            let removes_last = plan.removed.last() == Some(&(items.len() - 1));
            self.add_lines(target, &lines, removes_last);
        }
        Ok(())
    }

    fn record_lost_items(&mut self, items: &[Node]) {
        for item in items {
            self.record_lost_anchors(item);
        }
    }

    fn edit_items(
        &mut self,
        target: EditTarget<'_>,
        items: &[Node],
        edited: Vec<(usize, &ValueChange)>,
        slot_of: impl Fn(usize) -> ValueSlot,
    ) -> Result<(), PatchError> {
        for (index, change) in edited {
            let route = target.route.clone().index(index);
            self.edit(EditTarget {
                node: &items[index],
                change,
                slot: slot_of(index),
                route: &route,
            })?;
        }
        Ok(())
    }

    /// Returns the positions of the dashes of a block list. None if one cannot be found.
    ///
    /// An append needs only the first dash, which matters because lists of records are long.
    fn dashes(
        &self,
        target: EditTarget<'_>,
        items: &[Node],
        plan: &ListPlan<'_>,
    ) -> Option<Vec<usize>> {
        let only_added = plan.edited.is_empty() && plan.removed.is_empty();
        let needed = if only_added { &items[..1] } else { items };
        let mut done = target.start();
        let mut dashes = Vec::with_capacity(needed.len());
        for item in needed {
            let start = item.span().start as usize;
            if item.span().source != target.node.span().source || start < done {
                // The span of an alias is that of its anchor, so its own position is unknown.
                return None;
            }
            dashes.push(self.buffer.dash_before(start)?);
            done = item.span().end as usize;
        }
        Some(dashes)
    }

    pub(super) fn flow_list(
        &mut self,
        target: EditTarget<'_>,
        items: &[Node],
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let plan = ListPlan::of(target, parts, items.len())?;
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
            places.push(self.buffer.start_with_properties(start)..end);
            done = end;
        }
        self.edit_items(target, items, plan.edited, |_| ValueSlot::FlowItem)?;
        for run in runs(&plan.removed) {
            self.record_lost_items(&items[run.clone()]);
            let range = match (places.get(run.end), run.start.checked_sub(1)) {
                (Some(next), _) => places[run.start].start..next.start,
                (None, Some(before)) => places[before].end..places[run.end - 1].end,
                (None, None) => continue,
            };
            self.buffer.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let last_retained = (0..places.len())
                .rev()
                .find(|index| !plan.removed.contains(index));
            let place = last_retained.map_or(target.end(), |index| places[index].end);
            let mut text = String::new();
            for item in &plan.added {
                text.push_str(", ");
                text.push_str(&emit_flow(item));
            }
            self.buffer.splice(place, place, &text);
        }
        Ok(())
    }
}
