//! What a run writes to the terminal: whole lines, one write at a time, a footer below them.
//!
//! Output of tasks is written by the thread that read it, so a reader that is slow slows the tasks down and nothing
//! piles up. Messages are only queued: the run must go on deciding while the terminal takes no output, as behind a pager. The
//! thread that writes next writes the queue first, so that messages keep their place among the lines.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use trainyard_core::TaskId;
use trainyard_local::run::event::Reporter;
use trainyard_local::run::store::status::TaskStatus;
use trainyard_local::run::timestamp::Timestamp;

use super::activity::Activity;
use super::prefix::Column;
use super::reporter::JobReporter;
use super::sentences;
use super::streams::{FRAME, Sink, Size, Streams};
use super::view::View;

/// How often a footer is drawn when nothing changes but the time.
const TICK: Duration = Duration::from_secs(1);

/// Buffers that are kept for the next block, and how large each may be.
const BUFFERS: usize = 4;
const LARGEST_BUFFER: usize = 2 * 1024 * 1024;

/// What is waiting to be shown. A job is known by its number, in the order of [`Display::reporter`].
pub enum Message {
    /// Bytes for standard output.
    Out(Vec<u8>),
    /// Bytes for standard error.
    Err(Vec<u8>),
    /// A job has begun.
    Began { job: usize, at: Timestamp },
    /// The state of a job's tasks.
    Tasks { job: usize, tasks: Vec<TaskStatus> },
    /// A job has ended and leaves the footer.
    Ended { job: usize },
}

#[derive(Default)]
struct Queue {
    messages: Vec<Message>,
    /// Something changed that the footer shows, or lines wait for the next frame.
    draw: bool,
    over: bool,
}

/// What the reporters of all jobs share.
pub struct Shared {
    pub view: View,
    /// The column of names.
    pub column: Column,
    streams: Mutex<Streams>,
    queue: Mutex<Queue>,
    wake: Condvar,
    buffers: Mutex<Vec<Vec<u8>>>,
    server: Mutex<Server>,
}

/// The thread that shows what is queued. A quiet run that ends well never needs it.
enum Server {
    /// Nothing was queued yet.
    Unneeded,
    /// It runs; or it could not be started, and messages wait until the next output or the end of the run.
    Called(Option<JoinHandle<()>>),
    /// Everything has been shown.
    Over,
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked while writing has lost a line, not all others.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Queues something to be shown; never waits for the reader.
    pub fn tell(self: &Arc<Self>, message: Message) {
        self.leave(message);
        self.call_server();
        self.wake.notify_one();
    }

    /// Queues something to be shown with the next message, or at the end.
    pub fn leave(&self, message: Message) {
        lock(&self.queue).messages.push(message);
    }

    fn call_server(self: &Arc<Self>) {
        let mut server = lock(&self.server);
        if matches!(*server, Server::Unneeded) {
            let shared = Arc::clone(self);
            let builder = thread::Builder::new()
                .name("display".into())
                .stack_size(256 * 1024);
            *server = Server::Called(builder.spawn(move || shared.serve()).ok());
        }
    }

    /// Writes data now, after what is queued.
    pub fn print(&self, bytes: &[u8]) {
        let mut streams = lock(&self.streams);
        self.show_queued(&mut streams);
        streams.out(bytes);
        let waits = streams.waits();
        drop(streams);
        if waits {
            self.redraw();
        }
    }

    /// Something has changed that the footer shows: it is drawn with the next frame.
    pub fn redraw(&self) {
        let drawn = std::mem::replace(&mut lock(&self.queue).draw, true);
        if !drawn {
            self.wake.notify_one();
        }
    }

    /// Builds a block in a buffer that is used again, and writes it.
    pub fn print_built(&self, build: impl FnOnce(&mut Vec<u8>)) {
        let mut buffer = lock(&self.buffers).pop().unwrap_or_default();
        build(&mut buffer);
        self.print(&buffer);
        buffer.clear();
        if buffer.capacity() <= LARGEST_BUFFER {
            let mut kept = lock(&self.buffers);
            if kept.len() < BUFFERS {
                kept.push(buffer);
            }
        }
    }

    /// Writes a message of ours to standard error.
    pub fn say(self: &Arc<Self>, at: Timestamp, text: &str) {
        let block = sentences::block(&self.view, self.column.width(), at, text);
        self.tell(Message::Err(block.into_bytes()));
    }

    /// Shows everything queued. Taken from the queue only while the streams are locked, so the order is kept.
    fn show_queued(&self, streams: &mut Streams) {
        let messages = std::mem::take(&mut lock(&self.queue).messages);
        for message in messages {
            streams.show(message);
        }
    }

    /// Shows what is queued, as it comes, until it is over.
    fn serve(&self) {
        let footer = self.view.has_footer();
        loop {
            let over = self.await_work(footer);
            let mut streams = lock(&self.streams);
            self.show_queued(&mut streams);
            if over {
                streams.close();
                return;
            }
            streams.refresh();
            drop(streams);
            if footer {
                // No more than one frame at a time.
                let queue = lock(&self.queue);
                drop(self.wake.wait_timeout_while(queue, FRAME, |queue| !queue.over));
            }
        }
    }

    /// Waits until there is something to show, or it is time for the footer; says whether it is over.
    fn await_work(&self, footer: bool) -> bool {
        let idle = |queue: &mut Queue| queue.messages.is_empty() && !queue.draw && !queue.over;
        let queue = lock(&self.queue);
        let longest = if footer { TICK } else { Duration::MAX };
        let waited = self.wake.wait_timeout_while(queue, longest, idle);
        let mut queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        queue.draw = false;
        queue.over
    }
}

/// The terminal, or whatever standard output and standard error are, for all jobs of a run.
///
/// [`Display::finish`] must be called before the process ends: messages are queued.
pub struct Display {
    shared: Arc<Shared>,
}

impl Display {
    /// This process's standard output and standard error.
    pub fn new(view: View) -> Self {
        let size = || {
            let (width, height) = terminal_size::terminal_size_of(io::stderr())?;
            Some((usize::from(width.0), usize::from(height.0)))
        };
        Self::with(view, sink(io::stdout()), sink(io::stderr()), Box::new(size))
    }

    pub(super) fn with(view: View, out: Sink, err: Sink, size: Size) -> Self {
        let column = Column::default();
        column.admit(sentences::NAME);
        let shared = Arc::new(Shared {
            streams: Mutex::new(Streams::new(view.clone(), out, err, size)),
            view,
            column,
            queue: Mutex::default(),
            wake: Condvar::new(),
            buffers: Mutex::default(),
            server: Mutex::new(Server::Unneeded),
        });
        if shared.view.has_footer() {
            // It goes on even while there is nothing to say.
            shared.call_server();
        }
        Self { shared }
    }

    /// The reporter of this job. With several jobs, its name stands before the names of its tasks.
    pub fn reporter(&self, job: &str, several: bool, tasks: &[TaskId]) -> Arc<dyn Reporter> {
        let activity = Arc::new(Activity::default());
        let number = lock(&self.shared.streams).add_job(job, Arc::clone(&activity));
        Arc::new(JobReporter::new(
            Arc::clone(&self.shared),
            (number, activity),
            job,
            several,
            tasks,
        ))
    }

    /// Shows everything that is still to be shown, and takes the footer away.
    pub fn finish(&self) {
        let server = std::mem::replace(&mut *lock(&self.shared.server), Server::Over);
        let Server::Called(Some(thread)) = server else {
            let mut streams = lock(&self.shared.streams);
            self.shared.show_queued(&mut streams);
            return streams.close();
        };
        lock(&self.shared.queue).over = true;
        self.shared.wake.notify_all();
        // If that thread panicked, there is nothing left to show it on.
        let _ = thread.join();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The stream without a buffer of its own: what is written is one write.
fn sink(stream: impl AsFd + Write + Send + 'static) -> Sink {
    match stream.as_fd().try_clone_to_owned() {
        Ok(descriptor) => Box::new(File::from(descriptor)),
        Err(_) => Box::new(stream),
    }
}
