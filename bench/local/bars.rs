//! What was measured, and whether it is good enough.

/// Every figure with its bar.
#[derive(Debug, Default)]
pub struct Bars(Vec<Bar>);

#[derive(Debug)]
struct Bar {
    what: String,
    measured: String,
    compared: String,
    ratio: String,
    wanted: String,
    /// None if nothing is asked of it.
    holds: Option<bool>,
}

impl Bars {
    /// One figure: what was measured, what it is compared with, and whether that is good enough.
    pub fn add(
        &mut self,
        what: &str,
        (measured, compared): (String, String),
        ratio: String,
        wanted: (&str, Option<bool>),
    ) {
        self.0.push(Bar {
            what: what.to_owned(),
            measured,
            compared,
            ratio,
            wanted: wanted.0.to_owned(),
            holds: wanted.1,
        });
    }

    /// Prints the table; whether every bar holds.
    pub fn tell(&self) -> bool {
        println!("\n| what | trainyard | compared with | ratio | bar | |\n|---|---|---|---|---|---|");
        for bar in &self.0 {
            let verdict = match bar.holds {
                None => "",
                Some(true) => "holds",
                Some(false) => "MISSED",
            };
            let Bar {
                what,
                measured,
                compared,
                ratio,
                wanted,
                ..
            } = bar;
            println!("| {what} | {measured} | {compared} | {ratio} | {wanted} | {verdict} |");
        }
        self.0.iter().all(|bar| bar.holds != Some(false))
    }
}
