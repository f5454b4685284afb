//! Templates over hosts. Each task is told about all, so the output grows with the square of the hosts: it is the bytes
//! a second that must not fall.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use trainyard_expand::expand;
use trainyard_expand::hosts::{Cast, Wanted, cast};
use trainyard_expand::template::UserTemplate;

const HOSTS: [usize; 3] = [10, 100, 1_000];

fn main() {
    divan::main();
}

/// simpletfjob's own example, on so many hosts with one parameter server in ten.
fn input(hosts: usize) -> Option<(UserTemplate, Cast)> {
    let template = UserTemplate::parse(include_str!("../../crates/expand/tests/seed/mnist.yaml")).ok()?;
    let names: Vec<String> = (0..hosts).map(|at| format!("node-{at:04}.example.com")).collect();
    let wanted = Wanted {
        psn: hosts / 10,
        ..Wanted::default()
    };
    Some((template, cast(&names, &wanted).ok()?))
}

/// From a template that has been read to the manifest, checked.
#[divan::bench(args = HOSTS)]
fn manifest(bencher: Bencher, hosts: usize) {
    let Some((template, cast)) = input(hosts) else {
        return;
    };
    let make = || expand(black_box(&template), &cast, "mnist").map_or(0, |text| text.len());
    bencher.counter(BytesCount::new(make())).bench(make);
}
