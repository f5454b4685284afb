//! Text that is read here but that kubectl's older YAML reader refuses or takes differently: each is worth a warning.
//!
//! The reader of events shows every event to [`Watch`], which looks at the raw text of it and of the gap before it.
//! What the source does not contain at all is ruled out once, so that ordinary manifests pay nothing.

use granit_parser::{Event, ScalarStyle, StructureStyle};

use crate::problem::Span;

/// Something kubectl stumbles over: where, what, and how to write it instead.
pub(super) struct Refusal {
    pub(super) span: Span,
    pub(super) message: &'static str,
    pub(super) hint: &'static str,
}

pub(super) struct Watch<'t> {
    text: &'t str,
    /// Where the last event ended.
    last: usize,
    /// How many `[` and `{` are open.
    flow: usize,
    suspects: Suspects,
}

/// What the source contains at all.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent questions about one text"
)]
struct Suspects {
    tabs: bool,
    directives: bool,
    breaks: bool,
    escapes: bool,
}

impl<'t> Watch<'t> {
    /// Watches the events of `text` from byte `start` on.
    pub(super) fn new(text: &'t str, start: usize) -> Self {
        let rest = text.get(start..).unwrap_or_default();
        Self {
            text,
            last: start,
            flow: 0,
            suspects: Suspects {
                tabs: rest.contains('\t'),
                directives: rest.starts_with('%') || rest.contains("\n%"),
                breaks: rest.contains(is_old_line_break),
                escapes: rest.contains("\\u") || rest.contains("\\/"),
            },
        }
    }

    /// Looks at the next event.
    pub(super) fn look(&mut self, event: &Event<'_>, span: Span) -> Option<Refusal> {
        let gap = self.text.get(self.last..span.range().start).unwrap_or_default();
        let gap_start = self.last;
        self.last = self.last.max(span.range().end);
        let found = self.gap(gap, gap_start, span);
        let found = found.or_else(|| match event {
            Event::DocumentStart(true, _) => self.separator(span),
            Event::Anchor(_, name) => anchor(name, span),
            Event::Scalar(text, style, ..) => self.scalar(text, *style, span),
            _ => None,
        });
        match event {
            Event::SequenceStart(StructureStyle::Flow, ..)
            | Event::MappingStart(StructureStyle::Flow, ..) => {
                self.flow += 1;
            }
            Event::SequenceEnd | Event::MappingEnd => self.flow = self.flow.saturating_sub(1),
            Event::DocumentStart(..) => self.flow = 0,
            _ => {}
        }
        found
    }

    /// The text between two events: indicators, comments, blank lines.
    fn gap(&self, gap: &str, start: usize, next: Span) -> Option<Refusal> {
        if self.suspects.directives && gap.lines().any(|line| line.starts_with('%')) {
            return refusal(
                next,
                "kubectl refuses a `%` directive",
                "remove it; it changes nothing",
            );
        }
        if self.suspects.breaks && gap.contains(is_old_line_break) {
            return old_line_break(next);
        }
        if !self.suspects.tabs || self.flow > 0 {
            return None;
        }
        let mut at = start;
        for line in gap.split_inclusive('\n') {
            let code = line.split('#').next().unwrap_or_default();
            // A token may not begin behind a tab where a key could stand: at the start of a line, and after `-`, `?`.
            let before = code
                .split('\t')
                .next()
                .unwrap_or_default()
                .trim_start_matches([' ', '-', '?']);
            let begins_line = at == 0 || self.text.as_bytes().get(at - 1) == Some(&b'\n');
            let after_indicator = code.trim_start().starts_with(['-', '?']);
            if code.contains('\t') && before.is_empty() && (begins_line || after_indicator) {
                return refusal(next, "kubectl refuses a tab here", "use spaces");
            }
            at += line.len();
        }
        None
    }

    /// `--- text`: kubectl takes only a comment behind the separator.
    fn separator(&self, span: Span) -> Option<Refusal> {
        let rest = self
            .text
            .get(span.range().start..)?
            .lines()
            .next()?
            .strip_prefix("---")?
            .trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return None;
        }
        refusal(
            span,
            "kubectl refuses text behind `---`",
            "begin the document on the next line",
        )
    }

    /// `[a:, b]`: a colon between unquoted text and another indicator.
    fn colon_without_space(&self, span: Span) -> bool {
        let after = self.text.as_bytes().get(span.range().end..).unwrap_or_default();
        matches!(after, [b':', b',' | b'[' | b']' | b'{' | b'}', ..])
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: Span) -> Option<Refusal> {
        if style == ScalarStyle::Plain && self.flow > 0 && text.contains('?') {
            return refusal(
                span,
                "kubectl refuses `?` in unquoted text between brackets",
                "put the text in quotes",
            );
        }
        if style == ScalarStyle::Plain && self.flow > 0 && self.colon_without_space(span) {
            return refusal(
                span,
                "kubectl takes this colon for a part of the text before it",
                "put a space behind the colon",
            );
        }
        let raw = self.text.get(span.range())?;
        if self.suspects.breaks && raw.contains(is_old_line_break) {
            return old_line_break(span);
        }
        if !self.suspects.escapes || style != ScalarStyle::DoubleQuoted {
            return None;
        }
        let mut rest = raw;
        while let Some(at) = rest.find('\\') {
            let escape = &rest.as_bytes()[at + 1..];
            let surrogate = matches!(
                escape,
                [b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', ..]
            );
            if surrogate || escape.first() == Some(&b'/') {
                return refusal(
                    span,
                    "kubectl refuses this JSON escape in YAML",
                    "write the character itself",
                );
            }
            let skipped = rest[at + 1..].chars().next().map_or(0, char::len_utf8);
            rest = &rest[at + 1 + skipped..];
        }
        None
    }
}

fn anchor(name: &str, span: Span) -> Option<Refusal> {
    if name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    {
        return None;
    }
    refusal(
        span,
        "kubectl refuses this name of an anchor",
        "use letters, digits, `-` and `_` alone",
    )
}

/// Line breaks of YAML 1.1 that YAML 1.2 takes for ordinary characters.
fn is_old_line_break(character: char) -> bool {
    matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn old_line_break(span: Span) -> Option<Refusal> {
    refusal(
        span,
        "kubectl takes a character in this text (U+0085, U+2028 or U+2029) for a line break",
        "remove it, or write it as an escape in double quotes",
    )
}

#[expect(clippy::unnecessary_wraps, reason = "every caller returns it at once")]
fn refusal(span: Span, message: &'static str, hint: &'static str) -> Option<Refusal> {
    Some(Refusal { span, message, hint })
}
