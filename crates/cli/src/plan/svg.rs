//! A plan as a picture: one card per role with its tasks, and lines between roles that communicate.
//!
//! Cards are in tiers, from the coordinator down to the parameter servers.

mod card;
mod lines;

use std::fmt::Write as _;

use trainyard_core::{ClusterForm, GangScheduler, RoleKind, explain};

use self::card::Card;
use super::{JobPlan, RolePlan};
use crate::report::count;
use crate::svg::{Anchor, Font, Heads, Paint, Rect, Svg, palette};

/// Width of the picture; its height varies.
const WIDTH: i32 = 960;
/// Margin of the picture.
const MARGIN: i32 = 32;
/// Margin of cards, with space for lines that pass them.
const INSET: i32 = 64;
/// Between cards of a row.
const GAP: i32 = 28;
/// The same with a labelled line between them.
const LINE_GAP: i32 = 104;
/// Between tiers, with space for a labelled line.
const TIER_GAP: i32 = 64;
/// Cards in one row, at most.
const ROW: usize = 3;
/// Between two jobs in one picture.
const JOB_GAP: i32 = 24;

/// All jobs of a file in one picture, one below the other.
pub fn render(plans: &[JobPlan<'_>]) -> String {
    let mut svg = Svg::new();
    let mut y = MARGIN;
    for (position, plan) in plans.iter().enumerate() {
        if position > 0 {
            let line = Paint::outlined(palette::GRAY.node);
            svg.route(&[(MARGIN, y), (WIDTH - MARGIN, y)], line, Heads::None);
            y += JOB_GAP;
        }
        y = job(&mut svg, plan, y) + JOB_GAP;
    }
    let names: Vec<&str> = plans.iter().map(|plan| &*plan.job().name).collect();
    svg.finish(WIDTH, y - JOB_GAP + MARGIN / 2, &names.join(", "))
}

/// Draws one job from `top` down; returns its bottom.
fn job(svg: &mut Svg, plan: &JobPlan<'_>, top: i32) -> i32 {
    let y = head(svg, plan, top);
    let has_gang = plan.job().gang.is_some();
    let first = y + if has_gang { 40 } else { 16 };
    let cards = place(plan, first);
    let all = cards
        .iter()
        .map(|card| card.rect)
        .reduce(Rect::around)
        .unwrap_or_else(|| Rect::new(INSET, first, 0, 0));
    if has_gang {
        gang(svg, plan, all);
    }
    if plan.job().cluster != ClusterForm::None {
        lines::draw(svg, &cards, INSET - 22);
    }
    for card in &cards {
        card.draw(svg);
    }
    legend(svg, plan, all.bottom() + if has_gang { 52 } else { 36 })
}

/// Name, kind, totals, and the success policy.
fn head(svg: &mut Svg, plan: &JobPlan<'_>, top: i32) -> i32 {
    let (job, read) = (plan.job(), plan.read);
    let room = WIDTH - 2 * MARGIN;
    let tasks = count(job.size(), "task");
    let total = if plan.total.is_empty() {
        tasks
    } else {
        format!("{tasks} · {}", explain::ask(&plan.total).replace(", ", " · "))
    };
    let right = Font::new(14, palette::INK).bold().anchored(Anchor::End);
    let total = right.shorten(&total, room / 2);
    let beside = room - right.width(&total) - GAP;
    let title = Font::new(24, palette::INK).bold();
    svg.text_within(MARGIN, top + 22, title, &job.name, beside);
    svg.text(WIDTH - MARGIN, top + 22, right, &total);
    let facts = format!(
        "{} {} · namespace {}",
        plan.kind(),
        read.api_version,
        job.namespace
    );
    svg.text_within(MARGIN, top + 44, Font::new(13, palette::SOFT_INK), &facts, room);
    let success = Font::new(14, palette::GOOD).bold();
    svg.text_within(MARGIN, top + 68, success, &plan.success, room);
    top + 76
}

/// Positions the cards: tier by tier, each row centred.
fn place<'a>(plan: &'a JobPlan<'a>, top: i32) -> Vec<Card<'a>> {
    let mut cards = Vec::new();
    let mut y = top;
    for tier in TIERS {
        let mut roles = Vec::new();
        for kind in tier {
            roles.extend(plan.roles.iter().filter(|role| role.spec.kind == *kind));
        }
        for row in roles.chunks(ROW) {
            let labelled = tier.contains(&RoleKind::Evaluator);
            let gap = if labelled { LINE_GAP } else { GAP };
            let count = i32::try_from(row.len()).unwrap_or(1);
            let room = (WIDTH - 2 * INSET - (count - 1) * gap) / count;
            let mut placed: Vec<Card<'a>> = row.iter().map(|role| Card::new(role, room)).collect();
            let width: i32 = placed.iter().map(|card| card.rect.width).sum::<i32>() + (count - 1) * gap;
            let height = placed.iter().map(|card| card.rect.height).max().unwrap_or(0);
            let mut x = (WIDTH - width) / 2;
            for card in &mut placed {
                card.rect.x = x;
                card.rect.y = y;
                x += card.rect.width + gap;
            }
            y += height + TIER_GAP;
            cards.append(&mut placed);
        }
    }
    cards
}

/// From the coordinator down to the parameter servers; roles unknown to TensorFlow come last.
const TIERS: [&[RoleKind]; 4] = [
    &[RoleKind::Chief, RoleKind::Master, RoleKind::Evaluator],
    &[RoleKind::Worker],
    &[RoleKind::Ps],
    &[RoleKind::Other],
];

/// A dashed line around the gang.
fn gang(svg: &mut Svg, plan: &JobPlan<'_>, all: Rect) {
    let Some(gang) = &plan.job().gang else { return };
    let outline = Rect {
        x: MARGIN,
        width: WIDTH - 2 * MARGIN,
        ..all.grown(24)
    };
    svg.rect(outline, Paint::outlined(palette::GANG).wide(2).dashed().round(16));
    let scheduler = match &gang.scheduler {
        GangScheduler::Default => "gang scheduler",
        GangScheduler::Volcano => "Volcano",
        GangScheduler::KubeBatch => "kube-batch",
        GangScheduler::SchedulerPlugins => "coscheduling",
        GangScheduler::T9k => "T9k scheduler",
        GangScheduler::Native => "the cluster's scheduler",
        GangScheduler::Gates => "scheduling gates",
        GangScheduler::Named(name) => name,
    };
    let members = match plan.job().size() {
        size if size == u64::from(gang.members) => format!("gang of {size}"),
        size => format!("gang: at least {} of {size}", gang.members),
    };
    let mut words = format!("{members} · {scheduler}");
    for (name, value) in [("queue", &gang.queue), ("priority", &gang.priority)] {
        // Writing to a String cannot fail.
        let _ = value
            .iter()
            .try_for_each(|value| write!(words, " · {name} {value}"));
    }
    let font = Font::new(12, palette::GANG).bold();
    let label = font.shorten(&words, outline.width - 48);
    // The label interrupts the line.
    let width = font.width(&label) + 16;
    let behind = Rect::new(outline.x + 20, outline.y - 8, width, 16);
    svg.rect(behind, Paint::filled(palette::GROUND));
    svg.text(behind.x + 6, outline.y + 4, font, &label);
}

/// The legend and the story; returns the bottom.
fn legend(svg: &mut Svg, plan: &JobPlan<'_>, top: i32) -> i32 {
    let mut y = top;
    let decides = |role: &RolePlan<'_>| role.tasks.iter().any(|task| task.decides);
    if plan.roles.iter().any(decides) {
        let mark = Rect::new(MARGIN, y - 10, 12, 12);
        svg.rect(mark, palette::DECIDES.round(3));
        svg.text(MARGIN + 20, y, palette::NOTE, "decides success");
        y += 20;
    }
    for sentence in plan.story.iter().skip(1) {
        for line in lines_of(sentence, 12, WIDTH - 2 * MARGIN) {
            svg.text(MARGIN, y, palette::NOTE, &line);
            y += 17;
        }
    }
    y
}

/// A sentence in lines of at most `width` pixels.
fn lines_of(sentence: &str, size: i32, width: i32) -> Vec<String> {
    let letters = width * 100 / (size * 56);
    crate::wrap::wrap(sentence, usize::try_from(letters).unwrap_or(80))
}
