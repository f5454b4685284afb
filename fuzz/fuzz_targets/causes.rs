//! Any output gives a cause that is bounded, belongs to the closed set of classes, and holds no control characters.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainyard_causes::{Ended, MOST_TEXT, World, class, entry, find, taken_port};

fuzz_target!(|input: (Option<i32>, bool, &[u8])| {
    let (code, cluster, output) = input;
    let world = if cluster { World::Cluster } else { World::Machine };
    let ended = Ended { output, code, world, ..Ended::default() };
    let _ = taken_port(&ended);
    let Some(cause) = find(&ended) else { return };
    assert!(class(&cause.class).is_some());
    assert!(cause.code.is_none_or(|code| entry(&code).is_some()));
    let texts = [Some(cause.sentence), cause.place, cause.help];
    for text in texts.into_iter().flatten() {
        assert!(text.len() <= MOST_TEXT);
        assert!(text.chars().all(|it| !it.is_control() || it == '\t'));
    }
});
