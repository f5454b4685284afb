//! JSON text becomes documents: one value after another, as kubectl reads a stream that begins with `{`.
//!
//! It is several times faster than reading JSON as YAML. Anything that is not JSON is handed over to the YAML reader,
//! which takes more and has better words for what is wrong.

use std::borrow::Cow;

use super::build::{Builder, Found, Stop};
use super::yaml::{kind, narrow};
use super::{Document, Kind, Source};
use crate::codes::Code;
use crate::problem::Span;
use crate::scalar::Scalar;

/// Where in the text a reader begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) byte: usize,
}

impl Start {
    /// The span from here to the byte `end`.
    pub(super) fn span_to(self, end: usize) -> Span {
        Span {
            line: narrow(self.line),
            column: narrow(self.column),
            start: narrow(self.byte),
            end: narrow(self.byte.max(end)),
        }
    }
}

/// Why reading as JSON ended.
enum End {
    /// It is not JSON.
    NotJson,
    /// A limit was reached and has been reported.
    Stop,
}

impl From<Stop> for End {
    fn from(Stop: Stop) -> Self {
        Self::Stop
    }
}

/// Whether kubectl would try to read it as JSON.
pub(super) fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Reads values for as long as they are JSON. Says where the YAML reader goes on, if it must.
pub(super) fn parse(
    source: &Source,
    builder: &mut Builder<'_>,
    documents: &mut Vec<Document>,
) -> Option<Start> {
    let mut reader = Reader {
        text: &source.text,
        at: 0,
        line: 1,
        column: 1,
        counted: 0,
        open: Vec::new(),
    };
    loop {
        reader.space();
        let start = reader.start();
        reader.peek()?;
        let mark = builder.mark();
        if let Err(Stop) = builder.begin(reader.span_from(start)) {
            return None;
        }
        match reader.document(builder) {
            Ok(()) => documents.extend(builder.finish()),
            Err(End::Stop) => return None,
            Err(End::NotJson) => {
                builder.undo(mark);
                return Some(start);
            }
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    /// The column of the byte `counted`.
    column: usize,
    counted: usize,
    /// The closing brackets that are due.
    open: Vec<u8>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over a byte that must come next.
    fn expect(&mut self, byte: u8) -> Result<(), End> {
        if self.peek() != Some(byte) {
            return Err(End::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.column = 1;
                    self.counted = self.at;
                }
                b' ' | b'\t' | b'\r' => self.at += 1,
                _ => return,
            }
        }
    }

    /// The place of the next byte. Columns are counted on from the last place, or a long line would cost its square.
    fn start(&mut self) -> Start {
        self.column += self
            .text
            .get(self.counted..self.at)
            .map_or(0, |passed| passed.chars().count());
        self.counted = self.at;
        Start {
            line: self.line,
            column: self.column,
            byte: self.at,
        }
    }

    fn span_from(&self, start: Start) -> Span {
        start.span_to(self.at)
    }

    /// One value with everything in it.
    fn document(&mut self, builder: &mut Builder<'_>) -> Result<(), End> {
        self.open.clear();
        loop {
            self.space();
            if self.value(builder)? {
                // A list or map was opened: its first item comes next, unless it is empty.
                self.space();
                if self.peek() != self.open.last().copied() {
                    self.key(builder)?;
                    continue;
                }
            }
            if !self.next_item(builder)? {
                return Ok(());
            }
        }
    }

    /// Closes what is complete and moves to the next item; false when the document is complete.
    fn next_item(&mut self, builder: &mut Builder<'_>) -> Result<bool, End> {
        while let Some(closing) = self.open.last().copied() {
            self.space();
            let start = self.start();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.space();
                    self.key(builder)?;
                    return Ok(true);
                }
                Some(byte) if byte == closing => {
                    self.at += 1;
                    self.open.pop();
                    builder.close(self.span_from(start));
                }
                _ => return Err(End::NotJson),
            }
        }
        Ok(false)
    }

    /// Inside a map, the key and its colon; inside a list, nothing.
    fn key(&mut self, builder: &mut Builder<'_>) -> Result<(), End> {
        if self.open.last() != Some(&b'}') {
            return Ok(());
        }
        let start = self.start();
        let text = self.string()?;
        builder.scalar(Found::Key(text.as_ref().into()), self.span_from(start))?;
        self.space();
        self.expect(b':')
    }

    /// A value, or the beginning of a list or map; true for the latter.
    fn value(&mut self, builder: &mut Builder<'_>) -> Result<bool, End> {
        let start = self.start();
        let found = match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.open.push(b'}');
                builder.open_map(0, self.span_from(start))?;
                return Ok(true);
            }
            Some(b'[') => {
                self.at += 1;
                self.open.push(b']');
                builder.open_list(0, self.span_from(start))?;
                return Ok(true);
            }
            Some(b'"') => Found::Value(Kind::Text(self.string()?.as_ref().into())),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(b'-' | b'0'..=b'9') => {
                let number = self.number()?;
                if number.is_none() {
                    builder.problem(Code::NotFinite, self.span_from(start), "the number is too large");
                }
                number.map_or(Found::Broken, Found::Value)
            }
            _ => return Err(End::NotJson),
        };
        builder.scalar(found, self.span_from(start))?;
        Ok(false)
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Found, End> {
        if !self.text[self.at..].starts_with(word) {
            return Err(End::NotJson);
        }
        self.at += word.len();
        Ok(Found::Value(kind))
    }

    /// A number; `None` if it is too large for a float.
    fn number(&mut self) -> Result<Option<Kind>, End> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        match (self.peek(), self.digits()) {
            (Some(b'0'), 1) | (Some(b'1'..=b'9'), _) => {}
            _ => return Err(End::NotJson),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        let text = &self.text[start..self.at];
        // Text with a point or an exponent is no `i64`.
        let scalar = match text.parse() {
            Ok(value) => Scalar::Int(value),
            Err(_) => Scalar::Float(text.parse().map_err(|_| End::NotJson)?),
        };
        Ok(scalar.into_value().map(kind))
    }

    /// Passes over digits and says how many there were.
    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn some_digits(&mut self) -> Result<(), End> {
        (self.digits() > 0).then_some(()).ok_or(End::NotJson)
    }

    /// A string with its quotes.
    fn string(&mut self) -> Result<Cow<'t, str>, End> {
        self.expect(b'"')?;
        let text = self.text;
        let mut piece = self.at;
        let mut whole: Option<String> = None;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let last = &text[piece..self.at];
                    self.at += 1;
                    return Ok(match whole {
                        None => Cow::Borrowed(last),
                        Some(whole) => Cow::Owned(whole + last),
                    });
                }
                Some(b'\\') => {
                    let so_far = whole.get_or_insert_default();
                    so_far.push_str(&text[piece..self.at]);
                    self.at += 1;
                    let character = self.escape()?;
                    so_far.push(character);
                    piece = self.at;
                }
                // Control characters must be escaped; a text without end is no JSON either.
                None | Some(0..0x20) => return Err(End::NotJson),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, End> {
        let byte = self.peek().ok_or(End::NotJson)?;
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let mut units = vec![self.four_digits()?];
                if (0xd800..0xdc00).contains(&units[0]) {
                    self.expect(b'\\')?;
                    self.expect(b'u')?;
                    units.push(self.four_digits()?);
                }
                let character = char::decode_utf16(units).next();
                character.and_then(Result::ok).ok_or(End::NotJson)?
            }
            _ => return Err(End::NotJson),
        })
    }

    fn four_digits(&mut self) -> Result<u16, End> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(End::NotJson)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(End::NotJson);
        }
        self.at += 4;
        u16::from_str_radix(digits, 16).map_err(|_| End::NotJson)
    }
}
