//! What wakes the loop of a run up: news of its tasks, orders, signals.
//!
//! ```text
//! threads of tasks, of orders, of TensorBoard ─▶ bell ─▶ inbox ─▶ loop
//!                      door (the run's socket) ─▶ orders ─┘ │
//!                                       signals ─▶ ears ────┘
//! ```
//!
//! The loop sleeps on descriptors, so it opens its door by itself, and the only job of a run has the ears in its inbox, too: a
//! thread for them would cost a short run as much as a task does. Where there are several jobs, one thread hears for all.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use crate::process::launch::TaskEvent;
use crate::run::control::Door;
use crate::run::control::order::{Answer, Order};
use crate::run::store::directory::RunDirectory;
use crate::supervisor::inner::Ears;
use crate::system::poll::wait_for;
use crate::system::signals::Notice;

/// Something the loop wakes up for.
#[derive(Debug)]
pub(crate) enum News {
    Task(TaskEvent),
    Signal(Notice),
    Order(Order, SyncSender<Answer>),
    /// `TensorBoard` answers, or why not.
    TensorBoard(Result<String, String>),
}

/// A way to wake a run up from outside its loop.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    news: Sender<News>,
    rung: Arc<OwnedFd>,
}

impl Bell {
    /// Leaves news, and wakes the loop up; whether there still is one.
    pub fn ring(&self, news: News) -> bool {
        let left = self.news.send(news).is_ok();
        let _ = rustix::io::write(&*self.rung, &1_u64.to_ne_bytes());
        left
    }

    /// An order, and what became of it.
    pub fn order(&self, order: Order) -> Answer {
        let (answer, answered) = sync_channel(1);
        let stops = matches!(order, Order::Stop { .. });
        let ended = || {
            if stops {
                Answer::Done
            } else {
                Answer::Refused("the run is just ending".to_owned())
            }
        };
        if self.ring(News::Order(order, answer)) {
            answered.recv().unwrap_or_else(|_| ended())
        } else {
            ended()
        }
    }
}

/// Where the news of one run arrive.
pub(crate) struct Inbox {
    news: Receiver<News>,
    bell: Bell,
    door: Option<Door>,
    /// Until then nobody is let in.
    door_rests: Option<Instant>,
    ears: Option<Ears>,
}

/// How long nobody is let in after somebody could not be.
const REST: Duration = Duration::from_secs(1);

/// The inbox of a run to be, and its bell.
pub(crate) fn inbox() -> io::Result<(Bell, Inbox)> {
    let rung = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, news) = channel();
    let bell = Bell { news: sender, rung };
    let inbox = Inbox {
        news,
        bell: bell.clone(),
        door: None,
        door_rests: None,
        ears: None,
    };
    Ok((bell, inbox))
}

impl Inbox {
    /// From now on whoever waits here hears signals as well.
    pub fn listen(&mut self, ears: Ears) {
        self.ears = Some(ears);
    }

    /// Whether it hears signals, as that of the only job of a run does.
    pub fn listens(&self) -> bool {
        self.ears.is_some()
    }

    /// From now on the run takes orders.
    pub fn open_door(&mut self, run: &RunDirectory) -> io::Result<()> {
        let bell = self.bell.clone();
        self.door = Some(Door::open(run, move |order| bell.order(order))?);
        Ok(())
    }

    /// News that are there.
    pub fn next(&mut self) -> Option<News> {
        self.news.try_recv().ok()
    }

    /// Waits for news, until then at most.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<News> {
        loop {
            if let Some(news) = self.next() {
                return Some(news);
            }
            if !self.sleep(until) || until.is_some_and(|until| until <= Instant::now()) {
                return self.next();
            }
        }
    }

    /// Hears what has come meanwhile: whoever has much to do must not miss it.
    pub fn listen_up(&mut self) {
        self.sleep(Some(Instant::now()));
    }

    /// Sleeps until something rings, is heard or stands at the door, until then at most; false if nothing did.
    fn sleep(&mut self, until: Option<Instant>) -> bool {
        let now = Instant::now();
        let rests = self.door_rests.filter(|rests| *rests > now);
        let mut descriptors = vec![PollFd::from_borrowed_fd(self.bell.rung.as_fd(), PollFlags::IN)];
        descriptors.extend(self.ears.iter().map(|ears| PollFd::new(ears, PollFlags::IN)));
        let door = self.door.iter().filter(|_| rests.is_none());
        descriptors.extend(door.map(|door| PollFd::new(door, PollFlags::IN)));
        let until = until.into_iter().chain(rests).min();
        let Ok(true) = wait_for(&mut descriptors, until) else {
            // A door that has rested is looked at again.
            return rests.is_some();
        };
        let others = descriptors.iter().skip(1).any(|one| !one.revents().is_empty());
        // Before the news are looked at: who leaves some afterwards rings again.
        let _ = rustix::io::read(&*self.bell.rung, &mut [0; 8]);
        if others {
            self.ears.iter_mut().for_each(Ears::heed);
            if self.door.iter().any(|door| door.admit().is_err()) {
                // Nobody can be let in, for want of descriptors: whoever waits would wake us up again and again.
                self.door_rests = Some(now + REST);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn news_come_in_their_order_and_wake_who_waits() {
        let (bell, mut inbox) = inbox().unwrap();
        assert!(
            inbox
                .wait(Some(Instant::now() + Duration::from_millis(1)))
                .is_none()
        );
        let ringing = thread::spawn(move || {
            for notice in [Notice::Interrupt, Notice::Quit] {
                assert!(bell.ring(News::Signal(notice)));
            }
            bell.order(Order::Stop { now: true })
        });
        assert!(matches!(inbox.wait(None), Some(News::Signal(Notice::Interrupt))));
        assert!(matches!(inbox.wait(None), Some(News::Signal(Notice::Quit))));
        let Some(News::Order(Order::Stop { now: true }, answer)) = inbox.wait(None) else {
            panic!("the order did not arrive");
        };
        answer.send(Answer::Done).unwrap();
        assert!(matches!(ringing.join().unwrap(), Answer::Done));
        assert!(inbox.next().is_none());
    }

    #[test]
    fn who_rings_at_a_run_that_has_ended_learns_so() {
        let (bell, inbox) = inbox().unwrap();
        drop(inbox);
        assert!(!bell.ring(News::Signal(Notice::Interrupt)));
        assert!(matches!(bell.order(Order::Stop { now: false }), Answer::Done));
        assert!(matches!(bell.order(Order::Suspend), Answer::Refused(_)));
    }
}
