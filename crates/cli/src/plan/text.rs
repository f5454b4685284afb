//! A plan as a picture made of letters, and sentences.

use std::fmt::Write as _;

use anstyle::Style;
use trainyard_core::words;
use trainyard_dialect::problem::shown;

use super::{JobPlan, RolePlan, TaskPlan};
use crate::printer::{CAREFUL, GOOD, QUIET, STRONG};
use crate::wrap::wrap;

/// A role with more tasks than this shows its first and last one.
const LISTED: usize = 6;
/// Sections are indented by this.
const INDENT: usize = 2;

/// The whole plan, laid out for so many columns.
pub fn render(plan: &JobPlan<'_>, columns: usize) -> String {
    let mut page = Page {
        text: String::new(),
        columns,
    };
    page.head(plan);
    for role in &plan.roles {
        page.role(role);
    }
    page.section("What happens", &plan.story, STRONG);
    page.rules(plan);
    page.section("Limits", &plan.limits, STRONG);
    page.section("When it has ended", std::slice::from_ref(&plan.clean), STRONG);
    page.section("Start order", &start_order(plan), STRONG);
    page.section("Gang", &plan.gang, STRONG);
    page.section("TF_CONFIG", &tf_config(plan), STRONG);
    page.section("Notes", &plan.notes, CAREFUL);
    page.text
}

fn start_order(plan: &JobPlan<'_>) -> Vec<String> {
    let waiting = plan.roles.iter().filter_map(|role| {
        let after = role.after.as_ref()?;
        Some(format!("{} tasks are created {after}.", role.name))
    });
    waiting.collect()
}

fn tf_config(plan: &JobPlan<'_>) -> Vec<String> {
    let example = plan.roles.iter().rev().find_map(|role| role.tasks.last());
    match (plan.tf_config_bytes(), example) {
        (Some(bytes), Some(task)) => vec![format!(
            "{bytes} bytes at most; `--tf-config {}` prints that of one task.",
            task.id
        )],
        _ => vec!["Not set: there is one task alone, or the manifest makes its own.".into()],
    }
}

/// Text in the making.
struct Page {
    text: String,
    columns: usize,
}

impl Page {
    /// One line; control characters from manifests are escaped here, once for all.
    fn line(&mut self, style: Style, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{style}{}{style:#}", safe(text));
    }

    fn head(&mut self, plan: &JobPlan<'_>) {
        let (job, read) = (plan.job(), plan.read);
        let name = if read.generate_name {
            format!("{}…", job.name)
        } else {
            job.name.to_string()
        };
        let kind = format!("{} {}", plan.kind(), read.api_version);
        let _ = writeln!(
            self.text,
            "{STRONG}{}{STRONG:#}  {QUIET}{}{QUIET:#}",
            safe(&name),
            safe(&kind)
        );
        let tasks = match job.size() {
            1 => "1 task".to_owned(),
            size => format!("{size} tasks"),
        };
        let facts = format!(
            "namespace {} · {tasks} · {}",
            job.namespace,
            words::ask(&plan.total)
        );
        for line in wrap(&facts, self.columns) {
            self.line(Style::new(), &line);
        }
        self.text.push('\n');
    }

    /// A box a role: its tasks with their addresses, and what they ask for.
    fn role(&mut self, role: &RolePlan<'_>) {
        let inner = self.columns - 4;
        let title = match role.replicas {
            1 => format!(" {} ", role.name),
            replicas => format!(" {} × {replicas} ", role.name),
        };
        let deciding = role.tasks.iter().filter(|task| task.decides).count();
        let mark = match deciding {
            0 => String::new(),
            count if count == role.tasks.len() => " decides success ".to_owned(),
            _ => " ★ decides success ".into(),
        };
        let used = title.chars().count() + mark.chars().count();
        let rule = "─".repeat((self.columns - 4).saturating_sub(used));
        let _ = writeln!(
            self.text,
            "╭─{STRONG}{}{STRONG:#}{rule}{GOOD}{mark}{GOOD:#}─╮",
            safe(&title)
        );
        let partly = deciding > 0 && deciding < role.tasks.len();
        for row in rows(role, partly) {
            for line in fit(&row, inner) {
                self.boxed(Style::new(), &line, inner);
            }
        }
        for line in wrap(&asks(role), inner) {
            self.boxed(QUIET, &line, inner);
        }
        let _ = writeln!(self.text, "╰{}╯", "─".repeat(self.columns - 2));
    }

    fn boxed(&mut self, style: Style, line: &str, inner: usize) {
        let line = safe(line);
        let room = " ".repeat(inner.saturating_sub(line.chars().count()));
        let _ = writeln!(self.text, "│ {style}{line}{style:#}{room} │");
    }

    fn section(&mut self, title: &str, sentences: &[String], style: Style) {
        if sentences.is_empty() {
            return;
        }
        self.text.push('\n');
        self.line(style, title);
        for sentence in sentences {
            self.indented(sentence, "", INDENT, Style::new());
        }
    }

    /// A paragraph, indented; its first line begins with `lead`.
    fn indented(&mut self, paragraph: &str, lead: &str, indent: usize, style: Style) {
        let lines = wrap(paragraph, self.columns.saturating_sub(indent));
        for (position, line) in lines.iter().enumerate() {
            let lead = if position == 0 { lead } else { "" };
            let _ = writeln!(self.text, "{lead:>indent$}{style}{}{style:#}", safe(line));
        }
    }

    /// A few words at the right edge of the last line, or on a line of their own where they do not fit.
    fn beside(&mut self, words: &str, indent: usize) {
        let words = safe(words);
        let last = self.text.trim_end().lines().last().unwrap_or_default();
        let used = anstream::adapter::strip_str(last).to_string().chars().count();
        let room = self.columns.saturating_sub(used + words.chars().count());
        if room < 2 {
            self.indented(&words, "", indent, QUIET);
            return;
        }
        self.text.truncate(self.text.trim_end().len());
        let _ = writeln!(self.text, "{}{QUIET}{words}{QUIET:#}", " ".repeat(room));
    }

    fn rules(&mut self, plan: &JobPlan<'_>) {
        self.text.push('\n');
        self.line(STRONG, "Rules, first match first");
        for (position, rule) in plan.rules.iter().enumerate() {
            let number = format!("{:>4}  ", position + 1);
            let words = format!("{} → {}", rule.when, rule.then);
            let style = if rule.never.is_some() { QUIET } else { Style::new() };
            self.indented(&words, &number, number.len(), style);
            let from = match rule.never {
                Some(why) => format!("{}; never reached: {why}", rule.from),
                None => rule.from.to_string(),
            };
            self.beside(&from, number.len());
        }
    }
}

/// The tasks of a role, one a row, with the middle left out where there are many.
fn rows(role: &RolePlan<'_>, partly: bool) -> Vec<(String, String)> {
    let row = |task: &TaskPlan| {
        let mark = match (partly, task.decides) {
            (false, _) => "",
            (true, true) => "★ ",
            (true, false) => "  ",
        };
        let address = task.address.as_deref().unwrap_or("address known when it runs");
        (format!("{mark}{}", task.id), address.to_owned())
    };
    let (first, last) = (role.tasks.first(), role.tasks.last());
    match (first, last) {
        (Some(first), Some(last)) if role.tasks.len() > LISTED => {
            let second = role.tasks.get(1).map(row);
            let between = ("…".to_owned(), String::new());
            let mut rows = vec![row(first)];
            rows.extend(second);
            rows.extend([between, row(last)]);
            align(rows)
        }
        _ => align(role.tasks.iter().map(row).collect()),
    }
}

/// Names padded to the same length.
fn align(rows: Vec<(String, String)>) -> Vec<(String, String)> {
    let widest = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let pad = |(name, address): (String, String)| (format!("{name:<widest$}"), address);
    rows.into_iter().map(pad).collect()
}

/// A name and an address on one line, or on two where they do not fit; a longer one is cut at its end by the box.
fn fit(row: &(String, String), inner: usize) -> Vec<String> {
    let (name, address) = row;
    let one = format!("{name}  {address}");
    if one.trim_end().chars().count() <= inner {
        return vec![one.trim_end().to_owned()];
    }
    let mut lines = vec![name.trim_end().to_owned()];
    let room = inner.saturating_sub(4).max(1);
    let letters: Vec<char> = address.chars().collect();
    lines.extend(
        letters
            .chunks(room)
            .map(|part| format!("    {}", part.iter().collect::<String>())),
    );
    lines
}

fn asks(role: &RolePlan<'_>) -> String {
    let each = words::ask(role.ask);
    match (role.ask.is_empty(), role.replicas) {
        (_, 0) => "no tasks".into(),
        (true, _) => "asks for nothing".into(),
        (false, 1) => format!("asks for {each}"),
        (false, _) => format!("each asks for {each}; together {}", words::ask(&role.total)),
    }
}

/// Text of the user's, with control characters escaped and nothing shortened.
fn safe(text: &str) -> String {
    if text.chars().any(char::is_control) {
        text.chars()
            .map(|character| shown(character.encode_utf8(&mut [0; 4])))
            .collect()
    } else {
        text.to_owned()
    }
}
