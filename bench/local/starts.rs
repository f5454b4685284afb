//! Starting tasks that end at once, against a shell that starts the same programs beside each other.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::bars::Bars;
use crate::place::{Place, succeed};
use crate::rounds::{Contender, medians, milliseconds, ratio};

/// Number of tasks, and the most that a run may take, in multiples of the shell's time.
const SIZES: [(usize, f64); 3] = [(1, 3.0), (8, 2.0), (64, 2.0)];

/// The program of every task. It has a full path in the shell as well: a task is a program, not a builtin of a shell.
const PROGRAM: &str = "/bin/true";

/// Measures every size.
pub fn measure(place: &Place, rounds: usize, bars: &mut Bars) -> io::Result<()> {
    for (tasks, most) in SIZES {
        let manifest = place.manifest("starts", tasks, &[PROGRAM.to_owned()])?;
        all_succeed(place, &manifest, tasks)?;
        let mut contenders = [
            Contender::new("trainyard", || {
                succeed(place.trainyard().args(["run", "-q"]).arg(&manifest))
            }),
            Contender::new("sh, programs", || shell(tasks, PROGRAM)),
            Contender::new("sh, its builtin", || shell(tasks, "true")),
        ];
        let times = medians(&mut contenders, rounds)?;
        for (contender, time) in contenders.iter().zip(&times) {
            println!("{tasks} tasks: {}: {}", contender.name, milliseconds(*time));
        }
        let [ours, programs, _] = times[..] else { continue };
        let ratio = ratio(ours, programs);
        bars.add(
            &format!("start and end of {tasks} × `true`"),
            (
                milliseconds(ours),
                format!("`sh -c '{PROGRAM} & … wait'` {}", milliseconds(programs)),
            ),
            format!("{ratio:.1}×"),
            (&format!("at most {most}×"), Some(ratio <= most)),
        );
    }
    Ok(())
}

fn shell(tasks: usize, program: &str) -> io::Result<Duration> {
    let script = format!("{}wait", format!("{program} & ").repeat(tasks));
    succeed(Command::new("sh").args(["-c", &script]).stdin(Stdio::null()))
}

/// A run that left some tasks out would be fast for nothing.
fn all_succeed(place: &Place, manifest: &Path, tasks: usize) -> io::Result<()> {
    let output = place
        .trainyard()
        .args(["run", "-q", "-o", "json"])
        .arg(manifest)
        .stdout(Stdio::piped())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ended = text.matches("\"taskEnded\"").count();
    if output.status.success() && ended == tasks {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "{ended} of {tasks} tasks ended: {text}"
        )))
    }
}
