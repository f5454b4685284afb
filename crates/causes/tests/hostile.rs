//! Any bytes give an answer that is bounded and can be shown.

use proptest::prelude::*;
use trainyard_causes::{
    Ended, MOST_TEXT, MemoryEvidence, PodEvidence, World, class, classes, entries, entry, find, find_in_pod,
    of_pod,
};

/// Parts of real output, and bytes of all sorts between them.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"Traceback (most recent call last):\n".to_vec()),
        Just(b"  File \"/a/train.py\", line 2, in <module>\n".to_vec()),
        Just(b"  File \"\", line 99999999999999999999\n".to_vec()),
        Just(b"ValueError: in user code:\n".to_vec()),
        Just(b"ModuleNotFoundError: No module named '\n".to_vec()),
        Just(b"tf.InvalidArgumentError: Graph execution error:\n".to_vec()),
        Just(b"\nDuring handling of the above exception, another exception occurred:\n\n".to_vec()),
        Just(b"Exception ignored in: x\n".to_vec()),
        Just(b"{{{{ [Op:\r\x1b[\n".to_vec()),
        Just("résumé \u{202e}\u{1f600}…\n".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..60),
        Just(vec![b'a'; 3000]),
    ];
    proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn whatever_was_printed_the_cause_is_bounded_and_can_be_shown(
        output in output(),
        code in prop_oneof![Just(None), any::<i32>().prop_map(Some), (0..256).prop_map(Some)],
        memory in 0..4_usize,
        cluster in any::<bool>(),
        reason in prop_oneof![
            Just("StartError"), Just("Evicted"), Just("ErrImagePull"), Just("Unschedulable"), Just("FailedCreatePod"),
            Just("VolumesNotReady"), Just("Error"), Just("CreateContainerConfigError"),
        ].prop_map(str::to_owned).boxed().prop_union(".{0,40}".boxed()),
        probed in any::<bool>(),
    ) {
        let memory = [
            MemoryEvidence::Unknown,
            MemoryEvidence::Enough,
            MemoryEvidence::LimitReached,
            MemoryEvidence::MachineFull,
        ][memory];
        let world = if cluster { World::Cluster } else { World::Machine };
        let ended = Ended { output: &output, code, memory, world };
        let message = String::from_utf8_lossy(&output);
        let pod = PodEvidence { reason: &reason, probed };
        for cause in [find(&ended), find_in_pod(&ended, pod), of_pod(&reason, &message)].into_iter().flatten() {
            let texts = [Some(&cause.sentence), cause.place.as_ref(), cause.help.as_ref()];
            for text in texts.into_iter().flatten() {
                prop_assert!(text.len() <= MOST_TEXT, "{text}");
                prop_assert!(!text.is_empty());
                prop_assert!(text.chars().all(|it| !it.is_control() || it == '\t'), "{text:?}");
            }
            prop_assert!(class(&cause.class).is_some());
            prop_assert!(cause.code.is_none_or(|code| entry(&code).is_some()));
        }
    }
}

#[test]
fn megabytes_take_no_longer_than_what_is_looked_at() {
    let long = "  File \"/a/train.py\", line 2, in f\n".repeat(200_000) + "ValueError: bad\n";
    let cause = find(&Ended {
        output: long.as_bytes(),
        code: Some(1),
        ..Ended::default()
    })
    .unwrap();
    assert_eq!(cause.headline(), "ValueError: bad (train.py:2)");
}

#[test]
fn the_catalogue_is_a_closed_set_of_distinct_entries() {
    assert!(classes().count() <= 50, "classes are values of a metric");
    let mut seen: Vec<String> = classes()
        .map(str::to_owned)
        .chain(entries().map(trainyard_causes::Entry::code))
        .collect();
    seen.sort();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    for entry in entries() {
        assert!(!entry.title.ends_with('.'), "{entry}");
        assert!(
            entry.explanation.ends_with('.') && entry.explanation.len() > 60,
            "{entry}"
        );
    }
    assert_eq!(entry("tr1").unwrap().class, "module-missing");
    for text in ["", "TR", "TR9999", "1", "TR+1", "TRx"] {
        assert!(entry(text).is_none(), "{text}");
    }
}
