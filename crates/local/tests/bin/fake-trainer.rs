//! A program for the tests of local runs: does what its arguments say, one after the other.
//!
//! `tag NAME` does nothing, and makes its processes easy to find. See [`act`] for the rest.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

type Outcome = Result<Option<u8>, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut words: std::iter::Skip<std::env::Args> = std::env::args().skip(1);
    let mut listeners = Vec::new();
    while let Some(verb) = words.next() {
        match act(&verb, &mut words, &mut listeners) {
            Ok(None) => {}
            Ok(Some(code)) => return ExitCode::from(code),
            Err(error) => {
                let _ = writeln!(io::stderr(), "fake-trainer: {verb}: {error}");
                return ExitCode::from(99);
            }
        }
    }
    ExitCode::SUCCESS
}

fn act(verb: &str, words: &mut impl Iterator<Item = String>, listeners: &mut Vec<TcpListener>) -> Outcome {
    let mut word = || words.next().ok_or("a word is missing");
    let mut out = io::stdout().lock();
    match verb {
        "tag" => drop(word()?),
        "say" => writeln!(out, "{}", word()?)?,
        "shout" => writeln!(io::stderr(), "{}", word()?)?,
        "env" => {
            let name = word()?;
            writeln!(
                out,
                "{name}={}",
                std::env::var(&name).unwrap_or_else(|_| "(unset)".into())
            )?;
        }
        "cat" => out.write_all(&fs::read(word()?)?)?,
        "try-cat" => match fs::read(word()?) {
            Ok(bytes) => out.write_all(&bytes)?,
            Err(error) => writeln!(out, "error: {error}")?,
        },
        "write" => {
            let (path, text) = (word()?, word()?);
            match fs::write(path, text) {
                Ok(()) => writeln!(out, "written")?,
                Err(error) => writeln!(out, "error: {error}")?,
            }
        }
        "list" => {
            let mut names: Vec<_> = fs::read_dir(word()?)?
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            writeln!(out, "{}", names.join(" "))?;
        }
        "where" => writeln!(out, "{}", std::env::current_dir()?.display())?,
        "lines" => lines(&mut out, &word()?, word()?.parse()?)?,
        "long" => long(&mut out, word()?.parse()?)?,
        "raw" => {
            for pair in word()?.as_bytes().chunks(2) {
                out.write_all(&[u8::from_str_radix(str::from_utf8(pair)?, 16)?])?;
            }
            out.flush()?;
        }
        "listen" => {
            let listener = TcpListener::bind(("0.0.0.0", word()?.parse()?))?;
            writeln!(out, "listening on {}", listener.local_addr()?)?;
            listeners.push(listener);
        }
        "connect" => match std::net::TcpStream::connect(word()?) {
            Ok(_) => writeln!(out, "connected")?,
            Err(error) => writeln!(out, "error: {error}")?,
        },
        "child" => again(&word()?, false)?,
        "daemon" => daemon(&word()?, false)?,
        "wiped-daemon" => daemon(&word()?, true)?,
        "leave-session" => drop(rustix::process::setsid()?),
        "ignore-term" => mask(Signal::SIGTERM)?,
        // Over a named pipe: waits for so many bytes, or gives one.
        "meet" => {
            let mut pipe = File::options().read(true).write(true).open(word()?)?;
            pipe.read_exact(&mut vec![0; word()?.parse()?])?;
        }
        "arrive" => fs::write(word()?, "x")?,
        "after" => std::thread::sleep(Duration::from_millis(word()?.parse()?)),
        "hang" => return Ok(hang(None)),
        "end-on-term" => return Ok(hang(Some(word()?.parse()?))),
        "die" => rustix::process::kill_process(
            rustix::process::getpid(),
            rustix::process::Signal::from_named_raw(word()?.parse()?).ok_or("no signal")?,
        )?,
        "exit" => return Ok(Some(word()?.parse()?)),
        other => Err(format!("no such verb: {other}"))?,
    }
    Ok(None)
}

/// Numbered lines of about 100 bytes: `NAME 00000001 xxxx…`.
fn lines(out: &mut impl io::Write, name: &str, count: usize) -> io::Result<()> {
    let mut buffered = io::BufWriter::with_capacity(64 * 1024, out);
    let filling = "x".repeat(80);
    for number in 0..count {
        writeln!(buffered, "{name} {number:08} {filling}")?;
    }
    buffered.flush()
}

fn long(out: &mut impl io::Write, length: usize) -> io::Result<()> {
    let piece = vec![b'y'; 64 * 1024];
    let mut left = length;
    while left > 0 {
        let count = left.min(piece.len());
        out.write_all(&piece[..count])?;
        left -= count;
    }
    out.write_all(b"\n")
}

/// Starts ourselves with other words, given as one with commas between them.
fn again(words: &str, wiped: bool) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words.split(',')).stdin(Stdio::null());
    if wiped {
        command.env_clear();
    }
    command.spawn().map(drop)
}

/// A child in its own session starts the daemon and ends.
fn daemon(words: &str, wiped: bool) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["leave-session", "child", words]);
    if wiped {
        command.env_clear();
    }
    command.status().map(drop)
}

fn mask(signal: Signal) -> nix::Result<()> {
    let mut set = SigSet::empty();
    set.add(signal);
    set.thread_block()
}

/// Waits for ever, or for TERM if there is a code to end with.
fn hang(code: Option<u8>) -> Option<u8> {
    let mut set = SigSet::empty();
    match code {
        None => loop {
            std::thread::park();
        },
        Some(code) => {
            set.add(Signal::SIGTERM);
            let _ = set.thread_block();
            let _ = writeln!(io::stdout(), "ready");
            let _ = set.wait();
            Some(code)
        }
    }
}
