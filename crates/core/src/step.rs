//! [`step`], the only decision maker.
//!
//! It learns what is new, decides, and only then derives actions: the difference between what memory wants and
//! what is observed. It may be called at any time, any number of times, with the same or newer observations.

use std::sync::Arc;

use serde::Serialize;

use crate::job::{Job, TaskId};
use crate::memory::{Hold, Memory, Verdict};
use crate::observed::{Fixture, Observed, Stamp, Storage};
use crate::policy::{
    StepContext, backoff, bounds, cleanup, deadline, failed_starts, fixtures, gates, judge, orders, persist,
    remember, scaling, startup, suspend, ttl,
};
use crate::rule::{How, Scope};
use crate::time::Time;

/// What follows from one observation of a job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Step {
    /// Store this when [`Step::persist`] says so. If storing fails, drop the whole step.
    pub memory: Memory,
    /// Carry these out, in order; the first error drops the rest.
    pub actions: Vec<Action>,
    /// Report these once the memory is stored.
    pub events: Vec<Event>,
    /// Call again no later than this.
    pub wake: Option<Time>,
    /// When the memory must be stored.
    pub persist: Persist,
    /// How many creates and ensures were left out because of [`Observed::refused`].
    pub put_off: u32,
}

/// When the memory of a step must be stored. A world may always store earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Persist {
    /// It is what was handed in.
    Nothing,
    /// Before the first action.
    Before,
    /// By this time; actions may come first. Until then `step` finds it out again from the instances that are visible.
    By(Time),
    /// With the next memory that must be stored: only `born` differs.
    WithNext,
}

/// Something for a world to do. Each can be repeated, and is derived again if it was lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Action {
    /// Create a shared object, or correct it.
    Ensure(Fixture),
    /// Stop an instance and delete it.
    Stop {
        /// The task of the instance.
        task: TaskId,
        /// UID of the pod or name of the process: another instance of the task is not meant.
        instance: Arc<str>,
        /// Delete it without waiting for its node, which may still run it.
        force: bool,
    },
    /// Create an instance.
    Create {
        /// The task to run.
        task: TaskId,
        /// The stamp that the instance carries.
        stamp: Stamp,
    },
    /// Take the gate of its gang from an instance, so that the scheduler places it.
    Ungate {
        /// The task of the instance.
        task: TaskId,
        /// UID of the pod: another instance of the task is not meant.
        instance: Arc<str>,
    },
    /// Delete a shared object.
    Remove(Fixture),
    /// Delete an order that has been obeyed.
    Answered(Arc<str>),
    /// Delete the job itself.
    DeleteJob,
}

impl Action {
    /// Whether it makes something, so that the world may be refused it.
    #[must_use]
    pub fn makes(&self) -> bool {
        matches!(self, Self::Create { .. } | Self::Ensure(_))
    }
}

/// Something that happened, for logs, reports and Kubernetes events.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Event {
    /// The job has started.
    Started,
    /// The job is suspended or aborted.
    Held(Hold),
    /// The job runs again after a hold.
    Resumed,
    /// The end of one life has been answered.
    TaskEnded {
        /// The task that ended.
        task: TaskId,
        /// The life that ended.
        stamp: Stamp,
        /// How it ended, as rules name it.
        how: How,
        /// Its exit code, if one was seen.
        code: Option<i32>,
        /// Position of the rule that answers it; none where no rule does, and the task stays ended.
        rule: Option<u16>,
    },
    /// A rule would have restarted something, and no restart was left to pay for it.
    Unpaid {
        /// The task that ended.
        task: TaskId,
        /// Position of the rule that was skipped.
        rule: u16,
    },
    /// Tasks are started again.
    Restarting {
        /// The tasks that start again.
        scope: Scope,
        /// The task whose end or state asked for it, if it was one.
        task: Option<TaskId>,
        /// Position of the rule; none for an order.
        rule: Option<u16>,
        /// Whether it drew on the budget.
        paid: bool,
        /// When they are created at the earliest.
        not_before: Time,
    },
    /// Not enough of the gang was placed in its turn: what was placed is stopped, and all of it waits for the next turn.
    RolledBack {
        /// When its tasks are created again at the earliest.
        not_before: Time,
    },
    /// The job has ended.
    Finished(Verdict),
    /// Something is not as it should be.
    Odd(Oddity),
}

/// Something that is not as it should be. Reported, never acted on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Oddity {
    /// An instance is newer than memory: memory is stale or lost. The task is left alone.
    NewerThanMemory(TaskId),
    /// The memory handed in belongs to another job; it was not believed.
    MemoryOfAnotherJob,
    /// The memory handed in was written by a newer version; nothing was done.
    MemoryOfAnotherFormat(u32),
    /// The clock is behind memory by so many seconds.
    ClockBehind(u64),
    /// The world does not keep memory; nothing was done.
    MemoryDropped,
}

/// Decides what to do next. Total, deterministic, and the only place that decides.
#[must_use]
pub fn step(job: &Job, memory: Option<&Memory>, observed: &Observed, now: Time) -> Step {
    if let Some(newer) = memory.filter(|memory| memory.format > crate::memory::FORMAT) {
        return hands_off(newer);
    }
    // 1. What is known.
    let mut ctx = StepContext::begin(job, memory, observed, now);
    scaling::let_go(&mut ctx);
    remember::count_in_place(&mut ctx);
    failed_starts::note_running(&mut ctx);
    // 2. Decide: only memory changes, and killing means moving a stamp.
    if !observed.deleting {
        bounds::check(&mut ctx);
        // After a verdict too: an order that changes nothing any more must still be answered.
        orders::obey(&mut ctx);
    }
    if ctx.memory.verdict.is_none() && !observed.deleting {
        suspend::hold_or_resume(&mut ctx);
        if ctx.is_active() {
            startup::start(&mut ctx);
            gates::roll_back(&mut ctx);
            judge::judge(&mut ctx);
            backoff::over_budget(&mut ctx);
            deadline::check(&mut ctx);
        }
        bounds::check_room(&mut ctx);
    }
    gates::note_placed(&mut ctx);
    remember::mark_born(&mut ctx);
    remember::note_beginning(&mut ctx, memory);
    // 3. Act: nothing is decided any more.
    if observed.storage == Storage::Drops {
        ctx.events.push(Event::Odd(Oddity::MemoryDropped));
    } else if !observed.deleting {
        let wanted = startup::wanted(&mut ctx);
        fixtures::ensure(&mut ctx, &wanted);
        cleanup::stops(&mut ctx);
        scaling::creates(&mut ctx, wanted);
        gates::ungates(&mut ctx);
        fixtures::removes(&mut ctx);
        orders::answered(&mut ctx);
        ttl::expire(&mut ctx);
        persist::put_off(&mut ctx);
    }
    // 4. When it must be stored.
    ctx.end(memory)
}

/// A newer version of this program has been here: touch nothing, so that going back and forth is safe.
fn hands_off(memory: &Memory) -> Step {
    Step {
        memory: memory.clone(),
        actions: Vec::new(),
        events: vec![Event::Odd(Oddity::MemoryOfAnotherFormat(memory.format))],
        wake: None,
        persist: Persist::Nothing,
        put_off: 0,
    }
}
