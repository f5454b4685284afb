//! Anchors and aliases: an alias shares what it stands for, but is charged for all of it.

use std::sync::Arc;

use super::map::KeyState;
use super::{Builder, Found, Stop, Written};
use crate::codes::Code;
use crate::document::{Kind, MOST_ANCHORS, MOST_BYTES, MOST_LEVELS, Node};
use crate::problem::Span;

/// How much a value holds, so that an alias is charged what it stands for.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    pub(super) nodes: usize,
    pub(super) bytes: usize,
    pub(super) levels: usize,
}

pub(super) struct Anchored {
    pub(super) node: Node,
    pub(super) weight: Weight,
    /// What it is as a key: `1e6` is another text as a key than as a value.
    pub(super) key: Option<Arc<str>>,
}

impl Weight {
    /// What a list or map weighs before anything is in it.
    pub(super) const EMPTY: Self = Self {
        nodes: 1,
        bytes: 0,
        levels: 1,
    };

    /// What a scalar weighs.
    pub(super) fn of(scalar: &Kind) -> Self {
        let bytes = match scalar {
            Kind::Text(text) => text.len(),
            _ => 0,
        };
        Self {
            bytes,
            levels: 0,
            ..Self::EMPTY
        }
    }

    /// Adds what lies in a list or map.
    pub(super) fn add(&mut self, inner: Self) {
        self.nodes = self.nodes.saturating_add(inner.nodes);
        self.bytes = self.bytes.saturating_add(inner.bytes);
        self.levels = self.levels.max(inner.levels + 1);
    }
}

impl Builder<'_> {
    /// Remembers a scalar for its aliases, which may use it as a value and as a key.
    pub(in crate::document) fn anchor_scalar(
        &mut self,
        anchor: usize,
        value: Option<Kind>,
        key: Option<Arc<str>>,
        span: Span,
    ) {
        let kind = value.unwrap_or(Kind::Null);
        let weight = Weight::of(&kind);
        let node = Node { span, kind };
        self.anchors.insert(anchor, Anchored { node, weight, key });
    }

    /// Counts a mark for aliases.
    pub(in crate::document) fn mark_anchor(&mut self, span: Span) -> Result<(), Stop> {
        self.anchored += 1;
        if self.anchored <= MOST_ANCHORS {
            return Ok(());
        }
        let message = format!("the source marks more than {MOST_ANCHORS} values with `&`");
        self.problem(Code::TooManyNodes, span, message);
        Err(Stop)
    }

    pub(in crate::document) fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(Anchored { node, weight, key }) = self.anchors.get(&anchor) else {
            let message = "this alias stands for the value that contains it";
            self.problem(Code::BadAlias, span, message);
            return self.scalar(Found::Broken, span);
        };
        let (node, weight, key) = (node.clone(), *weight, key.clone());
        self.count(weight.nodes.max(1), span)?;
        self.aliased = self.aliased.saturating_add(weight.bytes);
        if self.aliased > MOST_BYTES {
            let message = format!("aliases stand for more than {MOST_BYTES} bytes of text");
            self.problem(Code::TooManyNodes, span, message);
            return Err(Stop);
        }
        if self.frames.len() + weight.levels > MOST_LEVELS {
            return Err(self.too_deep(span));
        }
        match key {
            Some(key) if self.wants_key() => self.set_key(KeyState::Own(key, span)),
            _ => self.put(node, weight, Written::ByAlias),
        }
        Ok(())
    }
}
