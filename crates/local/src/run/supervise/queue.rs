//! What wakes the loop of a run up: news of its tasks, orders, signals.
//!
//! ```text
//! threads of tasks, of orders, of TensorBoard ─▶ waker ─▶ queue ─▶ loop
//!                      socket (the run's socket) ─▶ orders ─┘ │
//!                                       signals ─▶ signal_listener ────┘
//! ```
//!
//! The loop sleeps on descriptors, so it opens its socket by itself, and the only job of a run has the signal_listener in its queue, too: a
//! thread for them would cost a short run as much as a task does. Where there are several jobs, one thread hears for all.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use crate::process::launch::TaskEvent;
use crate::run::control::ControlSocket;
use crate::run::control::order::{Order, OrderReply};
use crate::run::store::directory::RunDirectory;
use crate::supervisor::inner::SignalListener;
use crate::system::poll::wait_for;
use crate::system::signals::SignalKind;

/// Something the loop wakes up for.
#[derive(Debug)]
pub(crate) enum LoopEvent {
    Task(TaskEvent),
    Signal(SignalKind),
    Order(Order, SyncSender<OrderReply>),
    /// `TensorBoard` answers, or why not.
    TensorBoard(Result<String, String>),
}

/// A way to wake a run up from outside its loop.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    news: Sender<LoopEvent>,
    eventfd_handle: Arc<OwnedFd>,
}

impl Waker {
    /// Leaves news, and wakes the loop up; whether there still is one.
    pub fn wake(&self, news: LoopEvent) -> bool {
        let left = self.news.send(news).is_ok();
        let _ = rustix::io::write(&*self.eventfd_handle, &1_u64.to_ne_bytes());
        left
    }

    /// An order, and what became of it.
    pub fn order(&self, order: Order) -> OrderReply {
        let (answer, answered) = sync_channel(1);
        let stops = matches!(order, Order::Stop { .. });
        let ended = || {
            if stops {
                OrderReply::Done
            } else {
                OrderReply::Refused("the run is just ending".to_owned())
            }
        };
        if self.wake(LoopEvent::Order(order, answer)) {
            answered.recv().unwrap_or_else(|_| ended())
        } else {
            ended()
        }
    }
}

/// Where the news of one run arrive.
pub(crate) struct EventQueue {
    news: Receiver<LoopEvent>,
    waker: Waker,
    socket: Option<ControlSocket>,
    /// Until then no connection is accepted.
    socket_paused_until: Option<Instant>,
    signal_listener: Option<SignalListener>,
}

/// How long no connection is accepted after one could not be.
const REST: Duration = Duration::from_secs(1);

/// The queue of a run to be, and its waker.
pub(crate) fn queue() -> io::Result<(Waker, EventQueue)> {
    let eventfd_handle = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
    let (sender, news) = channel();
    let waker = Waker {
        news: sender,
        eventfd_handle,
    };
    let queue = EventQueue {
        news,
        waker: waker.clone(),
        socket: None,
        socket_paused_until: None,
        signal_listener: None,
    };
    Ok((waker, queue))
}

impl EventQueue {
    /// From now on signals wake the loop, too.
    pub fn listen(&mut self, signal_listener: SignalListener) {
        self.signal_listener = Some(signal_listener);
    }

    /// Whether it hears signals, as that of the only job of a run does.
    pub fn listens(&self) -> bool {
        self.signal_listener.is_some()
    }

    /// From now on the run takes orders.
    pub fn open_socket(&mut self, run: &RunDirectory) -> io::Result<()> {
        let waker = self.waker.clone();
        self.socket = Some(ControlSocket::open(run, move |order| waker.order(order))?);
        Ok(())
    }

    /// LoopEvent that are there.
    pub fn next(&mut self) -> Option<LoopEvent> {
        self.news.try_recv().ok()
    }

    /// Waits for news, until then at most.
    pub fn wait(&mut self, until: Option<Instant>) -> Option<LoopEvent> {
        loop {
            if let Some(news) = self.next() {
                return Some(news);
            }
            if !self.sleep(until) || until.is_some_and(|until| until <= Instant::now()) {
                return self.next();
            }
        }
    }

    /// Handles what has come, without waiting: a loop that is busy must not miss it.
    pub fn poll(&mut self) {
        self.sleep(Some(Instant::now()));
    }

    /// Sleeps until something rings, is heard or stands at the socket, until then at most; false if nothing did.
    fn sleep(&mut self, until: Option<Instant>) -> bool {
        let now = Instant::now();
        let rests = self.socket_paused_until.filter(|rests| *rests > now);
        let mut descriptors = vec![PollFd::from_borrowed_fd(
            self.waker.eventfd_handle.as_fd(),
            PollFlags::IN,
        )];
        descriptors.extend(
            self.signal_listener
                .iter()
                .map(|signal_listener| PollFd::new(signal_listener, PollFlags::IN)),
        );
        let socket = self.socket.iter().filter(|_| rests.is_none());
        descriptors.extend(socket.map(|socket| PollFd::new(socket, PollFlags::IN)));
        let until = until.into_iter().chain(rests).min();
        let Ok(true) = wait_for(&mut descriptors, until) else {
            // A socket that has rested is looked at again.
            return rests.is_some();
        };
        let others = descriptors.iter().skip(1).any(|one| !one.revents().is_empty());
        // Before the news are looked at: who leaves some afterwards rings again.
        let _ = rustix::io::read(&*self.waker.eventfd_handle, &mut [0; 8]);
        if others {
            self.signal_listener
                .iter_mut()
                .for_each(SignalListener::handle_pending);
            if self.socket.iter().any(|socket| socket.admit().is_err()) {
                // No descriptor is left, and the waiting connection would wake the loop again and again.
                self.socket_paused_until = Some(now + REST);
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
        let (waker, mut queue) = queue().unwrap();
        assert!(
            queue
                .wait(Some(Instant::now() + Duration::from_millis(1)))
                .is_none()
        );
        let ringing = thread::spawn(move || {
            for notice in [SignalKind::Interrupt, SignalKind::Quit] {
                assert!(waker.wake(LoopEvent::Signal(notice)));
            }
            waker.order(Order::Stop { now: true })
        });
        assert!(matches!(
            queue.wait(None),
            Some(LoopEvent::Signal(SignalKind::Interrupt))
        ));
        assert!(matches!(
            queue.wait(None),
            Some(LoopEvent::Signal(SignalKind::Quit))
        ));
        let Some(LoopEvent::Order(Order::Stop { now: true }, answer)) = queue.wait(None) else {
            panic!("the order did not arrive");
        };
        answer.send(OrderReply::Done).unwrap();
        assert!(matches!(ringing.join().unwrap(), OrderReply::Done));
        assert!(queue.next().is_none());
    }

    #[test]
    fn who_rings_at_a_run_that_has_ended_learns_so() {
        let (waker, queue) = queue().unwrap();
        drop(queue);
        assert!(!waker.wake(LoopEvent::Signal(SignalKind::Interrupt)));
        assert!(matches!(
            waker.order(Order::Stop { now: false }),
            OrderReply::Done
        ));
        assert!(matches!(waker.order(Order::Suspend), OrderReply::Refused(_)));
    }
}
