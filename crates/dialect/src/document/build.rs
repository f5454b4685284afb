//! Puts nodes together to a tree: anchors and aliases, merges, duplicate keys, and the limits on all of it.
//!
//! It is told what comes by the YAML and the JSON reader alike, and keeps its own stack, so that no input can make
//! it recurse.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Document, Entry, Kind, MOST_BYTES, MOST_DOCUMENTS, MOST_LEVELS, MOST_NODES, Map, Node, Source};
use crate::codes::Code;
use crate::problem::{Place, Problem, Span, shown};

/// From this many entries on, a map finds duplicates by hashing.
const HASHED_FROM: usize = 12;

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

/// How much a value holds, so that an alias is charged what it stands for.
#[derive(Clone, Copy, Default)]
struct Weight {
    nodes: usize,
    bytes: usize,
    levels: usize,
}

struct Anchored {
    node: Node,
    weight: Weight,
    /// What it is as a key: `1e6` is another text as a key than as a value.
    key: Option<Arc<str>>,
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

#[derive(Default)]
struct MapFrame {
    entries: Vec<Entry>,
    /// For each entry, whether it came by a merge.
    merged: Vec<bool>,
    places: HashMap<Arc<str>, usize>,
    key: KeyState,
}

#[derive(Default)]
enum KeyState {
    #[default]
    Awaited,
    Own(Arc<str>, Span),
    Merge(Span),
    /// The value that follows is dropped.
    Broken,
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
        matches!(
            self.frames.last(),
            Some(Frame {
                shape: Shape::Map(MapFrame {
                    key: KeyState::Awaited,
                    ..
                }),
                ..
            })
        )
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
                path: self.path(),
            };
            self.problems.push(complete(Problem::new(code, place, message)));
        }
    }

    /// Where the next node will stand.
    fn path(&self) -> String {
        let mut path = crate::problem::FieldPath::root();
        for frame in &self.frames {
            path = match &frame.shape {
                Shape::List(items) => path.index(items.len()),
                Shape::Map(MapFrame {
                    key: KeyState::Own(name, _),
                    ..
                }) => path.field(Arc::clone(name)),
                Shape::Map(MapFrame {
                    key: KeyState::Merge(_),
                    ..
                }) => path.field("<<"),
                Shape::Map(_) => path,
            };
        }
        path.to_string()
    }

    /// Remembers a scalar for its aliases, which may use it as a value and as a key.
    pub(super) fn anchor_scalar(
        &mut self,
        anchor: usize,
        value: Option<Kind>,
        key: Option<Arc<str>>,
        span: Span,
    ) {
        let kind = value.unwrap_or(Kind::Null);
        let weight = weight_of(&kind);
        let node = Node { span, kind };
        self.anchors.insert(anchor, Anchored { node, weight, key });
    }

    pub(super) fn scalar(&mut self, found: Found, span: Span) -> Result<(), Stop> {
        self.count(1, span)?;
        let kind = match found {
            Found::Value(kind) => kind,
            Found::Key(key) => {
                self.set_key(KeyState::Own(key, span));
                return Ok(());
            }
            Found::Merge => {
                self.set_key(KeyState::Merge(span));
                return Ok(());
            }
            Found::Broken if self.wants_key() => {
                self.set_key(KeyState::Broken);
                return Ok(());
            }
            Found::Broken => Kind::Null,
        };
        let weight = weight_of(&kind);
        self.put(Node { span, kind }, weight, Written::Here);
        Ok(())
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
            weight: Weight {
                nodes: 1,
                bytes: 0,
                levels: 1,
            },
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
            Shape::Map(MapFrame { entries, .. }) => {
                let last = entries
                    .last()
                    .map(|entry| entry.value.span.end.max(entry.key_span.end));
                (Kind::Map(Arc::new(Map::new(entries))), last)
            }
        };
        // A block has no closing bracket: it ends where its last value does.
        let written = if end.end > end.start {
            end.end
        } else {
            last.unwrap_or(span.end)
        };
        span.end = span
            .end
            .max(written)
            .min(u32::try_from(self.source.text.len()).unwrap_or(u32::MAX));
        let node = Node { span, kind };
        if anchor != 0 {
            let node = node.clone();
            self.anchors.insert(
                anchor,
                Anchored {
                    node,
                    weight,
                    key: None,
                },
            );
        }
        self.put(node, weight, Written::Here);
    }

    pub(super) fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Stop> {
        let Some(Anchored { node, weight, key }) = self.anchors.get(&anchor) else {
            self.problem(
                Code::BadAlias,
                span,
                "this alias stands for the value that contains it",
            );
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
        if let Some(Frame {
            shape: Shape::Map(map),
            ..
        }) = self.frames.last_mut()
        {
            map.key = state;
        }
    }

    /// Puts a finished value where it belongs.
    fn put(&mut self, node: Node, weight: Weight, written: Written) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.weight.nodes = frame.weight.nodes.saturating_add(weight.nodes);
        frame.weight.bytes = frame.weight.bytes.saturating_add(weight.bytes);
        frame.weight.levels = frame.weight.levels.max(weight.levels + 1);
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
        self.problem(
            Code::BadKey,
            node.span,
            format!("{} cannot be a key", node.describe()),
        );
        self.set_key(KeyState::Broken);
    }

    fn own(&mut self, entry: Entry) {
        let Some(Frame {
            shape: Shape::Map(map),
            ..
        }) = self.frames.last_mut()
        else {
            return;
        };
        match map.find(&entry.key) {
            None => map.push(entry, false),
            Some(at) if map.merged[at] => map.replace(at, entry, false),
            Some(at) => {
                let first = map.entries[at].key_span;
                let (key, second) = (shown(&entry.key), entry.key_span);
                map.replace(at, entry, false);
                let message = format!(
                    "the key `{key}` is used twice, on lines {} and {}",
                    first.line, second.line
                );
                self.problem_with(Code::DuplicateKey, second, message, |problem| {
                    problem
                        .label("again here")
                        .related(first, "first here")
                        .hint("remove one of the two")
                });
            }
        }
    }

    fn merge(&mut self, node: &Node, at: Span, written: Written) {
        let sources: Vec<&Node> = match &node.kind {
            Kind::Map(_) => vec![node],
            // The first of the list wins, so it is merged last.
            Kind::List(items) if written == Written::Here => items.iter().rev().collect(),
            _ => Vec::new(),
        };
        if sources.is_empty()
            && node
                .as_list()
                .is_none_or(|items| !items.is_empty() || written == Written::ByAlias)
            || sources.iter().any(|source| source.as_map().is_none())
        {
            self.problem_with(
                Code::BadMerge,
                at,
                format!("`<<` merges maps, and this is {}", node.describe()),
                |problem| {
                    problem
                        .allowed("a map, or a list of maps")
                        .hint("quote a key that is really called `<<`")
                },
            );
            return;
        }
        let entries: Vec<Entry> = sources
            .iter()
            .filter_map(|source| source.as_map())
            .flat_map(Map::entries)
            .cloned()
            .collect();
        for entry in entries {
            self.merge_entry(entry, at);
        }
    }

    fn merge_entry(&mut self, entry: Entry, at: Span) {
        let Some(Frame {
            shape: Shape::Map(map),
            ..
        }) = self.frames.last_mut()
        else {
            return;
        };
        let Some(place) = map.find(&entry.key) else {
            map.push(entry, true);
            return;
        };
        let changed = !map.merged[place] && map.entries[place].value.kind != entry.value.kind;
        let own = map.entries[place].key_span;
        let key = Arc::clone(&entry.key);
        map.replace(place, entry, true);
        if changed {
            let message = format!(
                "the merged value of `{}` replaces the one written before it",
                shown(&key)
            );
            self.problem_with(Code::MergedOverOwn, at, message, |problem| {
                problem
                    .related(own, "this value is lost")
                    .hint("put `<<` first in the map, so that its own keys win")
            });
        }
    }
}

fn weight_of(scalar: &Kind) -> Weight {
    let bytes = if let Kind::Text(text) = scalar {
        text.len()
    } else {
        0
    };
    Weight {
        nodes: 1,
        bytes,
        levels: 0,
    }
}

impl MapFrame {
    fn find(&mut self, key: &str) -> Option<usize> {
        if self.entries.len() < HASHED_FROM {
            return self.entries.iter().position(|entry| &*entry.key == key);
        }
        for (at, entry) in self.entries.iter().enumerate().skip(self.places.len()) {
            self.places.insert(Arc::clone(&entry.key), at);
        }
        self.places.get(key).copied()
    }

    fn push(&mut self, entry: Entry, merged: bool) {
        self.entries.push(entry);
        self.merged.push(merged);
    }

    fn replace(&mut self, at: usize, entry: Entry, merged: bool) {
        self.entries[at] = entry;
        self.merged[at] = merged;
    }
}
