//! Lines between roles that communicate in TensorFlow.

use trainyard_core::RoleKind;

use super::card::Card;
use super::{MARGIN, WIDTH};
use crate::svg::{Anchor, Font, Heads, Paint, Rect, Svg, palette, text_width};

/// Distance of a loop from its card.
const BYPASS: i32 = 22;

/// Draws the lines. `left` is the x at which lines can pass all cards.
pub fn draw(svg: &mut Svg, cards: &[Card<'_>], left: i32) {
    let with = |kinds: &[RoleKind]| {
        cards
            .iter()
            .find(|card| kinds.contains(&card.role.kind) && card.role.replicas > 0)
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
        if let Some(worker) = worker.filter(|card| card.role.replicas > 1) {
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
    label(svg, x + 10, middle + 4, words);
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
    if beside > text_width(words, 12, false) + 20 {
        label(svg, x + 14, from.middle_y() - 8, words);
    } else if to.x - x > text_width(words, 12, false) + 20 {
        label(svg, x + 14, to.middle_y() - 8, words);
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
    let font = Font::new(12, palette::SOFT_INK).anchored(Anchor::Middle);
    if card.right() + BYPASS + 8 + text_width(words, 12, false) < WIDTH - MARGIN {
        label(svg, x + BYPASS + 8, middle + 4, words);
    } else {
        svg.text(x + BYPASS + 14, middle, font.upwards(), words);
    }
}

/// The evaluator only reads checkpoints.
fn checkpoints(svg: &mut Svg, evaluator: Rect, source: Rect) {
    let paint = line().dashed();
    if source.y < evaluator.bottom() {
        // Beside each other.
        let y = source.middle_y();
        svg.route(
            &[(source.right() + 2, y), (evaluator.x - 2, y)],
            paint,
            Heads::End,
        );
        let x = i32::midpoint(source.right(), evaluator.x);
        let font = Font::new(12, palette::SOFT_INK).anchored(Anchor::Middle);
        if evaluator.x - source.right() > text_width("checkpoints", 12, false) {
            svg.text(x, y - 8, font, "checkpoints");
        }
        return;
    }
    let x = evaluator.middle_x().clamp(source.x + 20, source.right() - 20);
    svg.route(
        &[(x, source.y - 2), (x, evaluator.bottom() + 2)],
        paint,
        Heads::End,
    );
    label(
        svg,
        x + 10,
        i32::midpoint(evaluator.bottom(), source.y) + 4,
        "checkpoints",
    );
}

fn label(svg: &mut Svg, x: i32, y: i32, words: &str) {
    svg.text(x, y, Font::new(12, palette::SOFT_INK), words);
}
