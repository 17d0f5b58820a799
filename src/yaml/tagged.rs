//! Values with tags in an unexpanded tree: [`tagged_nodes`] finds them, [`apply_tagged`] writes scalars with tags.

use super::{Limits, Node, NodeKind, Patch, PatchError, Route, apply, parse};
use crate::diagnostic::Sources;
use crate::value::Value;

/// A scalar with a tag, such as `!vault`, for a place in a text.
#[derive(Debug, Clone)]
pub struct TaggedText {
    pub route: Route,
    /// The tag with its `!`; empty for none.
    pub tag: &'static str,
    pub value: Value,
}

/// Returns the outermost nodes with a tag, in the order of the text, each at the place where the text states it.
///
/// Aliases and entries of a merge key `<<` are left out, because they repeat a node.
pub fn tagged_nodes(root: &Node) -> Vec<(Route, Node)> {
    let mut found = Vec::new();
    let mut open = vec![(Route::root(), root)];
    while let Some((route, node)) = open.pop() {
        if node.tag().is_some_and(|tag| tag.starts_with('!')) {
            found.push((route, node.clone()));
            continue;
        }
        match node.kind() {
            NodeKind::Map(map) => {
                for (key, entry) in map
                    .iter()
                    .take(map.own_len())
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                {
                    if entry.value.span().start >= entry.key_span.end {
                        open.push((route.clone().key(key.clone()), &entry.value));
                    }
                }
            }
            NodeKind::Seq(items) => {
                let mut end = node.span().start;
                let mut own = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    if item.span().start >= end {
                        own.push((route.clone().index(index), item));
                        end = item.span().end;
                    }
                }
                open.extend(own.into_iter().rev());
            }
            _ => {}
        }
    }
    found
}

/// Sets values with tags in the text from which the unexpanded tree `root` was parsed. All other bytes stay.
pub fn apply_tagged(text: &str, root: &Node, values: &[TaggedText]) -> Result<String, PatchError> {
    let patches: Vec<Patch> = values
        .iter()
        .map(|new| Patch::set(new.route.clone(), new.value.clone()))
        .collect();
    let mut result = apply(text, root, &patches)?;
    let mut sources = Sources::default();
    let source = sources.add("", &*result, None);
    let new_root =
        parse(&sources, source, &Limits::default()).map_err(|_| PatchError::NotRoundTrip)?;
    let mut places = Vec::new();
    for new in values.iter().filter(|new| !new.tag.is_empty()) {
        let node = new.route.find(&new_root).ok_or(PatchError::NotRoundTrip)?;
        places.push((value_start(&result, node), new));
    }
    places.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    for (place, new) in &places {
        result.insert_str(*place, &format!("{} ", new.tag));
    }
    let source = sources.add("", &*result, None);
    let root = parse(&sources, source, &Limits::default()).map_err(|_| PatchError::NotRoundTrip)?;
    let is_written = |new: &TaggedText| {
        new.route.find(&root).is_some_and(|node| {
            node.tag() == (!new.tag.is_empty()).then_some(new.tag)
                && node.as_str() == new.value.as_str()
        })
    };
    if values.iter().all(is_written) {
        Ok(result)
    } else {
        Err(PatchError::NotRoundTrip)
    }
}

/// Returns the position of a value in a text: for a block scalar, that of its `|` or `>`.
pub fn value_start(text: &str, node: &Node) -> usize {
    let start = node.span().start as usize;
    let before = text.get(..start).unwrap_or_default().trim_end();
    if !text[before.len()..start].contains('\n') {
        return start;
    }
    let line = before.rfind('\n').map_or(0, |end| end + 1);
    let header = before[line..]
        .match_indices([':', '-'])
        .find_map(|(at, _)| {
            let after = line + at + 1;
            let rest = before[after..].trim_start();
            // A tag and an anchor may stand before the indicator.
            let mut words = rest
                .split(' ')
                .skip_while(|word| word.starts_with(['!', '&']));
            let indicator = words.next()?;
            let is_header = indicator.starts_with(['|', '>'])
                && indicator[1..]
                    .chars()
                    .all(|c| c.is_ascii_digit() || "+-".contains(c))
                && words.next().is_none_or(|word| word.starts_with('#'));
            is_header.then(|| before.len() - rest.len() + rest.find(indicator).unwrap_or(0))
        });
    header.unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Schema, parse_text};

    fn tagged(route: Route, text: &str) -> TaggedText {
        TaggedText {
            route,
            tag: "!age",
            value: Value::from(text),
        }
    }

    #[test]
    fn tagged_values_are_found_where_the_text_states_them() {
        let text = "a: &x !vault abc\nb: *x\nc: [!age x, {d: !sensitive {e: !age y}}, *x]\nz: {<<: {q: !age z}}\n";
        let root = parse_text(Schema::Core, text).unwrap();
        let found: Vec<String> = tagged_nodes(&root)
            .iter()
            .map(|(route, node)| format!("{route} {}", node.tag().unwrap()))
            .collect();
        assert_eq!(found, ["/a !vault", "/c/0 !age", "/c/1/d !sensitive"]);
    }

    #[test]
    fn a_scalar_with_a_tag_is_spliced_and_other_bytes_stay() {
        let text =
            "# top\na:\n  b: 1 # one\n  w: x # why\n  c: !vault |\n    old\nd: {e: 2}\nl: [1]\n";
        let root = parse_text(Schema::Core, text).unwrap();
        let new = [
            tagged(Route::keys(["a", "w"]), "v\n"),
            tagged(Route::keys(["a", "c"]), "x\ny\n"),
            tagged(Route::keys(["a", "new", "m"]), "z\n"),
            tagged(Route::keys(["d", "e"]), "f\ng\n"),
            tagged(Route::keys(["l"]).index(1), "h"),
        ];
        let result = apply_tagged(text, &root, &new).unwrap();
        insta::assert_snapshot!(result, @r#"
        # top
        a:
          b: 1 # one
          w: !age | # why
            v
          c: !age |
            x
            y
          new:
            m: !age |
              z
        d: {e: !age "f\ng\n"}
        l: [1, !age h]
        "#);
    }
}
