//! Standard output and standard error as they are written, and the footer that stays below what is written.
//!
//! While a footer is shown, what goes to its terminal is collected for a frame and written at once: the footer taken
//! away, the lines, the footer again. So it does not flicker, and fast output is not slowed down by it. Without a
//! footer every block is written as it comes.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use trainyard_local::run::timestamp::Timestamp;

use super::activity::Activity;
use super::display::Message;
use super::footer::{self, JobRows};
use super::sentences;
use super::view::View;

/// Where bytes go.
pub type Sink = Box<dyn Write + Send>;

/// Asks how many columns and rows the terminal has.
pub type Size = Box<dyn Fn() -> Option<(usize, usize)> + Send>;

/// A footer is drawn at most once in this time.
pub const FRAME: Duration = Duration::from_millis(40);

/// Programs that say nothing are looked at from outside this often.
const BETWEEN_LOOKS: Duration = Duration::from_millis(900);

/// With this many bytes collected, the frame is drawn at once.
const FULL: usize = 256 * 1024;

/// The size to assume if the terminal does not report one.
const USUAL: (usize, usize) = (80, 24);

/// Both streams and the footer.
pub struct Streams {
    view: View,
    out: Sink,
    err: Sink,
    /// Standard output cannot be written any more, and a message has said so.
    lost: bool,
    size: Size,
    jobs: Vec<JobRows>,
    footer: Footer,
    /// When programs were last looked at from outside.
    looked: Option<Instant>,
}

/// What is on the terminal below the lines.
#[derive(Default)]
struct Footer {
    wanted: bool,
    /// The widths of its lines; none if it is not there.
    drawn: Vec<usize>,
    text: String,
    /// Lines that go above it with the next frame.
    frame: Vec<u8>,
    last: Option<Instant>,
}

impl Streams {
    /// Streams without a footer yet.
    pub fn new(view: View, out: Sink, err: Sink, size: Size) -> Self {
        let footer = Footer {
            wanted: view.has_footer(),
            ..Footer::default()
        };
        Self {
            view,
            out,
            err,
            lost: false,
            size,
            jobs: Vec::new(),
            footer,
            looked: None,
        }
    }

    /// Adds a job to the footer; returns its number.
    pub fn add_job(&mut self, name: &str, activity: Arc<Activity>) -> usize {
        self.jobs.push(JobRows::new(name, activity));
        self.jobs.len() - 1
    }

    /// Shows what was queued.
    pub fn show(&mut self, message: Message) {
        match message {
            Message::Out(bytes) => self.out(&bytes),
            Message::Err(bytes) => self.err(&bytes),
            Message::Began { job, at } => self.change(job, |rows| rows.began = Some(at)),
            Message::Tasks { job, tasks } => self.change(job, |rows| rows.tasks = tasks),
            Message::Ended { job } => self.change(job, |rows| rows.ended = true),
        }
    }

    fn change(&mut self, job: usize, change: impl FnOnce(&mut JobRows)) {
        if let Some(rows) = self.jobs.get_mut(job) {
            change(rows);
        }
    }

    /// Writes to standard output.
    pub fn out(&mut self, bytes: &[u8]) {
        if self.footer.wanted && self.view.one_terminal {
            return self.collect(bytes);
        }
        if self.lost {
            return;
        }
        if let Err(error) = write_all(&mut self.out, bytes) {
            self.lost = true;
            let text = sentences::output_lost(&error);
            let block = sentences::block(&self.view, sentences::NAME.len(), Timestamp::now(), &text);
            self.err(block.as_bytes());
        }
    }

    /// Writes to standard error.
    pub fn err(&mut self, bytes: &[u8]) {
        if self.footer.wanted {
            self.collect(bytes);
        } else {
            // There is no other place for this error.
            let _ = write_all(&mut self.err, bytes);
        }
    }

    fn collect(&mut self, bytes: &[u8]) {
        self.footer.frame.extend_from_slice(bytes);
        let due = self.footer.last.is_none_or(|last| last.elapsed() >= FRAME);
        if due || self.footer.frame.len() >= FULL {
            self.draw(true);
        }
    }

    /// Whether lines wait for the next frame.
    pub fn waits(&self) -> bool {
        !self.footer.frame.is_empty()
    }

    /// Draws the footer as things stand now, if there is one and it has changed.
    pub fn refresh(&mut self) {
        if self.footer.wanted {
            if self.looked.is_none_or(|looked| looked.elapsed() >= BETWEEN_LOOKS) {
                self.looked = Some(Instant::now());
                self.jobs.iter().for_each(JobRows::look);
            }
            self.draw(true);
        }
    }

    /// Writes what is left and takes the footer away for good.
    pub fn close(&mut self) {
        if self.footer.wanted {
            self.draw(false);
            self.footer.wanted = false;
        }
    }

    fn draw(&mut self, with_footer: bool) {
        let (columns, rows) = (self.size)().unwrap_or(USUAL);
        let lines = if with_footer {
            footer::lines(&self.jobs, Timestamp::now(), columns, rows)
        } else {
            Vec::new()
        };
        let styled: Vec<String> = lines.iter().map(footer::Line::styled).collect();
        let text = self.view.dress(&styled.join("\n"), self.view.err);
        self.footer.last = Some(Instant::now());
        if self.footer.frame.is_empty() && text == self.footer.text {
            return;
        }
        let mut bytes = erase(&self.footer.drawn, columns).into_bytes();
        bytes.append(&mut self.footer.frame);
        bytes.extend_from_slice(text.as_bytes());
        let _ = write_all(&mut self.err, &bytes);
        self.footer.text = text;
        self.footer.drawn = lines.iter().map(footer::Line::width).collect();
    }
}

/// What takes lines of these widths away, the cursor being in the last of them. A terminal that has become narrower
/// since shows them in more rows.
fn erase(widths: &[usize], columns: usize) -> String {
    let rows: usize = widths
        .iter()
        .map(|width| width.div_ceil(columns.max(1)).max(1))
        .sum();
    match rows {
        0 => String::new(),
        1 => "\r\x1b[J".into(),
        _ => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

/// Writes everything, also to a terminal that another program has set to non-blocking.
fn write_all(sink: &mut Sink, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match sink.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_footer_is_erased_by_the_rows_it_takes_now() {
        let table: [(&[usize], usize, &str); 4] = [
            (&[], 80, ""),
            (&[79], 80, "\r\x1b[J"),
            (&[79, 10, 0], 80, "\r\x1b[2A\x1b[J"),
            (&[79, 10], 40, "\r\x1b[2A\x1b[J"),
        ];
        for (widths, columns, expected) in table {
            assert_eq!(erase(widths, columns), expected, "{widths:?} in {columns}");
        }
    }

    #[test]
    fn a_sink_that_is_not_ready_is_tried_again() {
        struct Moody(Vec<io::ErrorKind>, std::sync::mpsc::Sender<u8>);
        impl Write for Moody {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if let Some(kind) = self.0.pop() {
                    return Err(kind.into());
                }
                let _ = self.1.send(bytes[0]);
                Ok(1)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (written, read) = std::sync::mpsc::channel();
        let moods = vec![io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted];
        let mut sink: Sink = Box::new(Moody(moods, written.clone()));
        write_all(&mut sink, b"ab").unwrap();
        let mut broken: Sink = Box::new(Moody(vec![io::ErrorKind::BrokenPipe], written));
        assert!(write_all(&mut broken, b"c").is_err());
        drop((sink, broken));
        assert_eq!(read.iter().collect::<Vec<u8>>(), b"ab");
    }
}
