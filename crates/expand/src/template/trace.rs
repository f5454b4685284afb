//! Where in the template a piece of its output comes from.
//!
//! The engine does not say. But it hands on the texts between the actions as it keeps them, so that a writer can tell
//! by their address which of them it is given; everything else comes from the action behind the last of them.

use std::collections::BTreeMap;
use std::fmt;

use gotmpl::Template;
use gotmpl::parse::{ListNode, Node};

use super::LONGEST;

/// The texts of a template by their address: where each begins in the source.
#[derive(Debug, Default)]
pub(super) struct Texts(BTreeMap<usize, usize>);

impl Texts {
    pub(super) fn of(template: &Template, source: &str) -> Self {
        let mut texts = Self::default();
        for name in template.templates() {
            if let Some(body) = template.lookup(name) {
                texts.gather(body, source);
            }
        }
        if let Some(body) = template.lookup(super::NAME) {
            texts.gather(body, source);
        }
        texts
    }

    fn gather(&mut self, list: &ListNode, source: &str) {
        for node in &list.nodes {
            match node {
                Node::Text(text) => {
                    // Trim markers cut off what is before it; it begins at its position or a few blanks behind.
                    let behind = source.get(text.pos.offset..).unwrap_or_default();
                    let skipped = behind.find(&*text.text).unwrap_or(0);
                    self.0
                        .insert(text.text.as_ptr().addr(), text.pos.offset + skipped);
                }
                Node::List(list) => self.gather(list, source),
                Node::If(branch) | Node::Range(branch) | Node::With(branch) => {
                    self.gather(&branch.body, source);
                    if let Some(other) = &branch.else_body {
                        self.gather(other, source);
                    }
                }
                Node::Define(define) => self.gather(&define.body, source),
                Node::Action(_) | Node::Template(_) | Node::Break(_) | Node::Continue(_) => {}
            }
        }
    }
}

/// A writer that keeps no text, only where it comes from.
#[derive(Debug)]
pub(super) struct Traced<'a> {
    texts: Texts,
    source: &'a str,
    written: usize,
    /// For each text: where it begins in the output and in the source, and how long it is.
    pieces: Vec<(usize, usize, usize)>,
}

impl<'a> Traced<'a> {
    pub(super) fn new(texts: Texts, source: &'a str) -> Self {
        Self {
            texts,
            source,
            written: 0,
            pieces: Vec::new(),
        }
    }

    /// Where the byte `at` of the output comes from.
    pub(super) fn origin(&self, at: usize) -> Option<usize> {
        let next = self.pieces.partition_point(|(start, ..)| *start <= at);
        let Some((start, origin, length)) = next.checked_sub(1).and_then(|last| self.pieces.get(last)) else {
            return self.action(0);
        };
        if at < start + length {
            Some(origin + (at - start))
        } else {
            self.action(origin + length)
        }
    }

    /// Where the last thing that was written comes from, or what came after it.
    pub(super) fn last(&self) -> Option<usize> {
        let end = self
            .pieces
            .last()
            .map_or(0, |(_, origin, length)| origin + length);
        self.action(end)
    }

    /// The action behind a text.
    fn action(&self, from: usize) -> Option<usize> {
        let at = self.source.get(from..)?.find("{{")?;
        Some(from + at)
    }
}

impl fmt::Write for Traced<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if let Some(origin) = self.texts.0.get(&part.as_ptr().addr()) {
            self.pieces.push((self.written, *origin, part.len()));
        }
        self.written += part.len();
        // It went no further the first time either.
        if self.written > LONGEST {
            return Err(fmt::Error);
        }
        Ok(())
    }
}
