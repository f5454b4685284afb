//! Puts nodes together to a tree: anchors and aliases, merges, duplicate keys, and the limits on all of it.
//!
//! It is told what comes by the YAML and the JSON reader alike, and keeps its own stack, so that no input can make
//! it recurse.

mod alias;
mod map;

use std::collections::HashMap;
use std::sync::Arc;

use self::alias::{Anchored, Weight};
use self::map::{Clash, KeyState, MapFrame, merge_sources};
use super::yaml::narrow;
use super::{Document, Entry, Kind, MOST_DOCUMENTS, MOST_LEVELS, MOST_NODES, Node, Source};
use crate::codes::Code;
use crate::problem::{FieldPath, Place, Problem, Span, on_lines, shown};

/// The source cannot be read any further; the reason has been reported.
pub(super) struct Stop;

/// What a scalar turned out to be.
pub(super) enum Found {
    /// A value.
    Value(Kind),
    /// The key of a map.
    Key(Arc<str>),
    /// The key `<<`.
    Merge,
    /// Something that has been reported.
    Broken,
}

/// How far a builder had come.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    problems: usize,
    nodes: usize,
}

enum Shape {
    List(Vec<Node>),
    Map(MapFrame),
}

struct Frame {
    shape: Shape,
    anchor: usize,
    span: Span,
    weight: Weight,
}

/// Whether a value was written in place, or stands somewhere else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Written {
    Here,
    ByAlias,
}

pub(super) struct Builder<'s> {
    source: &'s Source,
    /// The number of the current document; empty documents have none.
    document: usize,
    /// How many documents have begun, empty ones too.
    begun: usize,
    frames: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, Anchored>,
    /// Of the whole source.
    nodes: usize,
    /// How many values have been marked for aliases, of the whole source.
    anchored: usize,
    /// Bytes of text that only exist through aliases, of the whole source.
    aliased: usize,
    /// Everything that was wrong so far.
    pub(super) problems: Vec<Problem>,
}

impl<'s> Builder<'s> {
    pub(super) fn new(source: &'s Source) -> Self {
        Self {
            source,
            document: 0,
            begun: 0,
            frames: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            nodes: 0,
            anchored: 0,
            aliased: 0,
            problems: Vec::new(),
        }
    }

    /// What [`Self::undo`] goes back to.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            problems: self.problems.len(),
            nodes: self.nodes,
        }
    }

    /// Forgets the current document and everything said about it.
    pub(super) fn undo(&mut self, mark: Mark) {
        self.abandon();
        self.problems.truncate(mark.problems);
        self.nodes = mark.nodes;
    }

    /// Begins a document.
    pub(super) fn begin(&mut self, span: Span) -> Result<(), Stop> {
        self.begun += 1;
        if self.begun > MOST_DOCUMENTS {
            let message = format!("the source holds more than {MOST_DOCUMENTS} documents");
            self.problem(Code::TooManyDocuments, span, message);
            return Err(Stop);
        }
        Ok(())
    }

    /// Ends a document that could not be read to its end.
    pub(super) fn fail(&mut self) {
        self.abandon();
        self.document += 1;
    }

    /// Forgets what has been read of the current document.
    fn abandon(&mut self) {
        self.frames.clear();
        self.root = None;
        self.anchors.clear();
    }

    /// Ends a document. One that holds nothing at all is not counted, as in kubectl.
    pub(super) fn finish(&mut self) -> Option<Document> {
        let root = self.root.take().filter(|root| !root.is_null());
        self.abandon();
        let root = root?;
        let document = Document {
            source: self.source.name.clone(),
            index: self.document,
            root,
        };
        self.document += 1;
        Some(document)
    }

    /// Whether the next node is the key of a map.
    pub(super) fn wants_key(&self) -> bool {
        let innermost = self.frames.last().map(|frame| &frame.shape);
        matches!(innermost, Some(Shape::Map(map)) if matches!(map.key, KeyState::Awaited))
    }

    pub(super) fn problem(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.problem_with(code, span, message, |problem| problem);
    }

    pub(super) fn problem_with(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        complete: impl FnOnce(Problem) -> Problem,
    ) {
        // A flood is cut later, but a hostile source must not fill memory with problems before that.
        if self.problems.len() < 20_000 {
            let place = Place {
                source: self.source.name.clone(),
                document: self.document,
                span: Some(span),
                path: self.path().to_string(),
            };
            self.problems.push(complete(Problem::new(code, place, message)));
        }
    }

    /// Where the next node will stand.
    fn path(&self) -> FieldPath {
        let mut path = FieldPath::root();
        for frame in &self.frames {
            path = match &frame.shape {
                Shape::List(items) => path.index(items.len()),
                Shape::Map(map) => match &map.key {
                    KeyState::Own(name, _) => path.field(Arc::clone(name)),
                    KeyState::Merge(_) => path.field("<<"),
                    KeyState::Awaited | KeyState::Broken => path,
                },
            };
        }
        path
    }

    pub(super) fn scalar(&mut self, found: Found, span: Span) -> Result<(), Stop> {
        self.count(1, span)?;
        match found {
            Found::Value(kind) => self.put_scalar(kind, span),
            Found::Key(key) => self.set_key(KeyState::Own(key, span)),
            Found::Merge => self.set_key(KeyState::Merge(span)),
            Found::Broken if self.wants_key() => self.set_key(KeyState::Broken),
            Found::Broken => self.put_scalar(Kind::Null, span),
        }
        Ok(())
    }

    fn put_scalar(&mut self, kind: Kind, span: Span) {
        let weight = Weight::of(&kind);
        self.put(Node { span, kind }, weight, Written::Here);
    }

    pub(super) fn open_list(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        self.open(Shape::List(Vec::new()), anchor, span)
    }

    pub(super) fn open_map(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        self.open(Shape::Map(MapFrame::default()), anchor, span)
    }

    fn open(&mut self, shape: Shape, anchor: usize, span: Span) -> Result<(), Stop> {
        self.count(1, span)?;
        if self.frames.len() >= MOST_LEVELS {
            return Err(self.too_deep(span));
        }
        self.frames.push(Frame {
            shape,
            anchor,
            span,
            weight: Weight::EMPTY,
        });
        Ok(())
    }

    /// Ends the innermost list or map.
    pub(super) fn close(&mut self, end: Span) {
        let Some(Frame {
            shape,
            anchor,
            mut span,
            weight,
        }) = self.frames.pop()
        else {
            return;
        };
        let (kind, last) = match shape {
            Shape::List(items) => {
                let last = items.last().map(|item| item.span.end);
                (Kind::List(items.into()), last)
            }
            Shape::Map(map) => {
                let map = map.into_map();
                let last = map.entries().last();
                let last = last.map(|entry| entry.value.span.end.max(entry.key_span.end));
                (Kind::Map(Arc::new(map)), last)
            }
        };
        // A block has no closing bracket: it ends where its last value does.
        let bracket = (end.end > end.start).then_some(end.end);
        span.end = span.end.max(bracket.or(last).unwrap_or_default());
        if span.is_in_text() {
            span.end = span.end.min(narrow(self.source.text.len()));
        }
        let node = Node { span, kind };
        if anchor != 0 {
            let (node, key) = (node.clone(), None);
            self.anchors.insert(anchor, Anchored { node, weight, key });
        }
        self.put(node, weight, Written::Here);
    }

    fn too_deep(&mut self, span: Span) -> Stop {
        let message = format!("lists and maps are nested more than {MOST_LEVELS} levels deep");
        self.problem(Code::TooDeep, span, message);
        Stop
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes <= MOST_NODES {
            return Ok(());
        }
        let message = format!(
            "the source holds more than {MOST_NODES} values, aliases counted with what they stand for"
        );
        self.problem(Code::TooManyNodes, span, message);
        Err(Stop)
    }

    fn set_key(&mut self, state: KeyState) {
        if let Some(map) = self.map() {
            map.key = state;
        }
    }

    /// Puts a finished value where it belongs.
    fn put(&mut self, node: Node, weight: Weight, written: Written) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.weight.add(weight);
        match &mut frame.shape {
            Shape::List(items) => items.push(node),
            Shape::Map(map) => match std::mem::take(&mut map.key) {
                KeyState::Awaited => self.value_as_key(&node),
                KeyState::Own(key, key_span) => self.own(Entry {
                    key,
                    key_span,
                    value: node,
                }),
                KeyState::Merge(at) => self.merge(&node, at, written),
                KeyState::Broken => {}
            },
        }
    }

    /// A list or map in the place of a key, or an alias of something that cannot be one.
    fn value_as_key(&mut self, node: &Node) {
        let message = format!("{} cannot be a key", node.describe());
        self.problem(Code::BadKey, node.span, message);
        self.set_key(KeyState::Broken);
    }

    fn own(&mut self, entry: Entry) {
        let second = entry.key_span;
        let clash = self.map().and_then(|map| map.own(entry));
        let Some(Clash { key, first }) = clash else { return };
        let path = self.path().field(Arc::clone(&key)).to_string();
        let (key, lines) = (shown(&key), on_lines(first, second));
        let message = format!("the key `{key}` is used twice{lines}");
        self.problem_with(Code::DuplicateKey, second, message, |mut problem| {
            problem.place.path = path;
            problem
                .label("again here")
                .related(first, "first here")
                .hint("remove one of the two")
        });
    }

    fn merge(&mut self, value: &Node, at: Span, written: Written) {
        let Some(sources) = merge_sources(value, written == Written::Here) else {
            let message = format!("`<<` merges maps, and this is {}", value.describe());
            return self.problem_with(Code::BadMerge, at, message, |problem| {
                problem
                    .allowed("a map, or a list of maps")
                    .hint("quote a key that is really called `<<`")
            });
        };
        let changed = self.map().map(|map| map.merge(&sources)).unwrap_or_default();
        for Clash { key, first } in changed {
            let key = shown(&key);
            let message = format!("the merged value of `{key}` replaces the one written before it");
            self.problem_with(Code::MergedOverOwn, at, message, |problem| {
                problem
                    .related(first, "this value is lost")
                    .hint("put `<<` first in the map, so that its own keys win")
            });
        }
    }

    /// The innermost map, if the innermost thing is one.
    fn map(&mut self) -> Option<&mut MapFrame> {
        match &mut self.frames.last_mut()?.shape {
            Shape::Map(map) => Some(map),
            Shape::List(_) => None,
        }
    }
}
