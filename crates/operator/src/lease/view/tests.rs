use super::*;

/// A Lease as another operator wrote it.
fn lease(holder: &str, version: u64) -> Lease {
    let mut lease = Lease::default();
    lease.metadata.resource_version = Some(version.to_string());
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(holder.into()),
        lease_duration_seconds: Some(15),
        lease_transitions: Some(3),
        ..LeaseSpec::default()
    });
    lease
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn known(identity: &str, lease: Option<Lease>, at: Instant) -> LeaseView {
    let mut known = LeaseView::new(identity.into());
    known.see(lease, at);
    known
}

#[track_caller]
fn written(turn: LeaseStep) -> Lease {
    match turn {
        LeaseStep::Write(lease) => *lease,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn waits_until(turn: &LeaseStep, until: Instant) {
    assert!(matches!(turn, LeaseStep::Wait(it) if *it == until), "{turn:?}");
}

#[test]
fn nothing_is_done_before_it_is_known_whether_there_is_one() {
    let now = Instant::now();
    assert!(matches!(LeaseView::new("a".into()).turn(now), LeaseStep::Wait(_)));
}

#[test]
fn one_that_is_not_there_is_created() {
    let now = Instant::now();
    let made = written(known("a", None, now).turn(now));
    assert_eq!(made.metadata.resource_version, None);
    assert_eq!(held_by(&made), Some("a"));
    assert_eq!(made.spec.unwrap().lease_transitions, Some(0));
}

#[test]
fn one_that_is_held_is_waited_for_by_our_own_clock() {
    let now = Instant::now();
    let mut known = known("a", Some(lease("b", 7)), now);
    waits_until(&known.turn(now), now + LASTS);
    // The holder renews it.
    known.see(Some(lease("b", 8)), now + seconds(5));
    waits_until(&known.turn(now + LASTS), now + seconds(5) + LASTS);
    // The same again, and older news, are no news.
    known.see(Some(lease("b", 8)), now + seconds(12));
    known.see(Some(lease("b", 6)), now + seconds(12));
    let taken = written(known.turn(now + seconds(20)));
    assert_eq!(held_by(&taken), Some("a"));
    assert_eq!(taken.metadata.resource_version.as_deref(), Some("8"));
    assert_eq!(taken.spec.unwrap().lease_transitions, Some(4));
}

#[test]
fn one_that_was_given_back_is_taken_at_once() {
    let now = Instant::now();
    let back = returned(lease("b", 9));
    assert_eq!(held_by(&back), None);
    written(known("a", Some(back), now).turn(now));
}

#[test]
fn our_own_is_renewed_and_given_up_in_time() {
    let now = Instant::now();
    let mut known = known("a", None, now);
    assert!(!known.leads());
    known.wrote(lease("a", 10), now);
    assert!(known.leads());
    waits_until(&known.turn(now), now + RENEWS);
    let renewed = written(known.turn(now + RENEWS));
    assert_eq!(renewed.metadata.resource_version.as_deref(), Some("10"));
    // It fails, again and again.
    known.failed(now + seconds(6));
    waits_until(&known.turn(now + RENEWS), now + seconds(6));
    known.failed(now + seconds(30));
    waits_until(&known.turn(now + seconds(9)), now + GIVES_UP);
    assert!(matches!(known.turn(now + GIVES_UP), LeaseStep::Lost));
    // No other operator may act before we have stopped.
    assert!(GIVES_UP < LASTS);
}

#[test]
fn one_of_our_name_that_we_did_not_write_is_not_ours() {
    let now = Instant::now();
    assert!(!known("a", Some(lease("a", 1)), now).leads());
}

#[test]
fn one_that_somebody_took_is_not_ours_any_more() {
    let now = Instant::now();
    let mut known = known("a", None, now);
    known.wrote(lease("a", 10), now);
    known.see(Some(lease("b", 11)), now);
    assert!(!known.leads());
    waits_until(&known.turn(now), now + LASTS);
}
