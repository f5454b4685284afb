//! YAML text becomes documents: the parser's events are put together to trees on an explicit stack.

use std::borrow::Cow;

use granit_parser::{
    ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span as EventSpan, Tag as EventTag,
};

use super::build::{Builder, Found, Stop};
use super::json::Start;
use super::kubectl::{Refusal, Watch};
use super::{Document, Kind, MOST_LEVELS, Source};
use crate::codes::Code;
use crate::problem::{Span, shown};
use crate::scalar::{self, Scalar, Tag};

/// What `!!` stands for.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Reads every document of `source` from `start` on.
pub(super) fn parse<'s>(
    source: &'s Source,
    start: Start,
    builder: &mut Builder<'s>,
    documents: &mut Vec<Document>,
) {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        flow_nesting_limit: MOST_LEVELS,
        block_nesting_limit: MOST_LEVELS,
    };
    let Some(text) = source.text.get(start.byte..) else {
        return;
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let watch = Watch::new(&source.text, start.byte);
    let mut reader = Reader {
        source,
        start,
        builder,
        documents,
        watch,
        begun: 0,
    };
    if reader.documents.len() > 1 {
        let message = "kubectl reads a source that begins with two JSON objects as JSON to its end";
        let hint = "put `---` between all of them, or use JSON throughout";
        reader.refused(start.span_to(start.byte), message, hint);
    }
    loop {
        match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => break,
            Some(Ok((event, span))) => {
                let span = reader.span(&span);
                if let Some(Refusal { span, message, hint }) = reader.watch.look(&event, span) {
                    reader.refused(span, message, hint);
                }
                if let Err(Stop) = reader.take(event, span) {
                    break;
                }
            }
            Some(Err(error)) => {
                reader.syntax(&error);
                reader.builder.fail();
                if !matches!(parser.proceed_next_document(), Ok(true)) {
                    break;
                }
            }
        }
    }
}

struct Reader<'r, 's> {
    source: &'s Source,
    start: Start,
    builder: &'r mut Builder<'s>,
    documents: &'r mut Vec<Document>,
    watch: Watch<'s>,
    /// Documents begun by this reader.
    begun: usize,
}

impl Reader<'_, '_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(explicit, _) => {
                self.begun += 1;
                self.builder.begin(span)?;
                if !explicit && self.begun > 1 {
                    let message = "kubectl never reads what stands between `...` and the next `---`";
                    self.builder
                        .problem_with(Code::AfterDocumentEnd, span, message, |problem| {
                            problem.hint("begin the document with `---`")
                        });
                }
            }
            Event::DocumentEnd => self.documents.extend(self.builder.finish()),
            Event::Scalar(text, style, anchor, tag) => {
                let found = self.scalar(&text, style, anchor, tag.as_deref(), span);
                self.builder.scalar(found, span)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), span);
                self.builder.open_list(anchor, span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.collection_tag(tag.as_deref(), span);
                self.builder.open_map(anchor, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.builder.close(span),
            Event::Anchor(..) => self.builder.mark_anchor(span)?,
            Event::Alias(anchor) => self.builder.alias(anchor, span)?,
            Event::UnresolvedAlias(name) => {
                let message = format!("nothing is marked `&{}` before this alias", shown(&name));
                self.builder
                    .problem_with(Code::BadAlias, span, message, |problem| {
                        let colon = name.ends_with(':');
                        problem.maybe_hint(colon.then(|| "put a space before the colon".to_owned()))
                    });
                self.builder.scalar(Found::Broken, span)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn refused(&mut self, span: Span, message: impl Into<String>, hint: &str) {
        self.builder
            .problem_with(Code::KubectlRefuses, span, message, |problem| problem.hint(hint));
    }

    /// What a scalar means, by its style and tag.
    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&EventTag>,
        span: Span,
    ) -> Found {
        let plain = style == ScalarStyle::Plain;
        if text == "<<" && self.builder.wants_key() && tag.map_or(plain, is_merge_tag) {
            return Found::Merge;
        }
        let resolved = match tag {
            None if plain => scalar::resolve(text),
            None => Scalar::Text(Cow::Borrowed(text)),
            Some(tag) => match self.tagged(tag, text, span) {
                Some(found) => found,
                None => return Found::Broken,
            },
        };
        if anchor != 0 {
            let value = resolved.clone().into_value().map(kind);
            let key = resolved.clone().into_key().map(|key| key.as_ref().into());
            self.builder.anchor_scalar(anchor, value, key, span);
        }
        if self.builder.wants_key() {
            return self.key(resolved, text, span);
        }
        if let Some(value) = resolved.into_value() {
            return Found::Value(kind(value));
        }
        let message = format!("`{}` is not a finite number, and JSON has no other", shown(text));
        self.builder.problem(Code::NotFinite, span, message);
        Found::Broken
    }

    fn tagged<'t>(&mut self, tag: &EventTag, text: &'t str, span: Span) -> Option<Scalar<'t>> {
        let Some(known) = tag
            .suffix_in_namespace(YAML_TAGS)
            .and_then(|name| Tag::named(&name))
        else {
            // The lone `!` says "plain text", which is what it gets.
            if tag.original() != "!" {
                let name = shown(&tag.original());
                let message = format!("the tag `{name}` has no meaning here; the value is taken as text");
                self.builder.problem(Code::TagIgnored, span, message);
            }
            return Some(Scalar::Text(Cow::Borrowed(text)));
        };
        let found = scalar::tagged(known, text);
        if found.is_none() {
            let message = format!("`{}` is not what its tag `!!{}` says", shown(text), tag.suffix());
            self.builder.problem(Code::BadTag, span, message);
        }
        found
    }

    fn key(&mut self, resolved: Scalar<'_>, text: &str, span: Span) -> Found {
        if let Some(key) = resolved.into_key() {
            return Found::Key(key.as_ref().into());
        }
        let message = if text.is_empty() {
            "the key in front of the colon is empty".to_owned()
        } else {
            format!("`{}` cannot be a key: it is not text", shown(text))
        };
        self.builder.problem_with(Code::BadKey, span, message, |problem| {
            problem.hint("quote it if it is meant as text")
        });
        Found::Broken
    }

    /// Tags on lists and maps change nothing; only a stranger is worth a word.
    fn collection_tag(&mut self, tag: Option<&EventTag>, span: Span) {
        if let Some(tag) = tag
            && !(tag.is_yaml_core_schema() || tag.original() == "!")
        {
            let name = shown(&tag.original());
            let message = format!("the tag `{name}` has no meaning here and is ignored");
            self.builder.problem(Code::TagIgnored, span, message);
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let text = &*self.source.text;
        let at = self.start.byte + error.marker().byte_offset().unwrap_or(0);
        let rest = text.get(at..).unwrap_or_default();
        let next = rest.chars().next();
        let width = next
            .filter(|c| !matches!(c, '\n' | '\r'))
            .map_or(0, char::len_utf8);
        let span = self.place(error.marker(), at, at + width);
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let message = format!("lists and maps are nested more than {MOST_LEVELS} levels deep");
            return self.builder.problem(Code::TooDeep, span, message);
        }
        // The parser points at the beginning of the text that holds a character it does not take.
        let bad = match error.kind() {
            ErrorKind::UnexpectedCharacter { character } => Some(*character),
            kind if super::syntax::is_about_tabs(kind) => Some('\t'),
            _ => next,
        };
        let bad = bad.filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\u{85}'));
        let there = bad.and_then(|bad| Some((bad, at + rest.find(bad)?)));
        let span = there.map_or(span, |(bad, start)| {
            span_at(text, span, start, start + bad.len_utf8())
        });
        if let Some((bad, _)) = there.filter(|(bad, _)| *bad != '\t') {
            let message = format!("the control character {} is not allowed", bad.escape_default());
            return self.builder.problem(Code::ControlCharacter, span, message);
        }
        let (message, hint) = super::syntax::words(error.kind());
        let hint = hint.map(str::to_owned);
        self.builder
            .problem_with(Code::Syntax, span, message, |problem| problem.maybe_hint(hint));
    }

    /// The parser's span is nine times as large as ours, and counts from where it began.
    fn span(&self, span: &EventSpan) -> Span {
        let (range, from) = (span.byte_range().unwrap_or(0..0), self.start.byte);
        self.place(&span.start, from + range.start, from + range.end)
    }

    fn place(&self, marker: &Marker, start: usize, end: usize) -> Span {
        let first_line = marker.line() <= 1;
        Span {
            line: narrow(marker.line() + self.start.line - 1),
            column: narrow(marker.col() + if first_line { self.start.column } else { 1 }),
            start: narrow(start.min(self.source.text.len())),
            end: narrow(end.max(start).min(self.source.text.len())),
        }
    }
}

/// The span of `start..end`, counted on from a span before it.
fn span_at(text: &str, from: Span, start: usize, end: usize) -> Span {
    let passed = text.get(from.range().start..start).unwrap_or_default();
    let lines = passed.matches('\n').count();
    let column = match passed.rsplit_once('\n') {
        Some((_, last)) => last.chars().count() + 1,
        None => from.column as usize + passed.chars().count(),
    };
    Span {
        line: from.line + narrow(lines),
        column: narrow(column),
        start: narrow(start),
        end: narrow(end.min(text.len())),
    }
}

/// Whether a key `<<` with this tag merges all the same.
fn is_merge_tag(tag: &EventTag) -> bool {
    tag.original() == "!"
        || tag
            .suffix_in_namespace(YAML_TAGS)
            .is_some_and(|name| name == "merge")
}

/// The meaning as a node's kind. Only values come here, so the number is one that JSON can hold.
pub(super) fn kind(value: Scalar<'_>) -> Kind {
    match value {
        Scalar::Null => Kind::Null,
        Scalar::Bool(value) => Kind::Bool(value),
        Scalar::Int(value) => Kind::Int(value),
        #[expect(clippy::cast_precision_loss, reason = "the loss is what kubectl does")]
        Scalar::Large(value) => Kind::Float(value as f64),
        Scalar::Float(value) => Kind::Float(value),
        Scalar::Text(text) => Kind::Text(text.as_ref().into()),
    }
}

/// Sources are limited to far less than 32 bits can count.
pub(super) fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
