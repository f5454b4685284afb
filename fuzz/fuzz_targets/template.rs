//! Any text is a template or is refused: mistakes have a position inside the text, what is expanded is YAML and the same
//! each time.

#![no_main]

use libfuzzer_sys::fuzz_target;
use trainyard_document::{Source, parse};
use trainyard_expand::expand;
use trainyard_expand::hosts::{Wanted, cast};
use trainyard_expand::template::{Mistake, UserTemplate};

fuzz_target!(|text: &str| {
    let template = match UserTemplate::parse(text) {
        Ok(template) => template,
        Err(mistakes) => return check(&mistakes, text),
    };
    let hosts = ["a", "b", "c", "d"].map(str::to_owned);
    let wanted = Wanted {
        chief: true,
        evaluator: true,
        ..Wanted::default()
    };
    let cast = cast(&hosts, &wanted).expect("four hosts are enough");
    let expanded = expand(&template, &cast, "job");
    assert_eq!(expanded, expand(&template, &cast, "job"));
    match expanded {
        Err(unexpanded) => check(&unexpanded.mistakes, text),
        Ok(made) => {
            // Four tasks may together be more than one source may hold.
            let Ok(source) = Source::from_bytes("made.yaml", made.as_bytes()) else {
                return;
            };
            let (documents, _) = parse(&source);
            assert!(!documents.is_empty());
        }
    }
});

fn check(mistakes: &[Mistake], text: &str) {
    assert!(!mistakes.is_empty());
    for mistake in mistakes {
        assert!(!mistake.message.is_empty());
        assert!(mistake.at.is_none_or(|at| at <= text.len()), "{mistake:?}");
    }
}
