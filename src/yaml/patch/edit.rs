//! The editor of a patched text: applies a tree of changes to the text, value by value, and checks the
//! result by parsing it again. [`apply`] is the entry.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::buffer::EditBuffer;
use super::change::ValueChange;
use crate::diagnostic::{SourceId, Sources, Span};
use crate::value::{REDACTED, Value};
use crate::yaml::emit::{FragmentWriter, RenderedValue, emit_flow, written_form};
use crate::yaml::{Limits, Node, NodeKind, Patch, Route, RouteStep, parse};

/// The longest name of an alias that [`find_alias`] looks at.
const MAX_ALIAS_CHARS: usize = 256;

/// The reason why a text cannot be edited in place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// A step of the route that does not exist in the document.
    #[error("cannot edit inside `{route}`: {kind} has no such part")]
    NoSuchPart {
        /// The route up to the last existing value.
        route: Route,
        kind: &'static str,
    },
    /// A value that is an alias. An edit would change the value that it refers to.
    #[error("cannot edit inside `{route}`: it is an alias of a value elsewhere")]
    Alias { route: Route },
    /// A value with an anchor that an alias refers to. The edit would change or remove it.
    #[error("cannot change the value with the anchor `&{name}`: an alias elsewhere refers to it")]
    Anchor { name: String },
    /// A value that would lose a tag, or entries of a merge key `<<`.
    #[error("cannot edit `{route}` in place: the edit would lose a tag or a merged key (`<<`)")]
    Unsupported { route: Route },
    /// A text whose lines end with a carriage return alone.
    #[error(
        "cannot edit a text whose lines end with a carriage return (CR) alone; convert the line ends to LF or CRLF"
    )]
    LineBreaks,
    /// A byte order mark at the start of a line within the text.
    #[error(
        "cannot edit a text with a byte order mark at the start of a later line; remove the mark"
    )]
    ByteOrderMark,
    /// Two edits of the same bytes.
    #[error("the edits overlap")]
    Overlapping,
    /// A text of a form that cannot be edited in place: the edited text would not parse to the intended
    /// value.
    #[error("cannot edit this text in place: the result would not have the intended value")]
    NotRoundTrip,
}

impl PatchError {
    pub(super) fn no_such_part(route: &Route, kind: &'static str) -> Self {
        let route = route.clone();
        Self::NoSuchPart { route, kind }
    }
}

/// Applies patches to the text from which the unexpanded tree `root` was parsed.
///
/// Other bytes stay unchanged. The result is parsed again and returned only if it has the intended value.
///
/// An empty list of patches returns the text as it was:
///
/// ```
/// use unfurl::testing::diagnostic::Sources;
/// use unfurl::testing::yaml::{Limits, apply, parse};
///
/// let text = "web:  # the front\n  port: 80\n";
/// let mut sources = Sources::default();
/// let source = sources.add("ensemble.yaml", text, None);
/// let root = parse(&sources, source, &Limits::default()).unwrap();
/// assert_eq!(apply(text, &root, &[]).unwrap(), text);
/// ```
pub fn apply(text: &str, root: &Node, patches: &[Patch]) -> Result<String, PatchError> {
    let change = ValueChange::from_patches(patches)?;
    if matches!(&change, ValueChange::Parts(parts) if parts.is_empty()) {
        return Ok(text.to_owned());
    }
    if has_lone_returns(text) {
        return Err(PatchError::LineBreaks);
    }
    if text.contains("\n\u{feff}") || text.starts_with("\u{feff}\u{feff}") {
        return Err(PatchError::ByteOrderMark);
    }
    let mut editor = Editor {
        buffer: EditBuffer::new(text),
        touched_anchors: HashSet::new(),
    };
    let route = Route::root();
    editor.edit(EditTarget {
        node: root,
        change: &change,
        slot: ValueSlot::Root,
        route: &route,
    })?;
    let result = editor.buffer.finish()?;
    match find_alias(&result, &editor.touched_anchors) {
        Some(name) => Err(PatchError::Anchor {
            name: name.to_owned(),
        }),
        None if verify_edit(&result, root, &change)? => Ok(result),
        None => Err(PatchError::NotRoundTrip),
    }
}

/// Whether a carriage return without a line feed occurs, which YAML takes for a line break.
fn has_lone_returns(text: &str) -> bool {
    let mut returns = text.match_indices('\r');
    returns.any(|(place, _)| text.as_bytes().get(place + 1) != Some(&b'\n'))
}

/// Returns the first anchor of a set that an alias in the text refers to.
///
/// Aliases with more than [`MAX_ALIAS_CHARS`] are left to [`verify_edit`], so that the time is linear in the
/// length of the text.
fn find_alias<'t>(text: &'t str, anchors: &HashSet<String>) -> Option<&'t str> {
    if anchors.is_empty() {
        return None;
    }
    let ends_alias = |c: char| c.is_whitespace() || ",]}".contains(c);
    text.match_indices('*').find_map(|(place, _)| {
        let rest = &text[place + 1..];
        let mut start = rest.char_indices().take(MAX_ALIAS_CHARS + 1);
        let end = match start.find(|(_, c)| ends_alias(*c)) {
            Some((end, _)) => end,
            None if rest.len() <= MAX_ALIAS_CHARS => rest.len(),
            None => return None,
        };
        let name = &rest[..end];
        anchors.contains(name).then_some(name)
    })
}

/// The syntactic position of a value.
#[derive(Clone, Copy)]
pub(super) enum ValueSlot {
    /// The value is the whole document.
    Root,
    /// After the colon of a key in a block mapping at this column.
    Key { from: usize, column: usize },
    /// After the dash of a block list at this column.
    Item { from: usize, column: usize },
    /// After the colon of a key within `{}`.
    FlowKey { from: usize },
    /// An item of a list within `[]`.
    FlowItem,
}

impl ValueSlot {
    pub(super) fn is_flow(self) -> bool {
        matches!(self, Self::FlowKey { .. } | Self::FlowItem)
    }
}

/// A value together with its change and its position.
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

/// A text buffer and the anchors affected by the edits so far.
pub(super) struct Editor<'t> {
    pub(super) buffer: EditBuffer<'t>,
    pub(super) touched_anchors: HashSet<String>,
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
            ValueChange::Parts(parts) => parts,
        };
        self.touched_anchors
            .extend(target.node.anchor().map(str::to_owned));
        let braces = self.buffer.has_brackets(target.node);
        match target.node.kind() {
            NodeKind::Map(map) if map.is_empty() => self.rewrite(target),
            NodeKind::Map(map) if braces => self.flow_map(target, map, parts),
            // A map without braces within `[]` is a single `key: value` pair and cannot be extended.
            NodeKind::Map(_) if target.slot.is_flow() => self.rewrite(target),
            NodeKind::Map(map) => self.block_map(target, map, parts),
            NodeKind::Seq(items) if items.is_empty() => self.rewrite(target),
            NodeKind::Seq(items) if braces => self.flow_list(target, items, parts),
            NodeKind::Seq(items) => self.block_list(target, items, parts),
            _ => self.rewrite(target),
        }
    }

    /// Rewrites a changed value completely, if its text cannot be edited in part.
    pub(super) fn rewrite(&mut self, target: EditTarget<'_>) -> Result<(), PatchError> {
        if has_tags(target.node) {
            return Err(target.unsupported());
        }
        // A removal of a missing part changes nothing.
        if let Some(value) = target
            .change
            .apply_to(Some(target.node.to_value()), target.route)?
        {
            self.replace(target.node, &value, target.slot);
        }
        Ok(())
    }

    /// Replaces a value. Comments on its line stay.
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
                self.buffer.splice(from, end.max(from), &text);
            }
            ValueSlot::FlowItem => {
                let start = self.buffer.start_with_properties(start);
                self.buffer.splice(start, end, &emit_flow(value));
            }
        }
    }

    pub(super) fn fragments(&self) -> FragmentWriter {
        FragmentWriter {
            literal_end: !self.buffer.has_indented_comments(),
        }
    }

    /// Records the anchors within a removed node, so that a remaining alias can be detected.
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

    /// Replaces the text after a colon or a dash.
    pub(super) fn replace_block(
        &mut self,
        old: &Node,
        from: usize,
        end: usize,
        new: &RenderedValue,
    ) {
        let page = &self.buffer;
        let end = end.max(from);
        let start = old.span().start as usize;
        let lines =
            matches!(old.kind(), NodeKind::Map(_) | NodeKind::Seq(_)) && !page.has_brackets(old);
        let comment = if !lines {
            // A comment after the value is about the value and stays.
            page.comment_at(end)
        } else if page.line_end(from) < start {
            // A comment after the key is about the whole collection and stays; those within it are removed.
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
        self.buffer.splice(from, end, &text);
    }

    /// Appends lines to a block collection. `open` means that its last part is removed.
    pub(super) fn add_lines(&mut self, target: EditTarget<'_>, lines: &str, open: bool) {
        let place = self.buffer.next_line(target.end());
        if open || self.buffer.text[..place].ends_with('\n') {
            self.buffer.splice(place, place, lines);
            return;
        }
        if let Some(leaf) = last_text(target.node) {
            self.buffer.close_block_scalar(leaf.span().start as usize);
        }
        let lines = format!("\n{}", lines.strip_suffix('\n').unwrap_or(lines));
        self.buffer.splice(place, place, &lines);
    }

    /// Replaces an alias by a value.
    pub(super) fn replace_alias(&mut self, value: &Value, slot: ValueSlot, end: usize) {
        let (from, new) = match slot {
            ValueSlot::Key { from, column } => (from, self.fragments().value(value, column, false)),
            ValueSlot::FlowKey { from } => {
                let text = format!(" {}", emit_flow(value));
                self.buffer.splice(from, end, &text);
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
        let page = &self.buffer;
        let (start, end) = (node.span().start as usize, node.span().end as usize);
        let text = self.fragments().document(value);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        if start == end {
            // Without a value, the document contains only comments or a `---`.
            let place = page.text.len();
            let newline = if page.line_start(place) == place {
                ""
            } else {
                "\n"
            };
            self.buffer
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
        self.buffer.splice(begin, end, &format!("{newline}{text}"));
    }
}

/// Whether a node or one within it has a tag, which a value does not keep.
fn has_tags(node: &Node) -> bool {
    node.tag().is_some()
        || match node.kind() {
            NodeKind::Seq(items) => items.iter().any(has_tags),
            NodeKind::Map(map) => map.iter().any(|(_, entry)| has_tags(&entry.value)),
            _ => false,
        }
}

/// Returns the text node at the end of a node, if the node ends with a text of its own.
fn last_text(node: &Node) -> Option<&Node> {
    let last = match node.kind() {
        NodeKind::Seq(items) => items.last()?,
        NodeKind::Map(map) => &map.entry_at(map.own_len().checked_sub(1)?)?.1.value,
        NodeKind::Str(_) => return Some(node),
        _ => return None,
    };
    (last.span().end == node.span().end).then(|| last_text(last))?
}

/// Parses the edited text again and compares it with the intended value.
///
/// The event parser accepts some texts that YAML forbids, such as `: [2] : f`, and an edit that is right for
/// valid text can break one of these. The check takes as long as parsing.
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

/// Whether a node is the written form of a value.
fn matches_value(node: &Node, value: &Value) -> bool {
    match (node.kind(), written_form(value)) {
        // A redacted value in the text stands for any sensitive value.
        (NodeKind::Str(text), Value::Sensitive(_)) if **text == *REDACTED => true,
        // The tree before the edit has the decrypted value, and the text still has the encrypted one.
        (NodeKind::Str(_), Value::Sensitive(_)) if node.tag().is_some() => true,
        (_, Value::Sensitive(inner)) => matches_value(node, inner),
        (_, Value::Entity(entity)) => matches_value(node, entity.expression()),
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
        (NodeKind::Null, Value::Null) => true,
        (NodeKind::Str(text), Value::Str(other)) => text == other,
        // Some numbers have the same text, and NaN differs from itself, so numbers are compared as text.
        (_, value) => emit_flow(&node.to_value()) == emit_flow(value),
    }
}
