//! Edits of values, wherever they stand.

use indexmap::IndexMap;

use super::buffer::EditBuffer;
use super::change::ValueChange;
use crate::diagnostic::{SourceId, Sources, Span};
use crate::value::{REDACTED, Value};
use crate::yaml::emit::{FragmentWriter, RenderedValue, emit_flow, visible};
use crate::yaml::{Limits, Node, NodeKind, Patch, Route, RouteStep, parse};

/// Why a text cannot be edited in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A step of the route leads nowhere.
    #[error("cannot edit inside `{route}`: {kind} has no such part")]
    NoSuchPlace {
        /// As far as it leads.
        route: Route,
        /// What is there.
        kind: &'static str,
    },
    /// The value is an alias; an edit would change what it names.
    #[error("cannot edit inside `{route}`: it is an alias of a value elsewhere")]
    Alias {
        /// The alias.
        route: Route,
    },
    /// An alias names what the edit would change or take away.
    #[error("cannot change the value with the anchor `&{name}`: an alias names it")]
    Anchor {
        /// The anchor.
        name: String,
    },
    /// The value would lose a tag, or what `<<` brings.
    #[error("cannot edit `{route}`: its text is written in a way that cannot be changed in part")]
    Unsupported {
        /// The value.
        route: Route,
    },
    /// Lines end as they did on old machines.
    #[error("cannot edit a text with lines that end with a carriage return alone")]
    LineBreaks,
    /// A line within the text starts with a byte order mark.
    #[error("cannot edit a text with a byte order mark at the start of a line within it")]
    Mark,
    /// Two edits touch the same bytes.
    #[error("the edits overlap")]
    Entangled,
    /// The text has a form in which the edit cannot be made in place: what came of it would not
    /// read as what was meant.
    #[error("cannot edit a text of this form in place: it would not read as what was meant")]
    NotRoundTrip,
}

impl PatchError {
    pub(super) fn no_such_place(route: &Route, kind: &'static str) -> Self {
        let route = route.clone();
        Self::NoSuchPlace { route, kind }
    }
}

/// Applies patches to the text that `root` was parsed from (not expanded); all other bytes stay.
/// What is given back was read again: it says what was meant, and all else as before.
pub fn apply(text: &str, root: &Node, patches: &[Patch]) -> Result<String, PatchError> {
    let change = ValueChange::from_patches(patches)?;
    if matches!(&change, ValueChange::Inside(parts) if parts.is_empty()) {
        return Ok(text.to_owned());
    }
    if has_lone_returns(text) {
        return Err(PatchError::LineBreaks);
    }
    if text.contains("\n\u{feff}") || text.starts_with("\u{feff}\u{feff}") {
        return Err(PatchError::Mark);
    }
    let mut editor = Editor {
        page: EditBuffer::new(text),
        touched_anchors: Vec::new(),
    };
    let route = Route::root();
    editor.edit(EditTarget {
        node: root,
        change: &change,
        slot: ValueSlot::Root,
        route: &route,
    })?;
    let result = editor.page.finish()?;
    match editor
        .touched_anchors
        .into_iter()
        .find(|name| has_alias(&result, name))
    {
        Some(name) => Err(PatchError::Anchor { name }),
        None if verify_edit(&result, root, &change)? => Ok(result),
        None => Err(PatchError::NotRoundTrip),
    }
}

/// Whether a carriage return ends a line without a line feed; YAML takes it for a line break.
fn has_lone_returns(text: &str) -> bool {
    let mut returns = text.match_indices('\r');
    returns.any(|(place, _)| text.as_bytes().get(place + 1) != Some(&b'\n'))
}

fn has_alias(text: &str, name: &str) -> bool {
    let alias = format!("*{name}");
    text.match_indices(&alias).any(|(place, _)| {
        let next = text[place + alias.len()..].chars().next();
        next.is_none_or(|c| c.is_whitespace() || ",]}".contains(c))
    })
}

/// Where a value stands.
#[derive(Clone, Copy)]
pub(super) enum ValueSlot {
    /// It is the document.
    Root,
    /// Behind the colon of a block mapping at this column.
    Key { from: usize, column: usize },
    /// Behind a dash at this column.
    Item { from: usize, column: usize },
    /// Behind a colon inside of `{}`.
    FlowKey { from: usize },
    /// Inside of `[]`.
    FlowItem,
}

impl ValueSlot {
    pub(super) fn is_flow(self) -> bool {
        matches!(self, Self::FlowKey { .. } | Self::FlowItem)
    }
}

/// A value and what happens to it.
#[derive(Clone, Copy)]
pub(super) struct EditTarget<'a> {
    pub(super) node: &'a Node,
    pub(super) change: &'a ValueChange,
    pub(super) slot: ValueSlot,
    pub(super) route: &'a Route,
}

impl EditTarget<'_> {
    pub(super) fn start(&self) -> usize {
        self.node.span().start as usize
    }

    pub(super) fn end(&self) -> usize {
        self.node.span().end as usize
    }

    pub(super) fn unsupported(&self) -> PatchError {
        PatchError::Unsupported {
            route: self.route.clone(),
        }
    }
}

pub(super) type Parts = IndexMap<RouteStep, ValueChange>;

/// A text, and what its edits have done so far.
pub(super) struct Editor<'t> {
    pub(super) page: EditBuffer<'t>,
    pub(super) touched_anchors: Vec<String>,
}

impl Editor<'_> {
    pub(super) fn edit(&mut self, target: EditTarget<'_>) -> Result<(), PatchError> {
        let parts = match target.change {
            ValueChange::Set(value) => {
                self.replace(target.node, value, target.slot);
                return Ok(());
            }
            ValueChange::Remove => {
                self.replace(target.node, &Value::Null, target.slot);
                return Ok(());
            }
            ValueChange::Inside(parts) => parts,
        };
        self.touched_anchors
            .extend(target.node.anchor().map(str::to_owned));
        let braces = self.page.has_brackets(target.node);
        match target.node.kind() {
            NodeKind::Map(map) if map.is_empty() => self.rewrite(target),
            NodeKind::Map(map) if braces => self.flow_map(target, map, parts),
            // Without braces inside of `[]`, it is one `key: value` pair and has no room.
            NodeKind::Map(_) if target.slot.is_flow() => self.rewrite(target),
            NodeKind::Map(map) => self.block_map(target, map, parts),
            NodeKind::Seq(items) if items.is_empty() => self.rewrite(target),
            NodeKind::Seq(items) if braces => self.flow_list(target, items, parts),
            NodeKind::Seq(items) => self.block_list(target, items, parts),
            _ => self.rewrite(target),
        }
    }

    /// Writes a value anew with the change in it, where its text cannot be changed in part.
    pub(super) fn rewrite(&mut self, target: EditTarget<'_>) -> Result<(), PatchError> {
        if has_tags(target.node) {
            return Err(target.unsupported());
        }
        // Nothing may come of it: a removal where nothing is.
        if let Some(value) = target
            .change
            .apply_to(Some(target.node.to_value()), target.route)?
        {
            self.replace(target.node, &value, target.slot);
        }
        Ok(())
    }

    /// Puts a value in the place of another; comments on its line stay.
    pub(super) fn replace(&mut self, node: &Node, value: &Value, slot: ValueSlot) {
        self.record_lost_anchors(node);
        let (start, end) = (node.span().start as usize, node.span().end as usize);
        match slot {
            ValueSlot::Root => self.replace_root(node, value),
            ValueSlot::Key { from, column } => {
                self.replace_block(
                    node,
                    from,
                    end,
                    &self.fragments().value(value, column, false),
                );
            }
            ValueSlot::Item { from, column } => {
                self.replace_block(
                    node,
                    from,
                    end,
                    &self.fragments().value(value, column, true),
                );
            }
            ValueSlot::FlowKey { from } => {
                let text = format!(" {}", emit_flow(value));
                self.page.splice(from, end.max(from), &text);
            }
            ValueSlot::FlowItem => {
                let start = self.page.with_properties(start);
                self.page.splice(start, end, &emit_flow(value));
            }
        }
    }

    pub(super) fn fragments(&self) -> FragmentWriter {
        FragmentWriter {
            literal_end: !self.page.has_indented_comments(),
        }
    }

    /// Remembers which anchors go with a node: no alias may be left of them.
    pub(super) fn record_lost_anchors(&mut self, node: &Node) {
        if !node.has_anchors() {
            return;
        }
        self.touched_anchors
            .extend(node.anchor().map(str::to_owned));
        match node.kind() {
            NodeKind::Seq(items) => items.iter().for_each(|item| self.record_lost_anchors(item)),
            NodeKind::Map(map) => {
                for (_, entry) in map {
                    self.record_lost_anchors(&entry.value);
                }
            }
            _ => {}
        }
    }

    /// Replaces what stands behind a colon or a dash.
    pub(super) fn replace_block(
        &mut self,
        old: &Node,
        from: usize,
        end: usize,
        new: &RenderedValue,
    ) {
        let page = &self.page;
        let end = end.max(from);
        let start = old.span().start as usize;
        let lines =
            matches!(old.kind(), NodeKind::Map(_) | NodeKind::Seq(_)) && !page.has_brackets(old);
        let comment = if !lines {
            // A comment behind the value is about the value.
            page.comment_at(end)
        } else if page.line_end(from) < start {
            // A comment behind the key is about all of it; those inside go.
            page.comment_at(from)
        } else {
            Some("")
        };
        let end = if comment.is_some() {
            page.line_end(end)
        } else {
            end
        };
        let mut text = new.head.clone();
        text.push_str(comment.unwrap_or_default());
        if !new.body.is_empty() {
            text.push('\n');
            text.push_str(new.body.strip_suffix('\n').unwrap_or(&new.body));
        }
        self.page.splice(from, end, &text);
    }

    /// Adds lines behind a block collection. `open` says that its last part goes.
    pub(super) fn add_lines(&mut self, target: EditTarget<'_>, lines: &str, open: bool) {
        let place = self.page.next_line(target.end());
        if open || self.page.text[..place].ends_with('\n') {
            self.page.splice(place, place, lines);
            return;
        }
        if let Some(leaf) = last_text(target.node) {
            self.page.close_block_scalar(leaf.span().start as usize);
        }
        let lines = format!("\n{}", lines.strip_suffix('\n').unwrap_or(lines));
        self.page.splice(place, place, &lines);
    }

    /// Puts a value in the place of an alias.
    pub(super) fn replace_alias(&mut self, value: &Value, slot: ValueSlot, end: usize) {
        let (from, new) = match slot {
            ValueSlot::Key { from, column } => (from, self.fragments().value(value, column, false)),
            ValueSlot::FlowKey { from } => {
                let text = format!(" {}", emit_flow(value));
                self.page.splice(from, end, &text);
                return;
            }
            ValueSlot::Root | ValueSlot::Item { .. } | ValueSlot::FlowItem => return,
        };
        let place = u32::try_from(from).unwrap_or(u32::MAX);
        let alias = Node::new(
            NodeKind::Null,
            Span::new(SourceId::NONE, place, place),
            None,
        );
        self.replace_block(&alias, from, end, &new);
    }

    fn replace_root(&mut self, node: &Node, value: &Value) {
        let page = &self.page;
        let (start, end) = (node.span().start as usize, node.span().end as usize);
        let text = self.fragments().document(value);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        if start == end {
            // There is no value yet; what stands there are comments or a `---`.
            let place = page.text.len();
            let newline = if page.line_start(place) == place {
                ""
            } else {
                "\n"
            };
            self.page
                .splice(place, place, &format!("{newline}{text}\n"));
            return;
        }
        let end = if page.comment_at(end).is_some() {
            page.line_end(end)
        } else {
            end
        };
        let begin = page.document_start().min(start);
        let behind_marker = begin > page.line_start(begin);
        let newline = if behind_marker { "\n" } else { "" };
        self.page.splice(begin, end, &format!("{newline}{text}"));
    }
}

/// Whether a node, or one in it, has a tag that a value does not keep.
fn has_tags(node: &Node) -> bool {
    node.tag().is_some()
        || match node.kind() {
            NodeKind::Seq(items) => items.iter().any(has_tags),
            NodeKind::Map(map) => map.iter().any(|(_, entry)| has_tags(&entry.value)),
            _ => false,
        }
}

/// The text at the end of a node, if it ends with one that it states itself.
fn last_text(node: &Node) -> Option<&Node> {
    let last = match node.kind() {
        NodeKind::Seq(items) => items.last()?,
        NodeKind::Map(map) => &map.entry_at(map.stated().checked_sub(1)?)?.1.value,
        NodeKind::Str(_) => return Some(node),
        _ => return None,
    };
    (last.span().end == node.span().end).then(|| last_text(last))?
}

/// Reads an edited text again: whether it is what the change makes of the old tree.
///
/// The event parser reads some texts that YAML forbids, such as `: [2] : f`; an edit that would be
/// right in a valid text can break one of these. Takes as long as reading does.
pub(super) fn verify_edit(
    text: &str,
    old: &Node,
    change: &ValueChange,
) -> Result<bool, PatchError> {
    let mut sources = Sources::default();
    let source = sources.add("edited", text, None);
    let Ok(new) = parse(&sources, source, &Limits::default()) else {
        return Ok(false);
    };
    let old = old.to_value();
    let meant = match change.apply_to(Some(old.clone()), &Route::root())? {
        Some(meant) => meant,
        None if matches!(change, ValueChange::Remove) => Value::Null,
        None => old,
    };
    Ok(matches_value(&new, &meant))
}

/// Whether a node is what is written of a value.
fn matches_value(node: &Node, value: &Value) -> bool {
    match (node.kind(), visible(value)) {
        // It stays where its text stays, and is not told where a text is written.
        (NodeKind::Str(text), Value::Sensitive(_)) if **text == *REDACTED => true,
        (_, Value::Sensitive(inner)) => matches_value(node, inner),
        (NodeKind::Seq(items), Value::List(values)) => {
            items.len() == values.len()
                && items
                    .iter()
                    .zip(&**values)
                    .all(|(item, value)| matches_value(item, value))
        }
        (NodeKind::Map(map), Value::Map(values)) => {
            map.len() == values.len()
                && map.iter().all(|(key, entry)| {
                    let value = values.get(&**key);
                    value.is_some_and(|value| matches_value(&entry.value, value))
                })
        }
        (NodeKind::Seq(_) | NodeKind::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => false,
        (NodeKind::Null, Value::Null | Value::Entity(_)) => true,
        (NodeKind::Str(text), Value::Str(other)) => text == other,
        // Some numbers are written alike, and not a number is like no other.
        (_, value) => emit_flow(&node.to_value()) == emit_flow(value),
    }
}
