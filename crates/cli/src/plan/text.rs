//! A plan as text: a box per role, then sentences.

use std::fmt::Write as _;

use anstyle::Style;
use trainyard_core::explain;
use trainyard_document::problem::escaped;

use super::{JobPlan, RolePlan, TaskPlan};
use crate::locale::to_ascii;
use crate::printer::{CAREFUL, GOOD, QUIET, STRONG};
use crate::report::count;
use crate::wrap::wrap;

/// A role with more tasks than this shows its first two and its last.
const LISTED: usize = 6;
/// Sections are indented by this.
const INDENT: usize = 2;

/// The plan, for this number of columns; in ASCII if requested.
pub fn render(plan: &JobPlan<'_>, columns: usize, ascii: bool) -> String {
    let mut page = Page {
        text: String::new(),
        columns,
        ascii,
    };
    page.head(plan);
    for role in &plan.roles {
        page.role(role, !plan.total.is_empty());
    }
    page.section("What happens", &plan.story, STRONG);
    page.rules(plan);
    page.section("Limits", &plan.limits, STRONG);
    page.section("When it has ended", std::slice::from_ref(&plan.clean), STRONG);
    page.section("Start order", &start_order(plan), STRONG);
    page.section("Gang", &plan.gang, STRONG);
    page.section("TF_CONFIG", &tf_config(plan), STRONG);
    page.section("Notes", &plan.notes, CAREFUL);
    // Only the lines of the boxes are left to replace, one character each.
    if ascii { to_ascii(&page.text) } else { page.text }
}

fn start_order(plan: &JobPlan<'_>) -> Vec<String> {
    let waiting = plan.roles.iter().filter_map(|role| {
        let after = role.after.as_ref()?;
        Some(format!("{} tasks are created {after}.", role.spec.name))
    });
    waiting.collect()
}

fn tf_config(plan: &JobPlan<'_>) -> Vec<String> {
    let example = plan.roles.iter().rev().find_map(|role| role.tasks.last());
    match (plan.tf_config_bytes(), example) {
        (Some(bytes), Some(task)) => vec![format!(
            "At most {bytes} bytes; `--tf-config {}` prints that of one task.",
            task.id
        )],
        _ => vec![format!("Not set: {}.", plan.read.why_no_tf_config())],
    }
}

/// The text so far.
struct Page {
    text: String,
    columns: usize,
    ascii: bool,
}

impl Page {
    /// Escapes control characters of manifests, and converts to ASCII if requested. Done
    /// before measuring, since both change the length.
    fn presentable(&self, text: &str) -> String {
        let text = escaped(text);
        if self.ascii { to_ascii(&text) } else { text }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn head(&mut self, plan: &JobPlan<'_>) {
        let (job, read) = (plan.job(), plan.read);
        let name = self.presentable(&job.name);
        let kind = self.presentable(&format!("{} {}", plan.kind(), read.api_version));
        self.line(format_args!("{STRONG}{name}{STRONG:#}  {QUIET}{kind}{QUIET:#}"));
        let tasks = count(job.size(), "task");
        let asked = if plan.total.is_empty() {
            "no requests".to_owned()
        } else {
            explain::ask(&plan.total)
        };
        let facts = format!("namespace {} · {tasks} · {asked}", job.namespace);
        self.paragraph(&facts, "", 0, Style::new());
        self.text.push('\n');
    }

    /// A box per role: its tasks, their addresses and requests.
    /// Requests are left out where no role has any: the head says so.
    fn role(&mut self, role: &RolePlan<'_>, requests: bool) {
        let inner = self.columns - 4;
        let title = self.presentable(&match role.spec.replicas {
            1 => format!(" {} ", role.spec.name),
            replicas => format!(" {} × {replicas} ", role.spec.name),
        });
        let deciding = role.tasks.iter().filter(|task| task.decides).count();
        let partly = deciding > 0 && deciding < role.tasks.len();
        let mark = match deciding {
            0 => "",
            _ if partly => " ★ decides success ",
            _ => " decides success ",
        };
        let used = title.chars().count() + mark.chars().count();
        let rule = "─".repeat(inner.saturating_sub(used));
        self.line(format_args!(
            "╭─{STRONG}{title}{STRONG:#}{rule}{GOOD}{mark}{GOOD:#}─╮"
        ));
        for (name, address) in rows(role, partly) {
            let (name, address) = (self.presentable(&name), self.presentable(&address));
            for line in fit(&name, &address, inner) {
                self.boxed(Style::new(), &line, inner);
            }
        }
        if requests || role.spec.replicas == 0 {
            for line in wrap(&self.presentable(&asks(role)), inner) {
                self.boxed(QUIET, &line, inner);
            }
        }
        self.line(format_args!("╰{}╯", "─".repeat(self.columns - 2)));
    }

    fn boxed(&mut self, style: Style, line: &str, inner: usize) {
        let room = " ".repeat(inner.saturating_sub(line.chars().count()));
        self.line(format_args!("│ {style}{line}{style:#}{room} │"));
    }

    fn section(&mut self, title: &str, sentences: &[String], style: Style) {
        if sentences.is_empty() {
            return;
        }
        self.line(format_args!("\n{style}{title}{style:#}"));
        for sentence in sentences {
            self.paragraph(sentence, "", INDENT, Style::new());
        }
    }

    /// A paragraph, indented; its first line begins with `lead`. The length of its last line.
    fn paragraph(&mut self, text: &str, lead: &str, indent: usize, style: Style) -> usize {
        let lines = wrap(&self.presentable(text), self.columns.saturating_sub(indent));
        for (position, line) in lines.iter().enumerate() {
            let lead = if position == 0 { lead } else { "" };
            self.line(format_args!("{lead:>indent$}{style}{line}{style:#}"));
        }
        lines.last().map_or(0, |line| indent + line.chars().count())
    }

    fn rules(&mut self, plan: &JobPlan<'_>) {
        self.line(format_args!("\n{STRONG}Rules, first match first{STRONG:#}"));
        for (position, rule) in plan.rules.iter().enumerate() {
            let number = format!("{:>4}  ", position + 1);
            let words = format!("{} → {}", rule.when, rule.then);
            let style = if rule.never.is_some() { QUIET } else { Style::new() };
            let used = self.paragraph(&words, &number, number.len(), style);
            let from = match (rule.never, rule.rarely) {
                (Some(why), _) => format!("{}; never reached: {why}", rule.from),
                (None, Some(why)) => format!("{}; {why}", rule.from),
                (None, None) => rule.from.to_string(),
            };
            self.beside(&from, used, number.len());
        }
    }

    /// Puts text at the right edge of the last line, or on its own line if it does not fit.
    fn beside(&mut self, words: &str, used: usize, indent: usize) {
        let shown = self.presentable(words);
        let room = self.columns.saturating_sub(used + shown.chars().count());
        if room < 2 {
            self.paragraph(words, "", indent, QUIET);
            return;
        }
        // Continues the last line.
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.line(format_args!("{}{QUIET}{shown}{QUIET:#}", " ".repeat(room)));
    }
}

/// The tasks of a role and their addresses, without the middle if there are many.
fn rows(role: &RolePlan<'_>, partly: bool) -> Vec<(String, String)> {
    let row = |task: &TaskPlan| {
        let mark = match (partly, task.decides) {
            (false, _) => "",
            (true, true) => "★ ",
            (true, false) => "  ",
        };
        let address = task.address.as_deref().unwrap_or("address known at run time");
        (format!("{mark}{}", task.id), address.to_owned())
    };
    let rows = match role.tasks.as_slice() {
        [first, second, .., last] if role.tasks.len() > LISTED => {
            let between = if partly { "  …" } else { "…" };
            vec![
                row(first),
                row(second),
                (between.into(), String::new()),
                row(last),
            ]
        }
        all => all.iter().map(row).collect(),
    };
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max();
    let widest = widest.unwrap_or(0);
    let pad = |(name, address): (String, String)| (format!("{name:<widest$}"), address);
    rows.into_iter().map(pad).collect()
}

/// A name and an address on one line, or on several if they do not fit.
fn fit(name: &str, address: &str, inner: usize) -> Vec<String> {
    let one = format!("{name}  {address}");
    let one = one.trim_end();
    if one.chars().count() <= inner {
        return vec![one.to_owned()];
    }
    let mut lines = vec![name.trim_end().to_owned()];
    let room = inner.saturating_sub(4).max(1);
    lines.extend(
        broken(address, room)
            .into_iter()
            .map(|part| format!("    {part}")),
    );
    lines
}

/// An address in pieces of at most so many characters: broken before a dot or its port, and inside a name only where that is too long.
fn broken(address: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for part in split_before(address, &['.', ':']) {
        let last = pieces.last_mut().map_or(0, |piece| piece.chars().count());
        if last > 0 && last + part.chars().count() > room {
            pieces.push(String::new());
        }
        for letter in part.chars() {
            if pieces.last().is_some_and(|piece| piece.chars().count() == room) {
                pieces.push(String::new());
            }
            if let Some(piece) = pieces.last_mut() {
                piece.push(letter);
            }
        }
    }
    pieces
}

/// The text in parts, each of which but the first begins with one of the letters.
fn split_before<'t>(text: &'t str, letters: &[char]) -> Vec<&'t str> {
    let starts: Vec<usize> = text
        .match_indices(letters)
        .map(|(at, _)| at)
        .filter(|at| *at > 0)
        .collect();
    let ends = starts.iter().copied().chain([text.len()]);
    let begins = [0].into_iter().chain(starts.iter().copied());
    begins.zip(ends).map(|(begin, end)| &text[begin..end]).collect()
}

fn asks(role: &RolePlan<'_>) -> String {
    let each = explain::ask(&role.spec.ask);
    match (role.spec.ask.is_empty(), role.spec.replicas) {
        (_, 0) => "no tasks".into(),
        (true, _) => "no requests".into(),
        (false, 1) => format!("requests {each}"),
        (false, _) => format!("each requests {each}; together {}", explain::ask(&role.total)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_address_is_broken_and_stays_in_its_box() {
        assert_eq!(fit("worker-0", "a.b", 40), ["worker-0  a.b"]);
        assert_eq!(
            fit("worker-0 ", "abcdefghij", 10),
            ["worker-0", "    abcdef", "    ghij"]
        );
        let address = "mnist-worker-0.mnist.research.svc:2222";
        assert_eq!(
            broken(address, 36),
            ["mnist-worker-0.mnist.research.svc", ":2222"]
        );
        assert_eq!(
            broken(address, 20),
            ["mnist-worker-0.mnist", ".research.svc:2222"]
        );
        assert_eq!(broken(address, 99), [address]);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(escaped("a\u{1b}[31mb"), "a\\u{1b}[31mb");
    }
}
