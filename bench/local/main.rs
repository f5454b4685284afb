//! How `trainyard run` does against its bars: starting tasks, moving their output, doing nothing.
//!
//! `cargo xtask bench local` builds the release and starts this. Everything is compared with something that runs beside
//! it, in turns, and medians are told: seconds differ between machines and hours, ratios hardly.
//!
//! ```text
//! place (programs, directories) ─▶ starts, throughput, idle ─▶ bars (a table, and whether each bar holds)
//! ```
#![expect(
    clippy::print_stdout,
    reason = "a program for developers; printing is what it does"
)]

mod bars;
mod honcho;
mod idle;
mod lines;
mod place;
mod rounds;
mod starts;
mod throughput;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use bars::Bars;
use place::Place;

const HELP: &str = "\
cargo xtask bench local [PART…] [--rounds N] [--megabytes N] [--seconds N] [--scratch DIR]

  PART             starts, throughput, idle; all of them unless told
  --rounds N       how often each thing is started in turns (15); throughput takes a fifth of it
  --megabytes N    how much each of 8 tasks writes (200)
  --seconds N      how long the idle supervisor is watched (10)
  --scratch DIR    where state and output go (/dev/shm if there is one, else the directory for temporary files)
";

/// What was asked for.
struct Asked {
    parts: Vec<String>,
    rounds: usize,
    megabytes: u64,
    seconds: u64,
    scratch: Option<PathBuf>,
}

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    if let [stage, who, megabytes] = typed.as_slice()
        && stage == lines::STAGE
    {
        return ended(lines::write(who, megabytes).map(|()| true));
    }
    if let Some(asked) = read(&typed) {
        ended(measure(&asked))
    } else {
        println!("{HELP}");
        ExitCode::from(2)
    }
}

fn ended(result: io::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("cannot measure: {error}");
            ExitCode::from(2)
        }
    }
}

fn read(typed: &[String]) -> Option<Asked> {
    let mut asked = Asked {
        parts: Vec::new(),
        rounds: 15,
        megabytes: 200,
        seconds: 10,
        scratch: None,
    };
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "starts" | "throughput" | "idle" => asked.parts.push(word.clone()),
            "--rounds" => asked.rounds = words.next()?.parse().ok()?,
            "--megabytes" => asked.megabytes = words.next()?.parse().ok()?,
            "--seconds" => asked.seconds = words.next()?.parse().ok()?,
            "--scratch" => asked.scratch = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(asked)
}

/// Measures what was asked for; whether every bar holds.
fn measure(asked: &Asked) -> io::Result<bool> {
    let place = Place::find(asked.scratch.as_deref())?;
    println!("state and output: {}", place.scratch().display());
    println!("load before: {}", place::load());
    let wants = |part: &str| asked.parts.is_empty() || asked.parts.iter().any(|asked| asked == part);
    let mut bars = Bars::default();
    if wants("starts") {
        starts::measure(&place, asked.rounds.max(1), &mut bars)?;
    }
    if wants("throughput") {
        throughput::measure(
            &place,
            (asked.rounds / 5).max(1),
            asked.megabytes.max(1),
            &mut bars,
        )?;
    }
    if wants("idle") {
        idle::measure(&place, asked.seconds.max(1), &mut bars)?;
    }
    println!("load after: {}", place::load());
    Ok(bars.tell())
}
