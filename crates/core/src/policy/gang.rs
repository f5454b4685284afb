//! Objects all tasks share: their addresses, and the group that a gang scheduler places together.

use super::StepContext;
use super::startup::Wanted;
use crate::job::Clean;
use crate::observed::{Fixture, GangSeen};
use crate::step::Action;

/// Makes what the tasks need before the first of them is created.
pub fn ensure(ctx: &mut StepContext, wanted: &[Wanted]) {
    if wanted.is_empty() {
        return;
    }
    for fixture in [Fixture::Addresses, Fixture::Gang] {
        if needs(ctx, fixture) && !ctx.is_ready(fixture) {
            ctx.actions.push(Action::Ensure(fixture));
        }
    }
}

/// Whether tasks may be created: their gang need not be let in first, or has been.
pub fn is_open(ctx: &StepContext) -> bool {
    let holds = ctx.job.gang.as_ref().is_some_and(|gang| gang.hold);
    !holds || matches!(ctx.observed.gang, GangSeen::Open | GangSeen::Broken { .. })
}

/// Takes away what nothing needs any more.
pub fn removes(ctx: &mut StepContext) {
    if ctx.is_active() {
        return;
    }
    let something_lives = ctx.view.all().any(crate::TaskSeen::alive);
    for fixture in [Fixture::Addresses, Fixture::Gang] {
        let kept_for_the_living = something_lives && fixture == Fixture::Addresses;
        let kept_as_it_is =
            ctx.memory.verdict.is_some() && ctx.job.clean == Clean::None && fixture == Fixture::Addresses;
        if ctx.is_ready(fixture) && !kept_for_the_living && !kept_as_it_is && needs(ctx, fixture) {
            ctx.actions.push(Action::Remove(fixture));
        }
    }
}

/// A group that somebody else made is joined, never made and never taken away.
fn needs(ctx: &StepContext, fixture: Fixture) -> bool {
    match fixture {
        Fixture::Addresses => true,
        Fixture::Gang => ctx.job.gang.as_ref().is_some_and(|gang| gang.existing.is_none()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::policy::testing::{Bench, observed, running, worker};
    use crate::{Action, Clean, Fixture, Gang, GangScheduler, GangSeen, Observed, Stamp};

    fn gang(hold: bool, existing: Option<&str>) -> Gang {
        Gang {
            scheduler: GangScheduler::Volcano,
            existing: existing.map(Into::into),
            members: 2,
            per_role: BTreeMap::new(),
            queue: None,
            priority: None,
            resources: BTreeMap::new(),
            timeout: None,
            hold,
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
    fn a_group_that_somebody_else_made_is_never_written() {
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
        let ready = vec![Fixture::Addresses, Fixture::Gang];
        let observed = Observed {
            ready,
            ..observed(&[running(worker(0), Stamp::default())])
        };
        let step = bench.look(None, &observed, 1);
        assert!(step.actions.contains(&Action::Remove(Fixture::Gang)));
        assert!(
            !step.actions.contains(&Action::Remove(Fixture::Addresses)),
            "something still lives"
        );
    }
}
