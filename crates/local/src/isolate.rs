//! A network of the job's own: loopback and nothing else.
//!
//! TensorFlow's servers listen on every interface, whatever address they are given; behind this wall nobody else
//! reaches them. Called by [`namespace`](crate::namespace) once the wall stands.

use std::io;

use rustix::buffer::spare_capacity;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

const NEW_LINK: u16 = 16;
const REQUEST_AND_ACKNOWLEDGE: u16 = 5;
const LOOPBACK_INDEX: i32 = 1;
const UP: u32 = 1;

/// Brings up the loopback interface of this network namespace.
pub fn loopback_up() -> io::Result<()> {
    // No protocol is protocol 0, and that is the one for links and addresses.
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sendto(
        &socket,
        &set_link_up(),
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = Vec::with_capacity(1024);
    recv(&socket, spare_capacity(&mut answer), RecvFlags::empty())?;
    accepted(&answer)
}

/// A netlink message of 32 bytes: a header of 16, and the interface's index and flags.
fn set_link_up() -> Vec<u8> {
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend(NEW_LINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    message.extend(1_u32.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message
}

/// The answer's error number stands after its header; 0 means done.
fn accepted(answer: &[u8]) -> io::Result<()> {
    match answer.get(16..20).map(<[u8; 4]>::try_from) {
        Some(Ok(number)) => match i32::from_ne_bytes(number) {
            0 => Ok(()),
            number => Err(io::Error::from_raw_os_error(number.saturating_abs())),
        },
        _ => Err(io::Error::other("the kernel's answer is too short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_as_long_as_it_says() {
        let message = set_link_up();
        assert_eq!(message.len(), 32);
        assert_eq!(message[..4], 32_u32.to_ne_bytes());
    }

    #[test]
    fn an_answer_with_an_error_is_an_error() {
        let mut answer = vec![0; 36];
        assert!(accepted(&answer).is_ok());
        answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(accepted(&answer).unwrap_err().raw_os_error(), Some(1));
        assert!(accepted(&answer[..10]).is_err());
    }
}
