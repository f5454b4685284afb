//! Lines between roles that communicate in TensorFlow.

use trainyard_core::RoleKind;

use super::card::Card;
use super::{MARGIN, WIDTH};
use crate::svg::palette::{self, NOTE};
use crate::svg::{Anchor, Heads, Paint, Rect, Svg};

/// Distance of a loop from its card.
const BYPASS: i32 = 22;

/// Draws the lines. `left` is the x at which lines can pass all cards.
pub fn draw(svg: &mut Svg, cards: &[Card<'_>], left: i32) {
    let with = |kinds: &[RoleKind]| {
        cards
            .iter()
            .find(|card| kinds.contains(&card.role.spec.kind) && card.role.spec.replicas > 0)
    };
    let leader = with(&[RoleKind::Chief, RoleKind::Master]);
    let worker = with(&[RoleKind::Worker]);
    let servers = with(&[RoleKind::Ps]);
    let evaluator = with(&[RoleKind::Evaluator]);
    if let Some(servers) = servers {
        if let Some(worker) = worker {
            down(svg, worker.rect, servers.rect, "variables");
        }
        match (leader, worker) {
            (Some(leader), Some(worker)) => {
                down(svg, leader.rect, worker.rect, "steps");
                around(svg, leader.rect, servers.rect, left, "variables");
            }
            (Some(leader), None) => down(svg, leader.rect, servers.rect, "variables"),
            (None, _) => {}
        }
    } else {
        if let (Some(leader), Some(worker)) = (leader, worker) {
            down(svg, leader.rect, worker.rect, "gradients");
        }
        if let Some(worker) = worker.filter(|card| card.role.spec.replicas > 1) {
            among(svg, worker.rect, "gradients");
        }
    }
    if let (Some(evaluator), Some(source)) = (evaluator, leader.or(worker)) {
        checkpoints(svg, evaluator.rect, source.rect);
    }
}

fn line() -> Paint {
    Paint::outlined(palette::LINE).wide(2).round(10)
}

/// A vertical line from one card to the one below it.
fn down(svg: &mut Svg, from: Rect, to: Rect, words: &str) {
    let left = from.x.max(to.x);
    let right = from.right().min(to.right());
    let x = i32::midpoint(left, right.max(left));
    svg.route(&[(x, from.bottom() + 2), (x, to.y - 2)], line(), Heads::Both);
    let middle = i32::midpoint(from.bottom(), to.y);
    svg.text(x + 10, middle + 4, NOTE, words);
}

/// A line to a card behind others: out to the left, down, and in again.
fn around(svg: &mut Svg, from: Rect, to: Rect, x: i32, words: &str) {
    let points = [
        (from.x - 2, from.middle_y()),
        (x, from.middle_y()),
        (x, to.middle_y()),
        (to.x - 2, to.middle_y()),
    ];
    svg.route(&points, line(), Heads::Both);
    let beside = from.x - x;
    if beside > NOTE.width(words) + 20 {
        svg.text(x + 14, from.middle_y() - 8, NOTE, words);
    } else if to.x - x > NOTE.width(words) + 20 {
        svg.text(x + 14, to.middle_y() - 8, NOTE, words);
    }
}

/// A loop at the right side: the tasks of one card communicate.
fn among(svg: &mut Svg, card: Rect, words: &str) {
    let (x, middle) = (card.right(), card.middle_y());
    let reach = (card.height / 2 - 14).clamp(14, 60);
    let points = [
        (x + 2, middle - reach),
        (x + BYPASS, middle - reach),
        (x + BYPASS, middle + reach),
        (x + 2, middle + reach),
    ];
    svg.route(&points, line(), Heads::Both);
    if card.right() + BYPASS + 8 + NOTE.width(words) < WIDTH - MARGIN {
        svg.text(x + BYPASS + 8, middle + 4, NOTE, words);
    } else {
        let font = NOTE.anchored(Anchor::Middle).upwards();
        svg.text(x + BYPASS + 14, middle, font, words);
    }
}

/// The evaluator only reads checkpoints.
fn checkpoints(svg: &mut Svg, evaluator: Rect, source: Rect) {
    let paint = line().dashed();
    if source.y < evaluator.bottom() {
        // Beside each other.
        let y = source.middle_y();
        let points = [(source.right() + 2, y), (evaluator.x - 2, y)];
        svg.route(&points, paint, Heads::End);
        let x = i32::midpoint(source.right(), evaluator.x);
        if evaluator.x - source.right() > NOTE.width("checkpoints") {
            svg.text(x, y - 8, NOTE.anchored(Anchor::Middle), "checkpoints");
        }
        return;
    }
    let x = evaluator.middle_x().clamp(source.x + 20, source.right() - 20);
    svg.route(
        &[(x, source.y - 2), (x, evaluator.bottom() + 2)],
        paint,
        Heads::End,
    );
    let middle = i32::midpoint(evaluator.bottom(), source.y);
    svg.text(x + 10, middle + 4, NOTE, "checkpoints");
}
