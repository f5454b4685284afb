//! Messages to the kernel about interfaces and addresses: what [`bridge`](crate::sandbox::bridge) needs of rtnetlink, and
//! [`isolation`](crate::sandbox::isolation) for a network with loopback and nothing else.

use std::io;
use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const REQUEST_AND_ACKNOWLEDGE: u16 = 0x005;
const CREATE_NEW: u16 = 0x600;
const NESTED: u16 = 0x8000;
const UP: u32 = 1;
const INET: u8 = 2;
const LOOPBACK: u32 = 1;

/// A socket to the network that the thread was in when it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// The part of a message that says which interface, and whether it is to be up.
pub(crate) fn link(number: u32, up: bool) -> Vec<u8> {
    let flags = if up { UP } else { 0 };
    let mut bytes = vec![0; 4];
    bytes.extend(number.to_ne_bytes());
    // The flags, and which of them are meant.
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes
}

/// Attributes of a message, one after the other, each at a multiple of four bytes.
#[derive(Debug, Default)]
pub(crate) struct Attributes(Vec<u8>);

impl Attributes {
    pub(crate) fn bytes(&mut self, name: u16, value: &[u8]) {
        let length = u16::try_from(value.len() + 4).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(name.to_ne_bytes());
        self.raw(value);
    }

    /// Text with a zero behind it.
    pub(crate) fn text(&mut self, name: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(name, &bytes);
    }

    pub(crate) fn number(&mut self, name: u16, value: u32) {
        self.bytes(name, &value.to_ne_bytes());
    }

    /// Attributes within an attribute.
    pub(crate) fn nest(&mut self, name: u16, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(name | NESTED, &inner.0);
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        // No protocol is protocol 0, and that is the one for links and addresses.
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Makes an interface.
    pub(crate) fn create(&mut self, link: &[u8], attributes: &Attributes) -> io::Result<()> {
        self.ask(NEW_LINK, CREATE_NEW, link, attributes)
    }

    /// Changes an interface.
    pub(crate) fn change(&mut self, link: &[u8], attributes: &Attributes) -> io::Result<()> {
        self.ask(NEW_LINK, 0, link, attributes)
    }

    /// Every new network has a loopback interface, but down.
    pub(crate) fn bring_up_loopback(&mut self) -> io::Result<()> {
        self.change(&link(LOOPBACK, true), &Attributes::default())
    }

    /// Gives an interface an address.
    pub(crate) fn create_address(
        &mut self,
        link: u32,
        prefix: u8,
        attributes: &Attributes,
    ) -> io::Result<()> {
        let mut which = vec![INET, prefix, 0, 0];
        which.extend(link.to_ne_bytes());
        self.ask(NEW_ADDRESS, CREATE_NEW, &which, attributes)
    }

    fn ask(&mut self, kind: u16, flags: u16, which: &[u8], attributes: &Attributes) -> io::Result<()> {
        self.sequence += 1;
        let message = message(kind, flags, self.sequence, which, attributes);
        sendto(
            &self.socket,
            &message,
            SendFlags::empty(),
            &SocketAddrNetlink::new(0, 0),
        )?;
        let mut answer = Vec::with_capacity(4096);
        recv(&self.socket, spare_capacity(&mut answer), RecvFlags::empty())?;
        accepted(&answer)
    }
}

fn message(kind: u16, flags: u16, sequence: u32, which: &[u8], attributes: &Attributes) -> Vec<u8> {
    let length = u32::try_from(16 + which.len() + attributes.0.len()).unwrap_or(u32::MAX);
    let mut message = Vec::new();
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST_AND_ACKNOWLEDGE | flags).to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(which);
    message.extend(&attributes.0);
    message
}

/// The answer's error number stands behind its header; 0 means done.
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
    fn messages_are_as_long_as_they_say_and_nests_are_aligned() {
        let mut attributes = Attributes::default();
        attributes.text(3, "eth0");
        attributes.nest(18, |inner| inner.text(1, "veth"));
        let expected = [
            [9, 0, 3, 0].as_slice(),
            b"eth0\0\0\0\0",
            &[16, 0, 18, 0x80],
            &[9, 0, 1, 0],
            b"veth\0\0\0\0",
        ];
        if cfg!(target_endian = "little") {
            assert_eq!(attributes.0, expected.concat());
        }
        let message = message(NEW_LINK, CREATE_NEW, 7, &link(1, true), &attributes);
        assert_eq!(message[..4], u32::try_from(message.len()).unwrap().to_ne_bytes());
        assert_eq!(message.len(), 16 + 16 + 28);
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
