//! From a port of the machine into the cluster's network.
//!
//! A socket belongs to the network in which it was made. The listener was made outside and is handed in, so a
//! process inside the cluster's network that accepts from it joins the two.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Passes every connection on, each by two threads, as long as this process lives.
pub fn forward(listener: TcpListener, to: SocketAddr) -> io::Result<()> {
    let accept = move || {
        for connection in listener.incoming().flatten() {
            // A connection that cannot be passed on is closed.
            let _ = join(connection, to);
        }
    };
    let builder = thread::Builder::new().name("forward".into());
    builder.spawn(accept).map(drop)
}

fn join(near: TcpStream, to: SocketAddr) -> io::Result<()> {
    let far = TcpStream::connect(to)?;
    for stream in [&near, &far] {
        stream.set_nodelay(true)?;
    }
    let (near_again, far_again) = (near.try_clone()?, far.try_clone()?);
    one_way(near, far)?;
    one_way(far_again, near_again)
}

fn one_way(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    let copy = move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    let builder = thread::Builder::new()
        .name("forward".into())
        .stack_size(64 * 1024);
    builder.spawn(copy).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    #[test]
    fn what_is_said_and_answered_passes_and_so_does_the_end() {
        let local = || TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (server, door) = (local(), local());
        let address = door.local_addr().unwrap();
        forward(door, server.local_addr().unwrap()).unwrap();
        let mut caller = TcpStream::connect(address).unwrap();
        caller.write_all(b"question").unwrap();
        caller.shutdown(Shutdown::Write).unwrap();
        let (mut called, _) = server.accept().unwrap();
        let mut heard = String::new();
        called.read_to_string(&mut heard).unwrap();
        called.write_all(b"answer").unwrap();
        drop(called);
        let mut answer = String::new();
        caller.read_to_string(&mut answer).unwrap();
        assert_eq!((heard.as_str(), answer.as_str()), ("question", "answer"));
    }
}
