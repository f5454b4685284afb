//! Orders of users and other controllers, each obeyed once: a Volcano Command, `trainyard stop`, an annotation.

use std::sync::Arc;

use super::StepContext;
use super::restart::{Reason, restart};
use super::suspend::{hold, resume};
use crate::memory::{Cause, Hold, Outcome};
use crate::observed::Ordered;
use crate::rule::Scope;
use crate::step::Action;

/// So many orders stay in memory after they are no longer visible: one that comes back, as an annotation may that was removed by
/// mistake, is not obeyed again.
const KEPT: usize = 16;
/// Bytes of an id that stays so long.
const LONGEST_KEPT: usize = 63;

/// Obeys every order not obeyed before.
pub fn obey(ctx: &mut StepContext) {
    let mut orders: Vec<_> = ctx.observed.orders.iter().collect();
    orders.sort();
    orders.dedup_by(|left, right| left.id == right.id);
    for order in &orders {
        if !ctx.memory.orders.contains(&order.id) {
            carry_out(ctx, order.what);
            ctx.memory.orders.push(order.id.clone());
        }
    }
    let is_visible = |id: &Arc<str>| orders.iter().any(|order| order.id == *id);
    forget_old(&mut ctx.memory.orders, is_visible);
}

/// Keeps the ids that are visible and the last of the others, each once, in the order in which they were obeyed.
fn forget_old(obeyed: &mut Vec<Arc<str>>, is_visible: impl Fn(&Arc<str>) -> bool) {
    let mut kept: Vec<Arc<str>> = Vec::new();
    for id in obeyed.drain(..).rev() {
        let stays = is_visible(&id) || (kept.len() < KEPT && id.len() <= LONGEST_KEPT);
        if stays && !kept.contains(&id) {
            kept.push(id);
        }
    }
    kept.reverse();
    *obeyed = kept;
}

/// Deletes orders that were obeyed.
pub fn answered(ctx: &mut StepContext) {
    let obeyed = ctx
        .memory
        .orders
        .iter()
        .filter(|id| ctx.observed.orders.iter().any(|order| order.id == **id));
    ctx.actions.extend(obeyed.map(|id| Action::Answered(id.clone())));
}

/// While aborted only an order to resume changes anything; a verdict is not changed by any.
fn carry_out(ctx: &mut StepContext, what: Ordered) {
    if ctx.memory.verdict.is_some() {
        return;
    }
    let aborted = ctx.memory.held == Some(Hold::Aborted);
    match what {
        Ordered::Resume { paid } if aborted => {
            if pay(ctx, paid) {
                ctx.memory.paid = ctx.memory.paid.saturating_add(u32::from(paid));
                resume(ctx);
            }
        }
        _ if aborted => {}
        Ordered::Resume { .. } | Ordered::Nothing => {}
        Ordered::Finish(outcome) => ctx.finish(outcome, Cause::Order),
        Ordered::Abort => hold(ctx, Hold::Aborted),
        Ordered::RestartJob { .. } if ctx.memory.held.is_some() => {}
        Ordered::RestartJob { paid } => {
            if pay(ctx, paid) {
                let reason = Reason {
                    paid,
                    ..Reason::default()
                };
                restart(ctx, &Scope::Job, &reason);
            }
        }
    }
}

/// Whether the order can be paid for; if not, the job fails.
fn pay(ctx: &mut StepContext, paid: bool) -> bool {
    let possible = !paid || ctx.memory.can_pay(ctx.job);
    if !possible {
        ctx.finish(Outcome::Failed, Cause::Restarts { task: None });
    }
    possible
}

#[cfg(test)]
mod tests {
    use crate::policy::testing::{Bench, observed, running, worker};
    use crate::{Action, Hold, Observed, Order, Ordered, Outcome, Stamp};

    fn order(id: &str, what: Ordered) -> Order {
        Order { id: id.into(), what }
    }

    #[test]
    fn each_order_is_obeyed_once_however_long_it_is_visible() {
        let bench = Bench::workers(1);
        let orders = vec![order("a", Ordered::RestartJob { paid: true })];
        let observed = Observed {
            orders,
            ..observed(&[running(worker(0), Stamp::default())])
        };
        let first = bench.look(None, &observed, 10);
        assert_eq!((first.memory.epoch, first.memory.paid), (1, 1));
        assert!(first.actions.contains(&Action::Answered("a".into())));
        let second = bench.look(Some(&first.memory), &observed, 20);
        assert_eq!(second.memory.epoch, 1);
        let gone = bench.look(Some(&second.memory), &crate::policy::testing::observed(&[]), 30);
        let back = bench.look(Some(&gone.memory), &observed, 40);
        assert_eq!(back.memory.epoch, 1, "it is obeyed once, also if it comes back");
    }

    #[test]
    fn of_orders_that_are_gone_the_last_stay_each_once() {
        let bench = Bench::workers(1);
        let mut memory = bench.memory();
        let long = "x".repeat(64);
        let ids = (0..30).map(|number| number.to_string());
        memory.orders = ids.chain(["29".into(), long]).map(Into::into).collect();
        let shown = Observed {
            orders: vec![order("0", Ordered::RestartJob { paid: false })],
            ..observed(&[])
        };
        let step = bench.look(Some(&memory), &shown, 10);
        assert_eq!(step.memory.epoch, 0, "it was obeyed before");
        let last: Vec<String> = (14..30).map(|number| number.to_string()).collect();
        let kept: Vec<&str> = step.memory.orders.iter().map(|id| &**id).collect();
        assert_eq!((kept[0], kept[1..].join(" ")), ("0", last.join(" ")));
    }

    #[test]
    fn ids_are_kept_in_the_order_in_which_they_were_obeyed() {
        let bench = Bench::workers(1);
        let restart = Ordered::RestartJob { paid: false };
        let seen = |ids: &[&str]| Observed {
            orders: ids.iter().map(|id| order(id, restart)).collect(),
            ..observed(&[])
        };
        let mut memory = bench.look(None, &seen(&["b"]), 10).memory;
        memory = bench.look(Some(&memory), &seen(&["c", "a", "b"]), 20).memory;
        assert_eq!(memory.orders, ["b".into(), "a".into(), "c".into()]);
        memory = bench.look(Some(&memory), &seen(&["c", "b"]), 30).memory;
        assert_eq!(memory.orders, ["b".into(), "a".into(), "c".into()]);
    }

    #[test]
    fn an_order_after_the_verdict_changes_nothing_and_is_answered() {
        let bench = Bench::workers(1);
        let ended = bench.step(
            &[crate::policy::testing::ended(worker(0), Stamp::default(), 0, 5)],
            10,
        );
        assert!(ended.memory.verdict.is_some());
        let observed = Observed {
            orders: vec![order("late", Ordered::RestartJob { paid: true })],
            ..observed(&[])
        };
        let step = bench.look(Some(&ended.memory), &observed, 20);
        assert!(step.actions.contains(&Action::Answered("late".into())));
        assert_eq!(step.memory.verdict, ended.memory.verdict);
        assert_eq!((step.memory.epoch, step.memory.paid), (0, 0));
    }

    #[test]
    fn an_aborted_job_waits_for_an_order_to_resume_and_nothing_else() {
        let mut bench = Bench::workers(1);
        bench.job.limits.restarts = Some(1);
        let mut memory = bench.step(&[running(worker(0), Stamp::default())], 5).memory;
        let table = [
            ("abort", Ordered::Abort, Some(Hold::Aborted), 0, None),
            (
                "again",
                Ordered::RestartJob { paid: true },
                Some(Hold::Aborted),
                0,
                None,
            ),
            ("nothing", Ordered::Nothing, Some(Hold::Aborted), 0, None),
            (
                "end",
                Ordered::Finish(Outcome::Terminated),
                Some(Hold::Aborted),
                0,
                None,
            ),
            ("resume", Ordered::Resume { paid: true }, None, 1, None),
            ("abort 2", Ordered::Abort, Some(Hold::Aborted), 1, None),
            (
                "resume 2",
                Ordered::Resume { paid: true },
                Some(Hold::Aborted),
                1,
                Some(Outcome::Failed),
            ),
        ];
        for (id, what, held, paid, outcome) in table {
            let observed = Observed {
                orders: vec![order(id, what)],
                ..observed(&[])
            };
            memory = bench.look(Some(&memory), &observed, 10).memory;
            let verdict = memory.verdict.as_ref().map(|verdict| verdict.outcome);
            assert_eq!((memory.held, memory.paid, verdict), (held, paid, outcome), "{id}");
        }
    }
}
