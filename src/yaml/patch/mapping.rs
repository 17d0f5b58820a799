//! The edits of block and flow mappings: changes, removals and additions of entries.

use std::ops::Range;
use std::sync::Arc;

use super::change::ValueChange;
use super::edit::{EditTarget, Editor, Parts, PatchError, ValueSlot};
use crate::value::{Map, Value};
use crate::yaml::emit::emit_flow;
use crate::yaml::{MapEntry, Mapping, RouteStep};

/// The byte range of an entry.
#[derive(Clone, Copy)]
struct EntryExtent {
    /// The start of the key, including its tag and anchor.
    start: usize,
    /// The position after the colon of the key.
    from: usize,
    end: usize,
    alias: bool,
}

/// The removals and additions of a mapping.
#[derive(Default)]
struct MappingPlan {
    /// The indices of the entries to remove, in ascending order.
    removed: Vec<usize>,
    added: Map,
}

impl Editor<'_> {
    pub(super) fn block_map(
        &mut self,
        target: EditTarget<'_>,
        map: &Mapping,
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let Some(column) = self.column(target, map) else {
            return self.rewrite(target);
        };
        let Some(plan) = self.entries(target, map, parts, Some(column))? else {
            return self.rewrite(target);
        };
        if plan.removed.len() == map.len() {
            self.replace(target.node, &Value::from(plan.added), target.slot);
            return Ok(());
        }
        for run in runs(&plan.removed) {
            let Some(range) = self.lines_of(map, &run) else {
                return Err(target.unsupported());
            };
            self.record_lost_entries(map, &run);
            self.buffer.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let lines = self.fragments().entries(&plan.added, column);
            let removes_last = plan.removed.last() == map.own_len().checked_sub(1).as_ref();
            self.add_lines(target, &lines, removes_last);
        }
        Ok(())
    }

    pub(super) fn flow_map(
        &mut self,
        target: EditTarget<'_>,
        map: &Mapping,
        parts: &Parts,
    ) -> Result<(), PatchError> {
        let extents: Option<Vec<EntryExtent>> = (0..map.own_len())
            .map(|index| self.extent(map, index))
            .collect();
        let Some(extents) = extents else {
            return self.rewrite(target);
        };
        let Some(plan) = self.entries(target, map, parts, None)? else {
            return self.rewrite(target);
        };
        if plan.removed.len() == map.own_len() {
            if map.len() > map.own_len() {
                return Err(target.unsupported());
            }
            self.replace(target.node, &Value::from(plan.added), target.slot);
            return Ok(());
        }
        if !plan.removed.is_empty() && map.len() > map.own_len() {
            return Err(target.unsupported());
        }
        for run in runs(&plan.removed) {
            self.record_lost_entries(map, &run);
            let range = match (extents.get(run.end), run.start.checked_sub(1)) {
                (Some(next), _) => extents[run.start].start..next.start,
                (None, Some(before)) => extents[before].end..extents[run.end - 1].end,
                (None, None) => continue,
            };
            self.buffer.splice(range.start, range.end, "");
        }
        if !plan.added.is_empty() {
            let last_retained = (0..extents.len())
                .rev()
                .find(|index| !plan.removed.contains(index));
            let place = last_retained.map_or(target.start() + 1, |index| extents[index].end);
            let text = emit_flow(&Value::from(plan.added));
            let text = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'));
            let text = text.unwrap_or_default();
            self.buffer.splice(place, place, &format!(", {text}"));
        }
        Ok(())
    }

    /// Edits the remaining entries and returns the removals and additions.
    ///
    /// None if a position cannot be found. A missing `column` means a flow mapping.
    fn entries(
        &mut self,
        target: EditTarget<'_>,
        map: &Mapping,
        parts: &Parts,
        column: Option<usize>,
    ) -> Result<Option<MappingPlan>, PatchError> {
        let mut plan = MappingPlan::default();
        let mut edits = Vec::new();
        for (step, change) in parts {
            let RouteStep::Key(key) = step else {
                return Err(PatchError::no_such_part(target.route, "a map"));
            };
            let route = target.route.clone().key(Arc::clone(key));
            let stated = map.index_of(key).filter(|index| *index < map.own_len());
            let Some(index) = stated else {
                let inherited = map.get(key).map(crate::yaml::Node::to_value);
                match change.apply_to(inherited.clone(), &route)? {
                    Some(value) => drop(plan.added.insert(Arc::clone(key), value)),
                    None if inherited.is_some() => return Err(target.unsupported()),
                    None => {}
                }
                continue;
            };
            let Some((extent, (_, entry))) = self.extent(map, index).zip(map.entry_at(index))
            else {
                return Ok(None);
            };
            match change {
                ValueChange::Remove => plan.removed.push(index),
                ValueChange::Parts(_) if extent.alias => return Err(PatchError::Alias { route }),
                _ => edits.push((route, change, extent, entry)),
            }
        }
        for (route, change, extent, entry) in edits {
            self.entry(&route, change, extent, entry, column)?;
        }
        plan.removed.sort_unstable();
        Ok(Some(plan))
    }

    fn entry(
        &mut self,
        route: &crate::yaml::Route,
        change: &ValueChange,
        extent: EntryExtent,
        entry: &MapEntry,
        column: Option<usize>,
    ) -> Result<(), PatchError> {
        let from = extent.from;
        let slot = match column {
            Some(column) => ValueSlot::Key { from, column },
            None => ValueSlot::FlowKey { from },
        };
        if let (ValueChange::Set(value), true) = (change, extent.alias) {
            self.replace_alias(value, slot, extent.end);
            return Ok(());
        }
        self.edit(EditTarget {
            node: &entry.value,
            change,
            slot,
            route,
        })
    }

    /// Records the anchors within the removed entries.
    fn record_lost_entries(&mut self, map: &Mapping, run: &Range<usize>) {
        for index in run.clone() {
            let alias = self.extent(map, index).is_some_and(|extent| extent.alias);
            if let (Some((_, entry)), false) = (map.entry_at(index), alias) {
                self.record_lost_anchors(&entry.value);
            }
        }
    }

    /// Returns the column of the keys.
    ///
    /// None if the first key is explicit (`? key`), or is on the line of the parent key, because no entry
    /// can follow below it in that column.
    fn column(&self, target: EditTarget<'_>, map: &Mapping) -> Option<usize> {
        let start = if map.own_len() > 0 {
            self.extent(map, 0)?.start
        } else {
            target.start()
        };
        let prefix = self.buffer.prefix(start);
        (!prefix.contains(['?', ':', '\t'])).then(|| prefix.chars().count())
    }

    /// Returns the byte range of an entry that the text states.
    fn extent(&self, map: &Mapping, index: usize) -> Option<EntryExtent> {
        let (_, entry) = map.entry_at(index)?;
        let key = entry.key_span;
        let start = self.buffer.start_with_properties(key.start as usize);
        if self.buffer.prefix(start).trim_end().ends_with('?') {
            return None;
        }
        let from = self.buffer.after_colon(key.end as usize);
        let value = entry.value.span();
        if value.start >= key.end && value.source == key.source {
            let end = value.end as usize;
            // A key without a colon within `{}` has no value, and none can be inserted.
            let from = from?;
            return Some(EntryExtent {
                start,
                from,
                end: end.max(from),
                alias: false,
            });
        }
        let from = from?;
        let end = self.buffer.alias_at(from)?;
        Some(EntryExtent {
            start,
            from,
            end,
            alias: true,
        })
    }

    /// Returns the lines of a run of entries, or their part of a line that starts with a dash.
    fn lines_of(&self, map: &Mapping, run: &Range<usize>) -> Option<Range<usize>> {
        let start = self.extent(map, run.start)?.start;
        let end = self.extent(map, run.end.checked_sub(1)?)?.end;
        let column = self.buffer.prefix(start).chars().count();
        if self.buffer.prefix(start).trim().is_empty() {
            return Some(self.buffer.line_start(start)..self.buffer.element_end(end, column));
        }
        // A merge key `<<` could be between the entries.
        if map.len() > map.own_len() {
            return None;
        }
        Some(start..self.extent(map, run.end)?.start)
    }
}

/// Groups consecutive numbers of a sorted list into ranges.
pub(super) fn runs(places: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some(run) if run.end == *place => run.end += 1,
            _ => runs.push(*place..place + 1),
        }
    }
    runs
}
