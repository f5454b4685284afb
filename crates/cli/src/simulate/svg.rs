//! A simulated run as a picture: one lane per task over a time axis, and the story below.

use trainyard_core::Outcome;

use super::Run;
use super::story::{Line, Tone};
use super::text::{alike, names, seconds};
use super::timeline::{AttemptEnd, Lane, LaneState};
use crate::svg::{Anchor, Font, Heads, Paint, Rect, Svg, palette};
use crate::wrap::wrap;

/// Width of the picture; its height varies.
const WIDTH: i32 = 1080;
const MARGIN: i32 = 32;
/// Width of the names of tasks.
const NAMES: i32 = 190;
/// The height of one lane, and of the bar in it.
const LANE: i32 = 26;
const BAR: i32 = 14;
/// The height of one line of the story.
const LINE: i32 = 18;
/// Longer stories are cut; the text output has all of it.
const MOST_LINES: usize = 60;
/// Between two jobs in one picture.
const JOB_GAP: i32 = 40;
/// The line of a task that is down until its next attempt.
const DOWN: Paint = Paint::outlined(palette::STOPPING).dashed();

/// All runs in one picture, one below the other.
pub fn render(runs: &[Run<'_>]) -> String {
    let mut svg = Svg::new();
    let mut y = MARGIN;
    for run in runs {
        y = draw(&mut svg, run, y) + JOB_GAP;
    }
    let names: Vec<&str> = runs.iter().map(|run| &*run.job.name).collect();
    svg.finish(
        WIDTH,
        y - JOB_GAP + MARGIN,
        &format!("{}, simulated", names.join(", ")),
    )
}

fn draw(svg: &mut Svg, run: &Run<'_>, top: i32) -> i32 {
    let room = WIDTH - 2 * MARGIN;
    let title = Font::new(24, palette::INK).bold();
    svg.text_within(MARGIN, top + 22, title, &run.job.name, room * 2 / 3);
    let (word, color) = match run.outcome() {
        Some(Outcome::Succeeded) => ("succeeds", palette::GOOD),
        Some(Outcome::Failed) => ("fails", palette::BAD),
        Some(Outcome::Terminated) => ("is terminated", palette::CAREFUL),
        None => ("does not end", palette::CAREFUL),
    };
    let after = run.outcome().map_or(run.length, |_| run.after());
    let verdict = format!("{word} after {}", seconds(u64::from(after)));
    let right = Font::new(16, color).bold().anchored(Anchor::End);
    svg.text(WIDTH - MARGIN, top + 22, right, &verdict);
    let groups = alike(&run.lanes);
    let height = i32::try_from(groups.len()).unwrap_or(i32::MAX / LANE - 1) * LANE;
    let first = top + 64;
    grid(svg, run.length, first, height);
    for (position, (tasks, lane)) in groups.iter().enumerate() {
        let y = first + i32::try_from(position).unwrap_or(0) * LANE;
        let font = Font::new(13, palette::INK);
        svg.text_within(MARGIN, y + LANE / 2 + 4, font, &names(tasks), NAMES - 12);
        bars(svg, lane, run.length, y + (LANE - BAR) / 2);
    }
    let below = legend(svg, first + height + 24);
    story(svg, &run.story, below + 12)
}

/// The x of a moment.
fn x_of(at: u32, length: u32) -> i32 {
    let room = i64::from(WIDTH - 2 * MARGIN - NAMES - 8);
    let x = room * i64::from(at) / i64::from(length.max(1));
    MARGIN + NAMES + i32::try_from(x).unwrap_or(0)
}

/// About eight round times, each with a thin line.
fn grid(svg: &mut Svg, length: u32, top: i32, height: i32) {
    const STEPS: [u32; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600];
    let step = STEPS
        .into_iter()
        .find(|step| length / step <= 10)
        .unwrap_or_else(|| (length / 8).max(1));
    let mut at = 0;
    while at <= length {
        let x = x_of(at, length);
        let line = Paint::outlined(palette::FAINT);
        svg.route(&[(x, top - 6), (x, top + height)], line, Heads::None);
        let font = Font::new(11, palette::SOFT_INK).anchored(Anchor::Middle);
        svg.text(x, top - 12, font, &seconds(u64::from(at)));
        at = at.saturating_add(step);
    }
}

fn bars(svg: &mut Svg, lane: &Lane, length: u32, y: i32) {
    for span in &lane.spans {
        let (from, to) = (x_of(span.from, length), x_of(span.to, length));
        let rect = Rect::new(from, y, (to - from).max(1), BAR);
        match span.what {
            LaneState::Down => {
                let middle = y + BAR / 2;
                svg.route(&[(from, middle), (to, middle)], DOWN, Heads::None);
            }
            LaneState::Waiting => svg.rect(rect, Paint::filled(palette::WAITING)),
            LaneState::Running => svg.rect(rect, Paint::filled(palette::RUNNING)),
            LaneState::Stopping => svg.rect(rect, Paint::filled(palette::STOPPING)),
        }
    }
    for mark in &lane.marks {
        let (sign, ink, ground) = sign(mark.what);
        let x = x_of(mark.at, length);
        let size = BAR + 4;
        let rect = Rect::new(x - size / 2, y - 2, size, size);
        let title = format!("{} at {}", words(mark.what), seconds(u64::from(mark.at)));
        svg.titled_rect(rect, Paint::outlined(ink).on(ground).round(size / 2), &title);
        let font = Font::new(11, ink).bold();
        svg.text(x, y + BAR - 3, font.anchored(Anchor::Middle), sign);
        if let AttemptEnd::Failed(Some(code)) = mark.what {
            svg.text(x + size / 2 + 3, y + BAR - 3, font, &code.to_string());
        }
    }
}

fn sign(end: AttemptEnd) -> (&'static str, &'static str, &'static str) {
    match end {
        AttemptEnd::Succeeded => ("✓", palette::GOOD, palette::GOOD_GROUND),
        AttemptEnd::Stopped => ("■", palette::SOFT_INK, palette::FAINT),
        AttemptEnd::Disrupted => ("!", palette::CAREFUL, palette::CAREFUL_GROUND),
        AttemptEnd::Failed(_) => ("×", palette::BAD, palette::BAD_GROUND),
    }
}

fn words(end: AttemptEnd) -> &'static str {
    match end {
        AttemptEnd::Succeeded => "done",
        AttemptEnd::Stopped => "stopped",
        AttemptEnd::Disrupted => "disrupted",
        AttemptEnd::Failed(_) => "failed",
    }
}

fn legend(svg: &mut Svg, y: i32) -> i32 {
    let mut x = MARGIN;
    for (text, fill) in [
        ("waits to start", palette::WAITING),
        ("runs", palette::RUNNING),
        ("stopping", palette::STOPPING),
    ] {
        svg.rect(Rect::new(x, y - 10, 18, 10), Paint::filled(fill));
        svg.text(x + 24, y, palette::NOTE, text);
        x += 120;
    }
    svg.route(&[(x, y - 5), (x + 18, y - 5)], DOWN, Heads::None);
    svg.text(x + 24, y, palette::NOTE, "down, until the next attempt");
    x += 230;
    for end in [
        AttemptEnd::Succeeded,
        AttemptEnd::Failed(None),
        AttemptEnd::Disrupted,
        AttemptEnd::Stopped,
    ] {
        let (sign, ink, ground) = sign(end);
        let mark = Rect::new(x, y - 12, 16, 16);
        svg.rect(mark, Paint::outlined(ink).on(ground).round(8));
        svg.text(x + 8, y, Font::new(11, ink).bold().anchored(Anchor::Middle), sign);
        svg.text(x + 22, y, palette::NOTE, words(end));
        x += 100;
    }
    y + 16
}

fn story(svg: &mut Svg, lines: &[Line], top: i32) -> i32 {
    let mut y = top;
    for line in lines.iter().take(MOST_LINES) {
        let time = palette::NOTE.anchored(Anchor::End);
        svg.text(MARGIN + 60, y, time, &seconds(u64::from(line.at)));
        let color = match line.tone {
            Tone::Plain => palette::INK,
            Tone::Good => palette::GOOD,
            Tone::Bad => palette::BAD,
            Tone::Careful => palette::CAREFUL,
            Tone::Quiet => palette::SOFT_INK,
        };
        for part in wrap(&line.text, 140) {
            svg.text(MARGIN + 76, y, Font::new(12, color), &part);
            y += LINE;
        }
    }
    if let Some(more) = lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        let more = format!("… and {more} lines more");
        svg.text(MARGIN + 76, y, palette::NOTE, &more);
        y += LINE;
    }
    y
}
