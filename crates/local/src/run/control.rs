//! The socket on which a run takes orders: the run's side and the client's.
//!
//! One connection, one order, one answer. The socket is a file in the run's directory, for its owner alone.

pub mod order;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use self::order::{Order, OrderReply};
use super::json_line;
use super::store::directory::RunDirectory;

/// The most bytes of an order.
const LONGEST: u64 = 64 * 1024;

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// How long a reply may take: a run decides within milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// An order that did not reach a run.
#[derive(Debug, thiserror::Error)]
pub enum NotReached {
    /// Nothing listens: the run has ended.
    #[error("the run does not answer: it has ended, or is just about to")]
    NotListening,
    /// It heard the order and ended before it answered.
    #[error("the run ended before it answered")]
    NoAnswer,
    /// Something else was wrong.
    #[error("cannot talk to the run: {0}")]
    Socket(#[from] io::Error),
}

/// The side of the run.
pub struct ControlSocket {
    listener: UnixListener,
    obey: Arc<Obey>,
}

/// Answers an order.
type Obey = dyn Fn(Order) -> OrderReply + Send + Sync;

impl fmt::Debug for ControlSocket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ControlSocket").field(&self.listener).finish()
    }
}

impl ControlSocket {
    /// From now on orders may come; `obey` answers each.
    pub fn open(
        run: &RunDirectory,
        obey: impl Fn(Order) -> OrderReply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let path = run.socket();
        // A socket that a killed run has left behind.
        let _ = fs::remove_file(&path);
        let listener = reachable(&path, bind)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            obey: Arc::new(obey),
        })
    }

    /// Accepts a connection, if there is one. Each has a thread of its own: a client that sends nothing must not
    /// keep the others waiting, and a client waits for its reply. Without a thread the connection is closed:
    /// the client may try again, and signals need no thread. After an error the connection still waits.
    pub fn admit(&self) -> io::Result<()> {
        let connection = match self.listener.accept() {
            Ok((connection, _)) => connection,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        let obey = Arc::clone(&self.obey);
        let builder = thread::Builder::new().name("orders".into());
        let _ = builder
            .stack_size(256 * 1024)
            .spawn(move || answer(&connection, &*obey));
        Ok(())
    }
}

/// Readable when a connection waits.
impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

/// A socket file for its owner alone, from its first moment on: it takes its mode from the socket.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let socket = socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// Fails if the client has gone.
fn answer(mut connection: &UnixStream, obey: &Obey) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut line = Vec::new();
    BufReader::new(connection.take(LONGEST)).read_until(b'\n', &mut line)?;
    let answer = match serde_json::from_slice(&line) {
        Ok(order) => obey(order),
        Err(error) => OrderReply::Refused(format!("this version does not know the order: {error}")),
    };
    connection.write_all(&json_line(&answer)?)
}

/// Gives a run an order and waits for its answer.
pub fn send(run: &RunDirectory, order: &Order) -> Result<OrderReply, NotReached> {
    let mut connection = match reachable(&run.socket(), |path| UnixStream::connect(path)) {
        Ok(connection) => connection,
        Err(error) => {
            return Err(match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NotReached::NotListening,
                _ => error.into(),
            });
        }
    };
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.write_all(&json_line(order)?)?;
    let mut line = String::new();
    BufReader::new(&connection).read_line(&mut line)?;
    if line.is_empty() {
        return Err(NotReached::NoAnswer);
    }
    Ok(serde_json::from_str(&line).map_err(io::Error::from)?)
}

/// The path of a socket may have 107 bytes and no more; through its directory's descriptor it is short.
fn reachable<T>(path: &Path, use_it: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let directory = File::open(path.parent().unwrap_or_else(|| Path::new("/")))?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    use_it(&short.join(path.file_name().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use rustix::event::{PollFd, PollFlags};
    use trainyard_core::TaskId;

    use super::*;
    use crate::run::store::directory::Home;
    use crate::system::poll::wait_for;

    #[test]
    fn an_order_gets_its_answer_however_long_the_path_is() {
        let scratch = tempfile::tempdir().unwrap();
        let deep = scratch.path().join("d".repeat(150));
        let run = Home::at(deep).job("mnist").begin().unwrap();
        let kill = Order::Kill {
            task: TaskId::new("worker", 1),
        };
        assert!(matches!(send(&run, &kill), Err(NotReached::NotListening)));
        let mode = |run: &RunDirectory| fs::metadata(run.socket()).unwrap().permissions().mode() & 0o777;
        let socket = ControlSocket::open(&run, |order| match order {
            Order::Kill { .. } => OrderReply::Done,
            other => OrderReply::Refused(format!("{other:?}")),
        })
        .unwrap();
        // A client that sends nothing does not delay others.
        let silent = reachable(&run.socket(), |path| UnixStream::connect(path)).unwrap();
        let porter = thread::spawn(move || {
            for _ in 0..3 {
                wait_for(&mut [PollFd::new(&socket, PollFlags::IN)], None).unwrap();
                socket.admit().unwrap();
            }
        });
        assert_eq!(mode(&run), 0o600);
        assert_eq!(send(&run, &kill).unwrap(), OrderReply::Done);
        assert_eq!(
            send(&run, &Order::Suspend).unwrap(),
            OrderReply::Refused("Suspend".into())
        );
        porter.join().unwrap();
        drop(silent);
    }
}
