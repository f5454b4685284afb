//! A simulated world around the shipped [`step`](crate::step): deterministic, without a clock and without chance.
//!
//! ```text
//! Job, Script, Options ─▶ play ─▶ Played { trace, memory, creates, left … }
//!                          │
//!       World (the truth) ─┼─▶ Cache (what is seen) ─▶ step ─▶ memory stored ─▶ actions ─┐
//!            ▲             │                                                             │
//!            └─────────────┴─────────────────────────────────────────────────────────────┘
//! ```
//!
//! Time jumps from event to event: an hour in which nothing happens costs nothing. Programs that no fault names run
//! for [`Options::run`] seconds and end with 0; parameter servers and evaluators run until they are stopped.
//!
//! What becomes of a job whose second worker is killed twice?
//!
//! ```
//! use trainyard_core::sim::{self, ProgramEnd, Fault, Options, Script};
//! use trainyard_core::{Outcome, TaskId};
//! # use trainyard_core::{Addresses, Clean, ClusterForm, Count, How, InPlace, Job, Limits, Role, RoleKind, RoleName};
//! # use trainyard_core::{Rule, Scope, Settled, Template, Test, Then, When, Who};
//! # let worker = RoleName::new("worker");
//! # let rule = |when, then| Rule { when, held: 0, then, from: "example".into() };
//! # let ended = |how| When::Ended { who: Who::any(), how: vec![how] };
//! # let all = Count { who: Who::any(), what: Settled::Succeeded, test: Test::All };
//! # let job = Job {
//! #     name: "example".into(), namespace: "default".into(), uid: "1".into(),
//! #     roles: vec![Role {
//! #         name: worker, kind: RoleKind::Worker, tf_type: "worker".into(), replicas: 2,
//! #         template: Template("{}".into()), resume_template: None, in_place: InPlace::Never, port: 2222,
//! #         ask: Default::default(), after: None,
//! #     }],
//! #     rules: vec![
//! #         rule(When::Count(vec![all]), Then::Finish(Outcome::Succeeded)),
//! #         rule(ended(How::Failed), Then::Restart { scope: Scope::Task, paid: true }),
//! #         rule(ended(How::Succeeded), Then::Keep),
//! #     ],
//! #     limits: Limits { restarts: Some(3), ..Limits::default() },
//! #     clean: Clean::Unfinished, suspend: false, gang: None, addresses: Addresses::PerJob, cluster: ClusterForm::None,
//! # };
//! let second = TaskId::new("worker", 1);
//! let killed = |life| Fault::Ends { task: second.clone(), life, after: 30, end: ProgramEnd::Code(137) };
//! let played = sim::play(&job, &Script::of([killed(0), killed(1)]), &Options::default());
//!
//! let memory = played.memory.unwrap();
//! assert_eq!(memory.verdict.unwrap().outcome, Outcome::Succeeded);
//! assert_eq!((memory.paid, played.creates), (2, 4));
//! // 1 to start + 30 + 10 of waiting + 1 + 30 + 20 + 1 + 60.
//! assert_eq!(played.played, 134);
//! ```

mod cache;
mod driver;
mod faults;
mod instance;
mod observer;
mod options;
mod play;
mod programs;
mod random;
mod script;
mod stops;
#[cfg(test)]
mod tests;
mod trace;
mod world;
mod writes;

pub use options::Options;
pub use play::{Left, Played, Rest, play};
pub use random::{Random, faults_for};
pub use script::{Delayed, Fault, ProgramEnd, Script, Trouble};
pub use trace::{Entry, Happened, StopReason, Trace};
