//! The reporter of one job: its output and its events, in the form that the view asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use trainyard_core::TaskId;
use trainyard_local::logs::pump::{LogBlock, LogSink, LogSource, LogTrouble};
use trainyard_local::run::event::{Reporter, RunEvent, What};
use trainyard_local::run::store::status::TaskStatus;
use trainyard_local::run::timestamp::Timestamp;

use super::activity::Activity;
use super::display::{Message, Shared, lock};
use super::json;
use super::prefix::{self, LinePrefix};
use super::sentences::{self, Narration};
use super::summary;
use super::view::Lines;
use crate::args::Format;
use crate::locale;

/// The reporter of one job.
pub struct JobReporter {
    shared: Arc<Shared>,
    number: usize,
    activity: Arc<Activity>,
    job: Arc<str>,
    several: bool,
    tasks: Vec<TaskId>,
    prefixes: Mutex<Prefixes>,
    narration: Mutex<Narration>,
}

/// By task and container.
type Prefixes = BTreeMap<(TaskId, Option<Arc<str>>), Arc<LinePrefix>>;

impl JobReporter {
    /// Of the job with this number, whose tasks are heard for the footer.
    pub fn new(
        shared: Arc<Shared>,
        (number, activity): (usize, Arc<Activity>),
        job: &str,
        several: bool,
        tasks: &[TaskId],
    ) -> Self {
        let before = several.then_some(job);
        for task in tasks {
            if shared.view.shows(job, task) {
                shared.column.admit(&prefix::label(before, task, None));
            }
        }
        Self {
            number,
            activity,
            job: job.into(),
            several,
            tasks: tasks.to_vec(),
            prefixes: Mutex::default(),
            narration: Mutex::new(Narration::new(job, several, tasks.len())),
            shared,
        }
    }

    /// The prefix of a program, made with its first line and again when the column has become wider.
    fn prefix(&self, source: &LogSource) -> Arc<LinePrefix> {
        let key = (source.task.clone(), source.container.clone());
        let mut known = lock(&self.prefixes);
        if let Some(prefix) = known.get(&key)
            && prefix.width == self.shared.column.width()
        {
            return Arc::clone(prefix);
        }
        let prefix = Arc::new(self.new_prefix(source));
        known.insert(key, Arc::clone(&prefix));
        prefix
    }

    fn new_prefix(&self, source: &LogSource) -> LinePrefix {
        let view = &self.shared.view;
        let shown = view.shows(&self.job, &source.task);
        let job = self.several.then_some(&*self.job);
        let label = prefix::label(job, &source.task, source.container.as_ref());
        if shown {
            self.shared.column.admit(&label);
        }
        let style = prefix::style(&self.tasks, self.number, &source.task);
        LinePrefix::new(view, shown, &label, style, self.shared.column.width())
    }

    fn tell_footer(&self, event: &RunEvent) {
        let job = self.number;
        match &event.what {
            What::RunStarted { .. } => self.shared.tell(Message::Began { job, at: event.time }),
            What::RunEnded(_) => self.shared.tell(Message::Ended { job }),
            What::TaskStarted {
                life,
                init: None,
                pid,
                ..
            } => self.activity.started(life, *pid),
            _ => {}
        }
    }
}

impl LogSink for JobReporter {
    fn lines(&self, source: &LogSource, block: LogBlock<'_>) {
        let view = &self.shared.view;
        if view.quiet || block.bytes.is_empty() {
            return;
        }
        if view.has_footer() {
            self.activity.wrote(source);
        }
        let prefix = self.prefix(source);
        if !prefix.shown {
            return;
        }
        match (view.output, view.lines) {
            (Format::Json, _) => self.shared.print_built(|out| {
                json::lines(out, Timestamp::now(), &self.job, source, block);
            }),
            (Format::Text, Lines::Raw) => self.shared.print(block.bytes),
            (Format::Text, _) => self.shared.print_built(|out| {
                let time = if view.timestamps {
                    sentences::stamp(view, Timestamp::now())
                } else {
                    String::new()
                };
                prefix.write(out, view, &time, block);
            }),
        }
    }

    fn unfinished(&self, source: &LogSource, line: &[u8]) {
        if self.shared.view.has_footer() {
            self.activity.writes(source, line);
            self.shared.redraw();
        }
    }

    fn trouble(&self, source: &LogSource, trouble: &LogTrouble) {
        let note = What::Note {
            text: format!("{}: {trouble}: {}", source.task, trouble.source),
        };
        self.event(&RunEvent {
            time: Timestamp::now(),
            job: Arc::clone(&self.job),
            what: note,
        });
    }
}

impl Reporter for JobReporter {
    fn event(&self, event: &RunEvent) {
        let view = &self.shared.view;
        if view.has_footer() {
            self.tell_footer(event);
        }
        if view.output == Format::Json {
            return self.shared.tell(Message::Out(json::event(event)));
        }
        let mut narration = lock(&self.narration);
        if let What::RunEnded(end) = &event.what {
            let page = summary::page(&self.job, end, narration.directory(), locale::columns());
            let message = Message::Err(view.dress(&page, view.err).into_bytes());
            return if self.several {
                self.shared.tell(message);
            } else {
                // It is shown when the display is closed, which is next.
                self.shared.leave(message);
            };
        }
        let said = narration.tell(event);
        if let Some(said) = said.filter(|said| said.matters || !view.quiet) {
            self.shared.say(event.time, &said.text);
        }
    }

    fn tasks(&self, tasks: &[TaskStatus]) {
        let view = &self.shared.view;
        if view.has_footer() {
            self.shared.tell(Message::Tasks {
                job: self.number,
                tasks: tasks.to_vec(),
            });
        }
        if view.output == Format::Text && !view.quiet {
            let mut narration = lock(&self.narration);
            if let Some(said) = narration.stand(tasks) {
                self.shared.say(Timestamp::now(), &said.text);
            }
        }
    }
}
