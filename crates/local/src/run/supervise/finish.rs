//! The end of a run: what still runs is stopped, and `TensorBoard` is kept as long as was asked.
//!
//! Nothing outlives a run, and nothing holds it up: a task that does not end after it was killed (its terminal takes no
//! output, the kernel does not let go of it) is left to the end of the supervisor, which takes everything with it.

use std::time::{Duration, Instant};

use super::queue::LoopEvent;
use super::runner::Runner;
use crate::run::control::order::{Order, OrderReply};
use crate::run::event::What;
use crate::system::signals::SignalKind;

/// Tasks end within their grace; after this much more they are killed from here.
const AFTER_GRACE: Duration = Duration::from_secs(2);

/// What is answered to orders that come too late.
pub(crate) const ENDING: &str = "the run is ending";

/// What was killed is gone by then, or is not waited for.
const AFTER_KILL: Duration = Duration::from_secs(3);

impl Runner {
    /// The job is over: whatever still runs is stopped.
    pub(crate) fn stop_what_is_left(&mut self) {
        self.world.stop_all(self.forced);
        self.pass_on();
        // The user who ended the run may look at the status at once.
        (self.unwritten, self.may_write) = (true, Instant::now());
        if !self.world.is_empty() {
            self.write_in_time();
        }
        self.answer();
        let mut kill = Instant::now() + self.world.longest_grace() + AFTER_GRACE;
        let mut give_up = None;
        while !self.world.is_empty() {
            let now = Instant::now();
            if self.forced && give_up.is_none() {
                give_up = Some(now + AFTER_KILL);
            }
            if give_up.is_some_and(|give_up| give_up <= now) {
                let text = "some tasks do not go, though they were killed: they end with the run".to_owned();
                return self.tell(What::Note { text });
            }
            if kill <= now {
                self.forced = true;
                kill = now + AFTER_KILL;
                self.world.stop_all(true);
                continue;
            }
            self.write_in_time();
            // Those who watch see which tasks are still waited for, so what is left to write has its time here too.
            let write = self.unwritten.then_some(self.may_write);
            let waiting = self.tell_of_waiting();
            let until = [Some(kill), give_up, write, waiting].into_iter().flatten().min();
            if let Some(news) = self.queue.wait(until) {
                self.take_at_the_end(news);
            }
            self.unwritten |= self.world.table.changed();
            self.pass_on();
        }
    }

    fn take_at_the_end(&mut self, news: LoopEvent) {
        match news {
            LoopEvent::Order(Order::Stop { now }, answer) => {
                self.forced |= now;
                self.world.stop_all(now);
                let _ = answer.send(OrderReply::Done);
            }
            LoopEvent::Order(_, answer) => {
                let _ = answer.send(OrderReply::Refused(ENDING.to_owned()));
            }
            news => self.take(news),
        }
    }

    /// Keeps `TensorBoard` as long as was asked, and then stops it.
    pub(crate) fn stay_for_tensorboard(&mut self) {
        let Some(board) = self.tensorboard.take() else {
            return;
        };
        if self.ending.is_none() && self.tensorboard_url.is_some() {
            let keep = self.file.tensorboard.as_ref().and_then(|board| board.keep);
            let until = keep.map(|seconds| Instant::now() + Duration::from_secs(seconds));
            if keep != Some(0) {
                let how_long =
                    keep.map_or_else(|| "until Ctrl-C".to_owned(), |seconds| format!("for {seconds} s"));
                let text = format!("the job has ended; TensorBoard stays {how_long}");
                self.tell(What::Note { text });
            }
            self.wait_until(until);
        }
        board.stop();
    }

    /// Waits until then, or until the user ends the run.
    fn wait_until(&mut self, until: Option<Instant>) {
        loop {
            match self.queue.wait(until) {
                Some(
                    LoopEvent::Signal(SignalKind::Child | SignalKind::Resize)
                    | LoopEvent::Task(_)
                    | LoopEvent::TensorBoard(_),
                ) => {}
                Some(LoopEvent::Order(Order::Stop { .. }, answer)) => {
                    let _ = answer.send(OrderReply::Done);
                    return;
                }
                Some(LoopEvent::Order(_, answer)) => {
                    let _ = answer.send(OrderReply::Refused("the job has ended".to_owned()));
                }
                Some(LoopEvent::Signal(_)) => return,
                None if until.is_some_and(|until| until <= Instant::now()) => return,
                None => {}
            }
        }
    }
}
