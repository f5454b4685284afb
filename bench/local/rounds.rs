//! Several things measured in turns, so that whatever else the machine does hits all of them.

use std::io;
use std::time::Duration;

/// A thing that is measured: what it is called, and how it is done once.
pub struct Contender<'a> {
    /// Its name.
    pub name: &'static str,
    /// Does it once, and says how long that took.
    pub once: Box<dyn FnMut() -> io::Result<Duration> + 'a>,
}

impl<'a> Contender<'a> {
    /// A thing of that name.
    pub fn new(name: &'static str, once: impl FnMut() -> io::Result<Duration> + 'a) -> Self {
        Self {
            name,
            once: Box::new(once),
        }
    }
}

/// The median time of each, in their order, after one turn that does not count.
pub fn medians(contenders: &mut [Contender<'_>], rounds: usize) -> io::Result<Vec<Duration>> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..=rounds {
        for (contender, times) in contenders.iter_mut().zip(&mut times) {
            let time = (contender.once)()?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.into_iter().map(median).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// How often `of` goes into `this`.
pub fn ratio(this: Duration, of: Duration) -> f64 {
    this.as_secs_f64() / of.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// As people read it.
pub fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
