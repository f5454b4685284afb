//! What wakes the loop of a run: events of its tasks, orders, signals.
//!
//! ```text
//! threads of tasks, of orders, of TensorBoard ─▶ waker ─▶ queue ─▶ loop
//!                         control socket ─▶ orders ─┘ │
//!                      signals ─▶ signal listener ────┘
//! ```
//!
//! The loop polls descriptors, so it accepts orders itself, and with a single job it handles signals, too: a
//! thread for them would cost a short run as much as a task does. With several jobs, one thread handles signals for all.

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

/// An event that the loop handles.
#[derive(Debug)]
pub(crate) enum LoopEvent {
    Task(TaskEvent),
    Signal(SignalKind),
    Order(Order, SyncSender<OrderReply>),
    /// `TensorBoard` answers, or why not.
    TensorBoard(Result<String, String>),
}

/// Sends events to the loop of a run from other threads.
#[derive(Clone, Debug)]
pub(crate) struct Waker {
    news: Sender<LoopEvent>,
    eventfd_handle: Arc<OwnedFd>,
}

impl Waker {
    /// Sends an event and wakes the loop; false if the run has ended.
    pub fn wake(&self, news: LoopEvent) -> bool {
        let left = self.news.send(news).is_ok();
        let _ = rustix::io::write(&*self.eventfd_handle, &1_u64.to_ne_bytes());
        left
    }

    /// Sends an order and waits for the reply.
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

/// The events of one run.
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

/// An empty queue and its waker.
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

    /// Whether it handles signals: true for a run of a single job.
    pub fn listens(&self) -> bool {
        self.signal_listener.is_some()
    }

    /// Opens the control socket.
    pub fn open_socket(&mut self, run: &RunDirectory) -> io::Result<()> {
        let waker = self.waker.clone();
        self.socket = Some(ControlSocket::open(run, move |order| waker.order(order))?);
        Ok(())
    }

    /// The next event, without waiting.
    pub fn next(&mut self) -> Option<LoopEvent> {
        self.news.try_recv().ok()
    }

    /// Waits for an event, until then at most.
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

    /// Waits for the waker, a signal or a connection, until then at most; false if none came.
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
            // After its pause the socket is polled again.
            return rests.is_some();
        };
        let others = descriptors.iter().skip(1).any(|one| !one.revents().is_empty());
        // Before events are taken: one that is sent afterwards wakes the loop again.
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
    fn events_come_in_their_order_and_wake_the_loop() {
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
    fn a_waker_of_a_run_that_has_ended_says_so() {
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
