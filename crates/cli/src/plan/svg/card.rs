//! The card of one role: its name, requests, and tasks, which are smaller the more there are.

use trainyard_core::{RoleKind, explain};

use crate::plan::{RolePlan, TaskPlan};
use crate::svg::palette::{AMBER, BLUE, GRAY, NOTE, Shades, TEAL, VIOLET};
use crate::svg::{Anchor, Font, Paint, Rect, Svg, palette};

/// Padding inside a card.
const PADDING: i32 = 16;
/// Height above the tasks: the role's name and requests.
const HEAD: i32 = 58;
/// Minimal width of a card.
const NARROWEST: i32 = 250;
/// Up to this many tasks are labelled with their names.
const NAMED: usize = 16;
/// Up to this many are labelled with their indexes.
const NUMBERED: usize = 80;
/// Tasks beyond this are not drawn, only counted.
const DRAWN: usize = 5000;

/// How the tasks are drawn.
#[derive(Clone, Copy, Debug)]
struct Grid {
    style: Style,
    columns: usize,
    /// Distance from one task to the next.
    pitch: (i32, i32),
    /// Size of a task.
    size: (i32, i32),
    /// Width of the numbers at the start of rows.
    margin: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Named,
    Numbered,
    Matrix,
}

/// A role and its position.
pub struct Card<'a> {
    pub role: &'a RolePlan<'a>,
    pub rect: Rect,
    grid: Grid,
}

impl<'a> Card<'a> {
    /// A card of at most this width, not yet positioned.
    pub fn new(role: &'a RolePlan<'a>, room: i32) -> Self {
        let grid = Grid::fitting(role, room - 2 * PADDING);
        let drawn = role.tasks.len().min(DRAWN);
        let (inside, rows) = grid.extent(drawn);
        let bold = Font::new(15, palette::INK).bold();
        let heading = [title(role), asks(role)].map(|text| bold.width(&text) + 70);
        let starts = starts(role).map_or(0, |text| NOTE.width(&text));
        let wanted = heading.into_iter().fold(inside.max(starts), i32::max);
        let width = (wanted + 2 * PADDING).clamp(NARROWEST.min(room), room);
        let foot = if drawn < role.tasks.len() { 20 } else { 0 };
        let extra = if role.after.is_some() { 18 } else { 0 };
        let height = HEAD + extra + rows * grid.pitch.1 - (grid.pitch.1 - grid.size.1) + foot + PADDING;
        Self {
            role,
            rect: Rect::new(0, 0, width, height.max(HEAD + PADDING)),
            grid,
        }
    }

    /// Draws the card and its tasks.
    pub fn draw(&self, svg: &mut Svg) {
        let shades = shades(self.role.spec.kind);
        let inside = self.rect.width - 2 * PADDING;
        svg.rect(
            self.rect,
            Paint::outlined(shades.edge).on(shades.ground).round(10),
        );
        let (x, y) = (self.rect.x + PADDING, self.rect.y);
        let port = format!("port {}", self.role.spec.port);
        let bold = Font::new(15, shades.edge).bold();
        let beside = inside - NOTE.width(&port) - 8;
        svg.text_within(x, y + 26, bold, &title(self.role), beside);
        let right = self.rect.right() - PADDING;
        svg.text(right, y + 26, NOTE.anchored(Anchor::End), &port);
        svg.text_within(x, y + 45, NOTE, &asks(self.role), inside);
        let mut top = y + HEAD;
        if let Some(starts) = starts(self.role) {
            svg.text_within(x, y + 63, NOTE, &starts, inside);
            top += 18;
        }
        self.tasks(svg, top, shades);
    }

    fn tasks(&self, svg: &mut Svg, top: i32, shades: Shades) {
        let drawn = self.role.tasks.len().min(DRAWN);
        let (used, rows) = self.grid.extent(drawn);
        let left = self.rect.x + (self.rect.width - used) / 2;
        for (position, task) in self.role.tasks.iter().take(DRAWN).enumerate() {
            let (row, column) = (position / self.grid.columns, position % self.grid.columns);
            let node = Rect::new(
                left + self.grid.margin + pixels(column) * self.grid.pitch.0,
                top + pixels(row) * self.grid.pitch.1,
                self.grid.size.0,
                self.grid.size.1,
            );
            let numbered_row = row.is_multiple_of(if self.grid.pitch.1 < 12 { 2 } else { 1 });
            if column == 0 && numbered_row && self.grid.style == Style::Matrix {
                let font = Font::new(9, palette::SOFT_INK).anchored(Anchor::End);
                let baseline = node.bottom() - (node.height - 7) / 2;
                svg.text(node.x - 6, baseline, font, &task.id.index.to_string());
            }
            self.task(svg, node, task, shades);
        }
        if drawn < self.role.tasks.len() {
            let more = format!("… and {} more", self.role.tasks.len() - drawn);
            svg.text(left, top + rows * self.grid.pitch.1 + 10, NOTE, &more);
        }
    }

    fn task(&self, svg: &mut Svg, node: Rect, task: &TaskPlan, shades: Shades) {
        let matrix = self.grid.style == Style::Matrix;
        let round = if matrix { node.width / 6 } else { 6 };
        let paint = match (task.decides, matrix) {
            (true, true) => Paint::filled(palette::GOOD),
            (true, false) => palette::DECIDES,
            (false, true) => Paint::filled(shades.edge),
            (false, false) => Paint::outlined(shades.edge).on(shades.node),
        };
        let title = match &task.address {
            Some(address) => format!("{} {address}", task.id),
            None => task.id.to_string(),
        };
        svg.titled_rect(node, paint.round(round), &title);
        let label = match self.grid.style {
            Style::Matrix => return,
            Style::Named => task.id.to_string(),
            Style::Numbered => task.id.index.to_string(),
        };
        let color = if task.decides { palette::GOOD } else { palette::INK };
        let font = Font::new(12, color).anchored(Anchor::Middle);
        let font = if task.decides { font.bold() } else { font };
        svg.text_within(node.middle_x(), node.middle_y() + 4, font, &label, node.width - 6);
    }
}

impl Grid {
    /// The width in pixels, and the number of rows, of this many tasks.
    fn extent(&self, tasks: usize) -> (i32, i32) {
        let columns = pixels(self.columns.min(tasks.max(1)));
        let gap = self.pitch.0 - self.size.0;
        let rows = pixels(tasks.div_ceil(self.columns.max(1)));
        (self.margin + columns * self.pitch.0 - gap, rows)
    }

    /// The largest style that fits this number of tasks into the width.
    fn fitting(role: &RolePlan<'_>, room: i32) -> Self {
        let count = role.tasks.len().max(1);
        let style = match count {
            _ if count <= NAMED => Style::Named,
            _ if count <= NUMBERED => Style::Numbered,
            _ => Style::Matrix,
        };
        let (pitch, size) = match style {
            Style::Named => {
                let names = role.tasks.iter().map(|task| task.id.to_string());
                let widest = names.map(|name| NOTE.bold().width(&name));
                let width = (widest.max().unwrap_or(0) + 24).clamp(72, 220.min(room));
                ((width + 10, 42), (width, 32))
            }
            Style::Numbered => ((44, 32), (38, 26)),
            Style::Matrix => {
                let side = match count {
                    _ if count <= 400 => 14,
                    _ if count <= 1500 => 9,
                    _ => 6,
                };
                let gap = if side > 9 { 4 } else { 2 };
                ((side + gap, side + gap), (side, side))
            }
        };
        let margin = if style == Style::Matrix { 34 } else { 0 };
        let fits = usize::try_from((room - margin + pitch.0 - size.0) / pitch.0).unwrap_or(1);
        let columns = match style {
            Style::Named => even(count, fits.max(1)),
            Style::Numbered => round_down(fits.max(1), 5),
            Style::Matrix => round_down(fits.max(1), 10),
        };
        Self {
            style,
            columns,
            pitch,
            size,
            margin,
        }
    }
}

/// The number of columns for rows of about equal length.
fn even(count: usize, fits: usize) -> usize {
    let rows = count.div_ceil(fits);
    count.div_ceil(rows.max(1)).max(1)
}

/// A round number of columns is easier to count.
fn round_down(number: usize, to: usize) -> usize {
    if number > to { number - number % to } else { number }
}

fn pixels(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX / 1000)
}

fn title(role: &RolePlan<'_>) -> String {
    match role.spec.replicas {
        1 => role.spec.name.to_string(),
        replicas => format!("{} × {replicas}", role.spec.name),
    }
}

/// The roles that its tasks wait for.
fn starts(role: &RolePlan<'_>) -> Option<String> {
    role.after.as_ref().map(|after| format!("starts {after}"))
}

fn asks(role: &RolePlan<'_>) -> String {
    let each = explain::ask(&role.spec.ask);
    match (role.spec.ask.is_empty(), role.spec.replicas) {
        (true, _) => "no requests".into(),
        (false, 1) => each,
        (false, _) => format!("each {each}"),
    }
}

fn shades(kind: RoleKind) -> Shades {
    match kind {
        RoleKind::Chief | RoleKind::Master => AMBER,
        RoleKind::Worker => BLUE,
        RoleKind::Ps => VIOLET,
        RoleKind::Evaluator => TEAL,
        RoleKind::Other => GRAY,
    }
}
