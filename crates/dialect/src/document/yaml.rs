//! YAML text becomes documents: the parser's events are put together to trees on an explicit stack.

use std::borrow::Cow;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span as EventSpan, Tag as EventTag};

use super::build::{Builder, Found, Stop};
use super::{Document, Kind, MOST_DOCUMENTS, MOST_LEVELS, Source};
use crate::codes::Code;
use crate::problem::{Problem, Span, shown};
use crate::scalar::{self, Scalar, Tag};

/// What `!!` stands for.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Reads every document of `source`.
pub(super) fn parse(source: &Source) -> (Vec<Document>, Vec<Problem>) {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MOST_LEVELS,
        block_nesting_limit: MOST_LEVELS,
    };
    let mut parser = Parser::new_from_str_with_options(&source.text, options);
    let mut reader = Reader {
        source,
        builder: Builder::new(source),
        documents: Vec::new(),
    };
    loop {
        match parser.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => break,
            Some(Ok((event, span))) => {
                if let Err(Stop) = reader.take(event, compact(&span)) {
                    break;
                }
            }
            Some(Err(error)) => {
                reader.syntax(&error);
                reader.builder.abandon();
                if !matches!(parser.proceed_next_document(), Ok(true)) {
                    break;
                }
            }
        }
    }
    (reader.documents, reader.builder.problems)
}

struct Reader<'s> {
    source: &'s Source,
    builder: Builder<'s>,
    documents: Vec<Document>,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        match event {
            Event::DocumentStart(..) => {
                self.builder.begin(self.documents.len());
                if self.documents.len() >= MOST_DOCUMENTS {
                    let message = format!("the source holds more than {MOST_DOCUMENTS} documents");
                    self.builder.problem(Code::TooManyDocuments, span, message);
                    return Err(Stop);
                }
            }
            Event::DocumentEnd => self.finish(),
            Event::Scalar(text, style, anchor, tag) => {
                let found = self.scalar(&text, style, tag.as_deref(), span);
                self.builder.scalar(found, anchor, span)?;
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
            Event::Alias(anchor) => self.builder.alias(anchor, span)?,
            Event::UnresolvedAlias(name) => {
                let message = format!("nothing is marked `&{}` before this alias", shown(&name));
                self.builder.problem(Code::BadAlias, span, message);
                self.builder.scalar(Found::Broken, 0, span)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self) {
        if let Some(root) = self.builder.finish()
            && !root.is_null()
        {
            let index = self.documents.len();
            self.documents.push(Document {
                source: self.source.name.clone(),
                index,
                root,
            });
        }
    }

    /// What a scalar means, by its style and tag.
    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&EventTag>, span: Span) -> Found {
        let plain = style == ScalarStyle::Plain;
        let resolved = match tag {
            None if !plain => Scalar::Text(Cow::Borrowed(text)),
            None if text == "<<" && self.builder.wants_key() => return Found::Merge,
            None => scalar::resolve(text),
            // The lone `!` says "not a special value" in YAML's words; kubectl resolves the text all the same.
            Some(tag) if tag.original() == "!" => scalar::resolve(text),
            Some(tag) => match self.tagged(tag, text, span) {
                Some(found) => found,
                None => return Found::Broken,
            },
        };
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
            let name = shown(&tag.original());
            let message = format!("the tag `{name}` has no meaning here; the value is taken as text");
            self.builder.problem(Code::TagIgnored, span, message);
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
            let message = format!(
                "the tag `{}` has no meaning here and is ignored",
                shown(&tag.original())
            );
            self.builder.problem(Code::TagIgnored, span, message);
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let marker = error.marker();
        let at = marker.byte_offset().unwrap_or(0).min(self.source.text.len());
        let character = self.source.text.get(at..).and_then(|rest| rest.chars().next());
        let end = at + character.filter(|c| *c != '\n').map_or(0, char::len_utf8);
        let span = Span {
            line: narrow(marker.line()),
            column: narrow(marker.col() + 1),
            start: narrow(at),
            end: narrow(end),
        };
        if *error.kind() == ErrorKind::RecursionLimitExceeded {
            let message = format!("lists and maps are nested more than {MOST_LEVELS} levels deep");
            self.builder.problem(Code::TooDeep, span, message);
        } else if let Some(bad) =
            character.filter(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}'))
        {
            let message = format!(
                "the control character {} is not allowed here",
                bad.escape_default()
            );
            self.builder.problem(Code::ControlCharacter, span, message);
        } else {
            self.builder.problem(Code::Syntax, span, error.info());
        }
    }
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

/// The parser's span is nine times as large as ours.
fn compact(span: &EventSpan) -> Span {
    let range = span.byte_range().unwrap_or(0..0);
    Span {
        line: narrow(span.start.line()),
        column: narrow(span.start.col() + 1),
        start: narrow(range.start),
        end: narrow(range.end.max(range.start)),
    }
}

fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
