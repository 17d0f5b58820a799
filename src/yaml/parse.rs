//! The parser of YAML text. It drives the event parser `granit_parser`, which no other file uses, and
//! explains its errors.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, StrInput, StructureStyle, Tag,
};

use super::builder::{Builder, CollectionHead, ParseStop};
use super::unindented_quotes::IndentedCopy;
use super::{Limits, Node, NodeKind, Schema, scalar};
use crate::diagnostic::{Check, Diagnostic, Diagnostics, SourceId, Sources, Span};
use crate::text::format_size;

/// Parses a text of `sources` as one document. An empty text gives null.
///
/// ```
/// use unfurl::testing::diagnostic::Sources;
/// use unfurl::testing::yaml::{Limits, parse};
///
/// let mut sources = Sources::default();
/// let source = sources.add("hosts.yaml", "web:\n  port: 80\n", None);
/// let root = parse(&sources, source, &Limits::default()).unwrap();
/// let port = root.get("web").and_then(|web| web.get("port")).unwrap();
/// assert_eq!(port.as_int(), Some(80));
/// ```
pub fn parse(sources: &Sources, source: SourceId, limits: &Limits) -> Result<Node, Diagnostics> {
    parse_as(Schema::Core, sources, source, limits)
}

/// Parses a text that belongs to no sources. The error is the message of the first problem, without its
/// position.
pub fn parse_text(schema: Schema, text: &str) -> Result<Node, String> {
    let mut sources = Sources::default();
    let source = sources.add("", text, None);
    parse_as(schema, &sources, source, &Limits::default())
        .map_err(|problems| problems.first_message())
}

/// Parses a text of `sources` as one document. The schema defines the meaning of plain scalars.
pub fn parse_as(
    schema: Schema,
    sources: &Sources,
    source: SourceId,
    limits: &Limits,
) -> Result<Node, Diagnostics> {
    let Some(text) = sources.get(source).map(|source| Arc::clone(&source.text)) else {
        return Err(Diagnostic::error("internal error: the source has no text").into());
    };
    if u32::try_from(text.len()).is_err() || text.len() > limits.max_bytes {
        let byte_limit = limits.max_bytes.min(u32::MAX as usize);
        let message = format!(
            "the text has {} bytes, but the limit is {}",
            text.len(),
            format_size(byte_limit as u64)
        );
        return Err(Diagnostic::error(message)
            .check(Check::YamlSyntax)
            .label(Span::new(source, 0, 0), "")
            .help("raise the limit with `--max-text`")
            .into());
    }
    let failure = match read(schema, &text, source, limits) {
        Ok(root) => return Ok(root),
        Err(failure) => failure,
    };
    let mut padded = IndentedCopy::new(if failure.outdented.is_some() {
        &text
    } else {
        ""
    });
    let mut next = failure.outdented;
    while next.is_some_and(|place| padded.indent(place)) {
        match read(schema, padded.text(), source, limits) {
            Ok(root) => return Ok(padded.restore(&root)),
            Err(failure) => next = failure.outdented,
        }
    }
    Err(failure.problems)
}

/// The failure to parse a text.
struct ParseFailure {
    problems: Diagnostics,
    /// The offset of a line in a quoted text that lacks the indentation that YAML requires.
    outdented: Option<usize>,
}

fn read(
    schema: Schema,
    text: &str,
    source: SourceId,
    limits: &Limits,
) -> Result<Node, ParseFailure> {
    let mut reader = EventReader {
        schema,
        events: Parser::new_from_str_with_options(text, options(limits, text)),
        text,
        source,
        builder: Builder::new(text, source, limits),
        tags: HashSet::new(),
        outdented: None,
    };
    let result = reader.run();
    let EventReader {
        mut builder,
        outdented,
        ..
    } = reader;
    if let Err(ParseStop::Problem(diagnostic)) = result {
        builder.problems.push(*diagnostic);
    }
    builder.finish().map_err(|problems| ParseFailure {
        problems,
        outdented,
    })
}

fn options(limits: &Limits, text: &str) -> granit_parser::Options {
    granit_parser::options! {
        emit_comments: false,
        emit_anchor_events: text.contains('&'),
        emit_unresolved_aliases: true,
        flow_nesting_limit: limits.max_depth.saturating_add(1),
        block_nesting_limit: limits.max_depth.saturating_add(1),
    }
}

struct EventReader<'t> {
    schema: Schema,
    events: Parser<'t, StrInput<'t>>,
    text: &'t str,
    source: SourceId,
    builder: Builder<'t>,
    tags: HashSet<Arc<str>>,
    outdented: Option<usize>,
}

impl<'t> EventReader<'t> {
    fn run(&mut self) -> Result<(), ParseStop> {
        let mut documents = 0;
        // The event is matched in place, because it is large.
        while let Some(next) = self.events.next_event() {
            let (event, span) = match next {
                Ok((event, span)) => (event, self.convert_span(&span)),
                Err(error) => return Err(ParseStop::problem(self.explain(&error))),
            };
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(ParseStop::problem(
                            Diagnostic::error("a file must contain only one YAML document")
                                .check(Check::YamlSyntax)
                                .label(span, "a second document starts here")
                                .help("move it to a file of its own"),
                        ));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    let anchor = self.anchor(anchor)?;
                    self.scalar(text, style, anchor, tag.as_deref(), span)?;
                }
                Event::SequenceStart(style, anchor, tag) => {
                    let head = self.head(style, anchor, tag.as_deref(), span)?;
                    self.builder.start_sequence(head)?;
                }
                Event::MappingStart(style, anchor, tag) => {
                    let head = self.head(style, anchor, tag.as_deref(), span)?;
                    self.builder.start_mapping(head)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.builder.end(span)?,
                Event::Alias(id) => self.builder.alias(id, span)?,
                Event::UnresolvedAlias(name) => {
                    self.builder.problems.push(
                        Diagnostic::error(format!(
                            "the anchor `&{name}` is not defined before this alias"
                        ))
                        .check(Check::YamlSyntax)
                        .label(span, "not defined above")
                        .help("an alias can refer only to an anchor above it in the same file"),
                    );
                    let node = Node::new(NodeKind::Null, span, None);
                    self.builder.add(node, None, span)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn convert_span(&self, span: &granit_parser::Span) -> Span {
        let place = |mark: &granit_parser::Marker| mark.byte_offset().unwrap_or_default();
        self.span(place(&span.start), place(&span.end))
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Span::new(self.source, place(start), place(end))
    }

    /// Returns the name of the anchor of the last event's node; the parser reports it as the next event.
    fn anchor(&mut self, id: usize) -> Result<Option<(usize, Arc<str>)>, ParseStop> {
        if id == 0 {
            return Ok(None);
        }
        match self.events.next_event() {
            Some(Ok((Event::Anchor(id, name), _))) => Ok(Some((id, Arc::from(&*name)))),
            Some(Err(error)) => Err(ParseStop::problem(self.explain(&error))),
            _ => Ok(None),
        }
    }

    fn head(
        &mut self,
        style: StructureStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<CollectionHead, ParseStop> {
        let anchor = self.anchor(anchor)?;
        let tag = match tag {
            Some(tag) => self.foreign_tag(tag, span)?,
            None => None,
        };
        let flow = style == StructureStyle::Flow;
        Ok(CollectionHead::new(span, flow, tag, anchor))
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: Option<(usize, Arc<str>)>,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), ParseStop> {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let (text, span) = if block {
            let text = self.strip_added_newline(text, span);
            let span = self.block_content(&text, span);
            (text, span)
        } else if span.start == span.end {
            (text, self.span_after_colon(span))
        } else {
            (text, span)
        };
        let plain = style == ScalarStyle::Plain;
        if anchor.is_none() && self.builder.expects_key() {
            // A key is its literal text, whatever its meaning as a value would be.
            let empty = plain && span.start == span.end;
            let key = if empty { "" } else { &*text };
            self.builder.key(key, plain && tag.is_none(), span);
            return Ok(());
        }
        let (kind, tag) = match tag {
            Some(tag) if tag.suffix() != "!" => self.tagged(&text, tag, span)?,
            _ if plain => {
                let empty = span.start == span.end;
                let known = if empty {
                    Some(NodeKind::Null)
                } else {
                    self.schema.resolve(&text)
                };
                (
                    known.unwrap_or_else(|| NodeKind::Str(self.builder.share(&text))),
                    None,
                )
            }
            _ => (NodeKind::Str(self.builder.share(&text)), None),
        };
        let (id, name) = anchor.map_or((None, None), |(id, name)| (Some(id), Some(name)));
        let differs = plain
            && tag.is_none()
            && self.schema == Schema::Core
            && scalar::differs_in_yaml_1_1(&text, &kind);
        let node = if differs {
            Node::with_plain_text(kind, span, name, self.builder.share(&text))
        } else {
            Node::with_anchor(kind, span, tag, name)
        };
        self.builder.add(node, id, span)
    }

    /// Removes the final line break that the event parser adds to a block scalar at the end of a text
    /// without one.
    fn strip_added_newline(&self, text: Cow<'t, str>, span: Span) -> Cow<'t, str> {
        let whole = self.text;
        let last = whole.rsplit('\n').next().unwrap_or_default();
        // A last line that is only an indentation is no content.
        let is_blank = last.trim_matches([' ', '\t']).is_empty();
        if span.end as usize != whole.len() || is_blank {
            return text;
        }
        match text.strip_suffix('\n') {
            Some(text) => Cow::Owned(text.to_owned()),
            None => text,
        }
    }

    /// Returns the span of a block scalar's content, without the trailing line breaks.
    fn block_content(&self, text: &str, span: Span) -> Span {
        let (start, end) = (span.start as usize, span.end as usize);
        let raw = &self.text[start..end];
        // With `+`, the empty lines at the end belong to the text.
        let keep = text.ends_with("\n\n") || text.bytes().all(|byte| byte == b'\n');
        let trimmed = if keep {
            // The span may include the indentation of the next line.
            let lines = raw.trim_end_matches([' ', '\t']);
            let last = lines.strip_suffix('\n').unwrap_or(lines);
            last.strip_suffix('\r').unwrap_or(last)
        } else {
            raw.trim_end_matches([' ', '\t', '\r', '\n'])
        };
        if trimmed.is_empty() {
            // Without content, the position after the header is used.
            let header = self.text[..start].trim_end().len();
            self.span(header, header)
        } else {
            self.span(start, start + trimmed.len())
        }
    }

    /// Corrects the span of an empty value, which the event parser places before the colon.
    fn span_after_colon(&self, span: Span) -> Span {
        let start = span.start as usize;
        let rest = &self.text[start..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if self.builder.expects_value() && rest[blanks..].starts_with(':') {
            let place = start + blanks + 1;
            self.span(place, place)
        } else {
            span
        }
    }

    /// Resolves a scalar with an explicit tag.
    fn tagged(
        &mut self,
        text: &str,
        tag: &Tag,
        span: Span,
    ) -> Result<(NodeKind, Option<Arc<str>>), ParseStop> {
        let unlike = |type_name: &str| {
            ParseStop::problem(
                Diagnostic::error(format!("`{text}` is not {type_name}"))
                    .check(Check::WrongKind)
                    .label(span, format!("tagged as {type_name}")),
            )
        };
        let kind = match tag.core_suffix() {
            None => {
                let tag = self.foreign_tag(tag, span)?;
                return Ok((NodeKind::Str(Arc::from(text)), tag));
            }
            Some("null") => NodeKind::Null,
            Some("bool") => match text.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" | "on" => NodeKind::Bool(true),
                "n" | "no" | "false" | "off" => NodeKind::Bool(false),
                _ => return Err(unlike("a boolean")),
            },
            Some("int") => scalar::integer(text).ok_or_else(|| unlike("an integer"))?,
            Some("float") => scalar::float(text)
                .or_else(|| text.parse().ok().map(NodeKind::Float))
                .ok_or_else(|| unlike("a float"))?,
            Some("map") => return Err(unlike("a map")),
            Some("seq") => return Err(unlike("a list")),
            Some(_) => NodeKind::Str(Arc::from(text)),
        };
        Ok((kind, None))
    }

    /// Returns a tag outside YAML's core tags, as written. Tags that would run Python code are errors.
    fn foreign_tag(&mut self, tag: &Tag, span: Span) -> Result<Option<Arc<str>>, ParseStop> {
        if tag.core_suffix().is_some() || tag.suffix() == "!" {
            return Ok(None);
        }
        let full = [tag.handle(), tag.suffix()].concat();
        if full.starts_with("tag:yaml.org,2002:python/") {
            return Err(ParseStop::problem(
                Diagnostic::error(format!("the tag `{}` is not allowed", tag.original()))
                    .check(Check::YamlSyntax)
                    .label(span, "would run Python code")
                    .help("write the value without the tag"),
            ));
        }
        let name = tag.original();
        if let Some(known) = self.tags.get(name.as_str()) {
            return Ok(Some(Arc::clone(known)));
        }
        let name: Arc<str> = Arc::from(name);
        self.tags.insert(Arc::clone(&name));
        Ok(Some(name))
    }

    fn explain(&mut self, error: &ScanError) -> Diagnostic {
        let text = self.text;
        let mark = error.marker().byte_offset().unwrap_or(text.len());
        let place = mark.min(text.len());
        let rest = text.get(place..).unwrap_or_default();
        let width = rest.chars().next().map_or(0, char::len_utf8);
        let span = self.span(place, place + width);
        if matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent) {
            self.outdented = Some(place);
        }
        let (message, help) = explanation(error.kind());
        let diagnostic = Diagnostic::error(message)
            .check(Check::YamlSyntax)
            .label(span, "");
        diagnostic.help_if(help)
    }
}

/// Returns the message and, if possible, a hint for an error of the event parser.
fn explanation(kind: &ErrorKind) -> (String, Option<&'static str>) {
    use ErrorKind as E;
    match kind {
        E::TabNotAllowed | E::TabInBlockIndentation | E::TabInIndentation => (
            "a tab cannot be used as indentation".to_owned(),
            Some("use spaces"),
        ),
        E::MappingValueNotAllowed => (
            "a `key: value` pair is not allowed here".to_owned(),
            Some("check the indentation, or quote the text if its `: ` is meant literally"),
        ),
        E::InvalidColonPlacement => (
            "a `:` is not allowed here".to_owned(),
            Some("check whether a `]` or `}` is missing before it"),
        ),
        E::RecursionLimitExceeded => ("lists and maps nest too deeply".to_owned(), None),
        E::ExpectedBlockMappingKey => (
            "expected a key".to_owned(),
            Some("keys of one map start in the same column"),
        ),
        E::ExpectedBlockSequenceEntry => (
            "expected a `- item`".to_owned(),
            Some("items of one list start in the same column"),
        ),
        E::ExpectedFlowMappingSeparator => ("expected `,` or `}`".to_owned(), None),
        E::ExpectedFlowSequenceSeparator => ("expected `,` or `]`".to_owned(), None),
        E::SimpleKeyExpected => (
            "expected a `:` after this key".to_owned(),
            Some("write `key: value`"),
        ),
        E::UnclosedQuotedScalar | E::InvalidQuotedScalarIndent => (
            "a quoted text is not closed, or not indented correctly".to_owned(),
            Some("add the closing quote, or indent the text"),
        ),
        E::UnexpectedCharacter {
            character: '@' | '`' | '%',
        } => (
            "a text cannot start with this character".to_owned(),
            Some("quote the text"),
        ),
        E::UnknownQuotedScalarEscape => (
            "this escape is not known".to_owned(),
            Some("write `\\\\` for a backslash, or use single quotes"),
        ),
        kind => (kind.to_string(), None),
    }
}
