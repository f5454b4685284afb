//! Drawing: shapes and text as SVG, with nothing from outside the file.
//!
//! Knows nothing of jobs. Coordinates are whole pixels, so the same picture is the same bytes everywhere. Whatever text
//! is handed in becomes valid XML.

mod escape;
mod measure;
pub mod palette;

use std::fmt::{Display, Write as _};

use self::escape::escape;

/// Fonts that are there already, on every system.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

impl Rect {
    pub const fn new(x: i32, y: i32, width: i32, height: i32) -> Self {
        Self { x, y, width, height }
    }

    /// The x of its right edge.
    pub fn right(self) -> i32 {
        self.x + self.width
    }

    /// The y of its lower edge.
    pub fn bottom(self) -> i32 {
        self.y + self.height
    }

    /// The middle between left and right.
    pub fn middle_x(self) -> i32 {
        self.x + self.width / 2
    }

    /// The middle between top and bottom.
    pub fn middle_y(self) -> i32 {
        self.y + self.height / 2
    }

    /// The smallest that holds both.
    pub fn around(self, other: Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let (right, bottom) = (self.right().max(other.right()), self.bottom().max(other.bottom()));
        Self::new(x, y, right - x, bottom - y)
    }

    /// Larger on every side.
    pub fn grown(self, by: i32) -> Self {
        Self::new(
            self.x - by,
            self.y - by,
            self.width + 2 * by,
            self.height + 2 * by,
        )
    }
}

/// How a shape looks.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    pub fill: &'static str,
    pub stroke: &'static str,
    pub stroke_width: i32,
    pub dashed: bool,
    /// Radius of the corners.
    pub round: i32,
}

impl Paint {
    /// A filled shape without an outline.
    pub const fn filled(fill: &'static str) -> Self {
        Self {
            fill,
            stroke: "none",
            stroke_width: 0,
            dashed: false,
            round: 0,
        }
    }

    /// An outline.
    pub const fn outlined(stroke: &'static str) -> Self {
        Self {
            stroke,
            stroke_width: 1,
            ..Self::filled("none")
        }
    }

    /// With this fill.
    pub const fn on(mut self, fill: &'static str) -> Self {
        self.fill = fill;
        self
    }

    /// With an outline of this width.
    pub const fn wide(mut self, width: i32) -> Self {
        self.stroke_width = width;
        self
    }

    /// With a dashed outline.
    pub const fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// With round corners.
    pub const fn round(mut self, radius: i32) -> Self {
        self.round = radius;
        self
    }
}

/// Which point of a text its position is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub struct Font {
    pub size: i32,
    pub bold: bool,
    pub color: &'static str,
    pub anchor: Anchor,
    /// Read from bottom to top.
    pub upwards: bool,
}

impl Font {
    /// Plain text of this size.
    pub const fn new(size: i32, color: &'static str) -> Self {
        Self {
            size,
            bold: false,
            color,
            anchor: Anchor::Start,
            upwards: false,
        }
    }

    /// The same, bold.
    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    /// The same, placed by another point.
    pub const fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    /// The same, read from bottom to top.
    pub const fn upwards(mut self) -> Self {
        self.upwards = true;
        self
    }
}

/// Which ends of a line have an arrow head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heads {
    None,
    End,
    Both,
}

/// A picture in the making.
#[derive(Debug, Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// An empty picture.
    pub fn new() -> Self {
        Self::default()
    }

    fn put(&mut self, part: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.body, "{part}");
    }

    /// A rectangle.
    pub fn rect(&mut self, rect: Rect, paint: Paint) {
        let Rect { x, y, width, height } = rect;
        let corners = match paint.round {
            0 => String::new(),
            round => format!(" rx=\"{round}\""),
        };
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{corners}{}/>",
            painted(&paint)
        ));
    }

    /// A rectangle that says something when it is pointed at.
    pub fn titled_rect(&mut self, rect: Rect, paint: Paint, title: &str) {
        self.put(format_args!("<g><title>{}</title>", escape(title)));
        self.rect(rect, paint);
        self.put("</g>");
    }

    /// Text whose baseline is at `y`.
    pub fn text(&mut self, x: i32, y: i32, font: Font, text: &str) {
        let anchor = match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let turned = if font.upwards {
            format!(" transform=\"rotate(-90 {x} {y})\"")
        } else {
            String::new()
        };
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{weight}{anchor}{turned}>{}</text>",
            font.size,
            font.color,
            escape(text)
        ));
    }

    /// The same, cut with an ellipsis if it is wider than this.
    pub fn text_within(&mut self, x: i32, y: i32, font: Font, text: &str, width: i32) {
        self.text(x, y, font, &font.shorten(text, width));
    }

    /// A line through these points with rounded corners, and heads where asked.
    pub fn route(&mut self, points: &[(i32, i32)], paint: Paint, heads: Heads) {
        let heads = match heads {
            Heads::None => "",
            Heads::End => " marker-end=\"url(#head)\"",
            Heads::Both => " marker-start=\"url(#head)\" marker-end=\"url(#head)\"",
        };
        self.put(format_args!(
            "<path d=\"{}\"{}{heads}/>",
            rounded(points, paint.round),
            painted(&paint)
        ));
    }

    /// The finished picture on a white ground.
    pub fn finish(self, width: i32, height: i32, title: &str) -> String {
        let title = escape(title);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n\
             <title>{title}</title>\n\
             <defs><marker id=\"head\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 1L9 5L0 9z\" fill=\"{}\"/></marker></defs>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n{}</svg>\n",
            palette::LINE,
            palette::GROUND,
            self.body
        )
    }
}

fn painted(paint: &Paint) -> String {
    let mut text = format!(" fill=\"{}\"", paint.fill);
    if paint.stroke != "none" {
        let _ = write!(
            text,
            " stroke=\"{}\" stroke-width=\"{}\"",
            paint.stroke, paint.stroke_width
        );
    }
    if paint.dashed {
        text.push_str(" stroke-dasharray=\"6 4\"");
    }
    text
}

/// A path through points, each corner cut by `radius` and bent.
fn rounded(points: &[(i32, i32)], radius: i32) -> String {
    let mut path = String::new();
    for (position, &(x, y)) in points.iter().enumerate() {
        let corner = position
            .checked_sub(1)
            .and_then(|before| points.get(before))
            .zip(points.get(position + 1));
        match corner {
            Some((&before, &after)) if radius > 0 => {
                let (from, to) = (towards((x, y), before, radius), towards((x, y), after, radius));
                let _ = write!(path, "L{} {}Q{x} {y} {} {}", from.0, from.1, to.0, to.1);
            }
            _ if position == 0 => {
                let _ = write!(path, "M{x} {y}");
            }
            _ => {
                let _ = write!(path, "L{x} {y}");
            }
        }
    }
    path
}

/// The point at most `distance` away from `from` in the direction of `to`, along the axes.
fn towards(from: (i32, i32), to: (i32, i32), distance: i32) -> (i32, i32) {
    let step = |from: i32, to: i32| from + (to - from).clamp(-distance, distance);
    (step(from.0, to.0), step(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_bent_and_ends_are_not() {
        assert_eq!(
            rounded(&[(0, 0), (0, 20), (30, 20)], 5),
            "M0 0L0 15Q0 20 5 20L30 20"
        );
        assert_eq!(rounded(&[(0, 0), (9, 9)], 5), "M0 0L9 9");
    }

    #[test]
    fn text_of_any_kind_stays_text() {
        let mut svg = Svg::new();
        svg.text(
            1,
            2,
            Font::new(12, "#000"),
            "</text><script>&\"\u{1b}\u{0}\u{ffff}",
        );
        let whole = svg.finish(10, 10, "<&>");
        assert!(
            whole.contains("&lt;/text&gt;&lt;script&gt;&amp;&quot;\u{fffd}\u{fffd}\u{fffd}</text>"),
            "{whole}"
        );
        assert!(whole.contains("<title>&lt;&amp;&gt;</title>"));
    }
}
