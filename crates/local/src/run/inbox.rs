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
use std::time::Instant;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use super::control::Door;
use super::directory::RunDirectory;
use super::order::{Answer, Order};
use crate::inner::Ears;
use crate::launch::TaskEvent;
use crate::signals::Notice;
use crate::wait::wait_for;

/// Something the loop wakes up for.
#[derive(Debug)]
pub(super) enum News {
    Task(TaskEvent),
    Signal(Notice),
    Order(Order, SyncSender<Answer>),
    /// `TensorBoard` answers, or why not.
    TensorBoard(Result<String, String>),
}

/// A way to wake a run up from outside its loop.
#[derive(Clone, Debug)]
pub(super) struct Bell {
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
pub(super) struct Inbox {
    news: Receiver<News>,
    bell: Bell,
    door: Option<Door>,
    ears: Option<Ears>,
}

/// The inbox of a run to be, and its bell.
pub(super) fn inbox() -> io::Result<(Bell, Inbox)> {
    let rung = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, news) = channel();
    let bell = Bell { news: sender, rung };
    let inbox = Inbox {
        news,
        bell: bell.clone(),
        door: None,
        ears: None,
    };
    Ok((bell, inbox))
}

impl Inbox {
    /// From now on whoever waits here hears signals as well.
    pub fn listen(&mut self, ears: Ears) {
        self.ears = Some(ears);
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
            let mut descriptors = vec![PollFd::from_borrowed_fd(self.bell.rung.as_fd(), PollFlags::IN)];
            descriptors.extend(self.ears.iter().map(|ears| PollFd::new(ears, PollFlags::IN)));
            descriptors.extend(self.door.iter().map(|door| PollFd::new(door, PollFlags::IN)));
            let Ok(true) = wait_for(&mut descriptors, until) else {
                return None;
            };
            let others = descriptors.iter().skip(1).any(|one| !one.revents().is_empty());
            // Before the news are looked at: who leaves some afterwards rings again.
            let _ = rustix::io::read(&*self.bell.rung, &mut [0; 8]);
            if others {
                self.ears.iter_mut().for_each(Ears::heed);
                self.door.iter().for_each(Door::admit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

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
