//! Objects that all tasks share: their addresses, the group that a gang scheduler places together, what their kind needs.

use super::StepContext;
use super::startup::Wanted;
use crate::job::{Clean, Gang};
use crate::observed::{Fixture, FixtureSeen, GangSeen};
use crate::step::Action;

/// Makes what the tasks need before the first of them is created.
pub fn ensure(ctx: &mut StepContext, wanted: &[Wanted]) {
    if !wanted.is_empty() {
        let missing = Fixture::ALL
            .into_iter()
            .filter(|fixture| is_missing(ctx, *fixture));
        let missing: Vec<Action> = missing.map(Action::Ensure).collect();
        ctx.actions.extend(missing);
    }
}

/// Whether tasks may be created: their gang need not be let in first, or has been.
pub fn gang_is_open(ctx: &StepContext) -> bool {
    let holds = ctx.job.gang.as_ref().is_some_and(|gang| gang.hold);
    !holds || matches!(ctx.observed.gang, GangSeen::Open | GangSeen::Broken { .. })
}

/// Removes what nothing needs any more, whether it is as it should be or not. What others made is left alone.
pub fn removes(ctx: &mut StepContext) {
    if ctx.is_active() {
        return;
    }
    let something_lives = ctx.view.all().any(crate::TaskSeen::alive);
    let all_stays = ctx.memory.verdict.is_some() && ctx.job.clean == Clean::None;
    for fixture in Fixture::ALL {
        let ours = matches!(seen(ctx, fixture), Some(FixtureSeen::Ours { .. }));
        // A group takes room in its queue for as long as it is there; the others are used by what still lives.
        if ours && (fixture == Fixture::Gang || !something_lives && !all_stays) {
            ctx.actions.push(Action::Remove(fixture));
        }
    }
}

fn seen(ctx: &StepContext, fixture: Fixture) -> Option<FixtureSeen> {
    let mut all = ctx.observed.fixtures.iter().filter(|(one, _)| *one == fixture);
    // Where a fixture is listed twice, the one that asks for least is believed, whatever the order.
    all.next()
        .map(|first| all.fold(first.1, |most, (_, seen)| most.max(*seen)))
}

fn is_missing(ctx: &StepContext, fixture: Fixture) -> bool {
    // A group that the templates name is made by others: it is joined, and never made.
    let makes_group = |gang: &Gang| gang.existing.is_none();
    let needed = match fixture {
        Fixture::Gang => ctx.job.gang.as_ref().is_some_and(makes_group),
        Fixture::Addresses | Fixture::Extras => true,
    };
    needed
        && match seen(ctx, fixture) {
            None => fixture != Fixture::Extras,
            Some(FixtureSeen::Missing) => true,
            Some(FixtureSeen::Ours { right }) => !right,
            Some(FixtureSeen::Foreign) => false,
        }
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{self, Bench, OURS, observed, running, worker};
    use crate::{Action, Clean, Fixture, FixtureSeen, Gang, GangSeen, Observed, Stamp, Step};

    fn gang(hold: bool, existing: Option<&str>) -> Gang {
        Gang {
            existing: existing.map(Into::into),
            hold,
            ..testing::gang()
        }
    }

    #[test]
    fn addresses_and_group_come_before_the_first_task() {
        let mut bench = Bench::workers(2);
        bench.job.gang = Some(gang(false, None));
        let step = bench.look(None, &Observed::default(), 1);
        let first_create = step
            .actions
            .iter()
            .position(|action| matches!(action, Action::Create { .. }));
        assert_eq!(
            step.actions[..2],
            [Action::Ensure(Fixture::Addresses), Action::Ensure(Fixture::Gang)]
        );
        assert_eq!(first_create, Some(2));
    }

    #[test]
    fn a_holding_gang_creates_tasks_only_once_it_is_let_in() {
        let mut bench = Bench::workers(2);
        bench.job.gang = Some(gang(true, None));
        for (seen, creates) in [(GangSeen::Absent, 0), (GangSeen::Held, 0), (GangSeen::Open, 2)] {
            let observed = Observed {
                gang: seen,
                ..observed(&[])
            };
            let step = bench.look(None, &observed, 1);
            let created = step
                .actions
                .iter()
                .filter(|action| matches!(action, Action::Create { .. }))
                .count();
            assert_eq!(created, creates, "{seen:?}");
        }
    }

    #[test]
    fn a_group_that_the_templates_name_is_never_made() {
        let mut bench = Bench::workers(2);
        bench.job.gang = Some(gang(false, Some("tfjob-group")));
        let step = bench.look(None, &Observed::default(), 1);
        assert!(!step.actions.contains(&Action::Ensure(Fixture::Gang)));
    }

    #[test]
    fn a_suspended_job_gives_its_group_back() {
        let mut bench = Bench::workers(1);
        bench.job.gang = Some(gang(false, None));
        bench.job.clean = Clean::None;
        bench.job.suspend = true;
        let observed = Observed {
            fixtures: vec![(Fixture::Addresses, OURS), (Fixture::Gang, OURS)],
            ..observed(&[running(worker(0), Stamp::default())])
        };
        let step = bench.look(None, &observed, 1);
        assert!(step.actions.contains(&Action::Remove(Fixture::Gang)));
        assert!(
            !step.actions.contains(&Action::Remove(Fixture::Addresses)),
            "something still lives"
        );
    }
    fn with(bench: &Bench, fixture: Fixture, seen: Option<FixtureSeen>) -> Step {
        let mut fixtures = vec![(Fixture::Addresses, OURS)];
        fixtures.retain(|(one, _)| *one != fixture);
        fixtures.extend(seen.map(|seen| (fixture, seen)));
        let observed = Observed {
            fixtures,
            ..observed(&[])
        };
        bench.look(None, &observed, 1)
    }

    #[test]
    fn what_is_made_and_removed_depends_on_whose_it_is() {
        let wrong = FixtureSeen::Ours { right: false };
        let rows = [
            (Fixture::Addresses, None, true, false),
            (Fixture::Addresses, Some(wrong), true, true),
            (Fixture::Addresses, Some(OURS), false, true),
            (Fixture::Gang, None, true, false),
            (Fixture::Gang, Some(wrong), true, true),
            (Fixture::Gang, Some(OURS), false, true),
            (Fixture::Gang, Some(FixtureSeen::Foreign), false, false),
            (Fixture::Extras, None, false, false),
            (Fixture::Extras, Some(FixtureSeen::Missing), true, false),
            (Fixture::Extras, Some(wrong), true, true),
            (Fixture::Extras, Some(OURS), false, true),
            (Fixture::Extras, Some(FixtureSeen::Foreign), false, false),
        ];
        for (fixture, seen, ensures, removes) in rows {
            let mut bench = Bench::workers(1);
            bench.job.gang = Some(gang(false, None));
            let active = with(&bench, fixture, seen);
            assert_eq!(
                active.actions.contains(&Action::Ensure(fixture)),
                ensures,
                "{fixture:?} {seen:?}"
            );
            assert!(!active.actions.contains(&Action::Remove(fixture)));
            bench.job.suspend = true;
            let held = with(&bench, fixture, seen);
            assert_eq!(
                held.actions.contains(&Action::Remove(fixture)),
                removes,
                "{fixture:?} {seen:?}"
            );
        }
    }

    #[test]
    fn a_group_of_a_job_that_asks_for_none_any_more_is_removed_and_not_corrected() {
        let mut bench = Bench::workers(1);
        let wrong = Some(FixtureSeen::Ours { right: false });
        assert!(
            !with(&bench, Fixture::Gang, wrong)
                .actions
                .contains(&Action::Ensure(Fixture::Gang))
        );
        bench.job.suspend = true;
        assert!(
            with(&bench, Fixture::Gang, wrong)
                .actions
                .contains(&Action::Remove(Fixture::Gang))
        );
    }
}
