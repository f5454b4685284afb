//! Moving output: 8 tasks that write as fast as they can, through prefixing into a file.
//!
//! `trainyard` writes everything twice, since it keeps a log for each task as well; `cat` moves the bytes and nothing
//! else. honcho is given a hundredth, or it would take all day: what counts is bytes a second.

use std::fs::{self, File};
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bars::Bars;
use crate::honcho;
use crate::lines;
use crate::place::{Place, succeed};
use crate::rounds::{Contender, medians};

const WRITERS: usize = 8;

const LEAST: f64 = 10.0;

/// How much less honcho has to do.
const HUNDREDTH: u64 = 100;

/// Measures all three, and checks every line that came through `trainyard`.
pub fn measure(place: &Place, rounds: usize, megabytes: u64, bars: &mut Bars) -> io::Result<()> {
    let honcho = honcho::find();
    if let Err(error) = &honcho {
        println!("honcho cannot be had: {error}");
    }
    let few = (megabytes / HUNDREDTH).max(1);
    let mut contenders = vec![
        Contender::new("trainyard", || through_trainyard(place, megabytes)),
        Contender::new("cat", || through_cat(place, megabytes)),
    ];
    if let Ok(honcho) = &honcho {
        contenders.push(Contender::new("honcho", || {
            honcho::run(honcho, place, &writers("task"), few)
        }));
    }
    let times = medians(&mut contenders, rounds)?;
    let speed = |megabytes: u64, time: Duration| {
        let moved = f64::from(u32::try_from(megabytes * WRITERS as u64).unwrap_or(u32::MAX));
        moved / time.as_secs_f64()
    };
    let ours = speed(megabytes, times[0]);
    let cat = speed(megabytes, times[1]);
    println!("output: trainyard {ours:.0} MB/s, cat {cat:.0} MB/s, every line whole and in its place");
    let what = format!("{WRITERS} × {megabytes} MB of lines into a file");
    let shown = |speed: f64| format!("{speed:.0} MB/s");
    bars.add(
        &what,
        (shown(ours), format!("`cat` {}", shown(cat))),
        format!("{:.2}×", ours / cat),
        ("-", None),
    );
    if let Some(time) = times.get(2) {
        let theirs = speed(few, *time);
        let compared = format!("honcho, a hundredth of it, {theirs:.1} MB/s");
        let ratio = ours / theirs;
        bars.add(
            &what,
            (shown(ours), compared),
            format!("{ratio:.0}×"),
            ("at least 10×", Some(ratio >= LEAST)),
        );
    }
    Ok(())
}

fn writers(role: &str) -> Vec<String> {
    (0..WRITERS).map(|number| format!("{role}-{number}")).collect()
}

/// The writers learn from their environment who they are: the manifest is the same for all.
fn through_trainyard(place: &Place, megabytes: u64) -> io::Result<Duration> {
    let script = format!(
        "exec '{}' {} $TRAINYARD_ROLE-$TRAINYARD_INDEX {megabytes}",
        place.ourselves().display(),
        lines::STAGE
    );
    let argv = ["/bin/sh", "-c", &script].map(str::to_owned);
    let manifest = place.manifest("throughput", WRITERS, &argv)?;
    let output = place.scratch().join("prefixed");
    let took = succeed(
        place
            .trainyard()
            .arg("run")
            .arg(&manifest)
            .stdout(File::create(&output)?),
    )?;
    lines::check(&output, SEPARATOR, &writers("worker"), megabytes)?;
    fs::remove_file(output)?;
    succeed(place.trainyard().args(["rm", "throughput"]))?;
    Ok(took)
}

/// Between a prefix and its line, where the locale is not UTF-8.
const SEPARATOR: &str = " | ";

fn through_cat(place: &Place, megabytes: u64) -> io::Result<Duration> {
    let one = |who: String| {
        format!(
            "'{}' {} {who} {megabytes} | cat > '{}' & ",
            place.ourselves().display(),
            lines::STAGE,
            place.scratch().join(&who).display()
        )
    };
    let script: String = writers("cat").into_iter().map(one).collect();
    let took = succeed(
        Command::new("sh")
            .args(["-c", &format!("{script}wait")])
            .stdin(Stdio::null()),
    )?;
    writers("cat")
        .iter()
        .try_for_each(|who| fs::remove_file(place.scratch().join(who)))?;
    Ok(took)
}
