//! What may happen next, and what follows.

use std::collections::BTreeMap;
use std::sync::Arc;

use trainyard_core::gates::{Fit, Members, Pools, Reach, Stage, Standing, TRIED_AFTER, Terms};
use trainyard_core::{
    Action, Addresses, Clean, ClusterForm, Count, Exit, Fixture, FixtureSeen, Gang, GangScheduler, GangSeen,
    How, InPlace, Job, Limits, Memory, Observed, Outcome, Placement, Role, RoleKind, RoleName, Rule, Scope,
    Seen, Settled, Stamp, TaskId, TaskSeen, Template, Test, Then, Time, Wait, When, Who, Why, step,
};

use super::world::{Gang as GangState, Move, NOW, Place, Pod, Slot, State};

/// How long a turn lasts; a tick is as long.
const PATIENCE: u32 = 60;

/// Who says whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    Shipped,
    /// No gang ever gets it.
    LetsNoneIn,
    /// All of them have it, and give it back.
    Everybody,
    /// All of them have it, and keep it.
    EverybodyForEver,
    /// Who has it is not seen from the pods.
    Forgetful,
    /// One gang is passed over.
    Unfair,
    /// Gangs are never taken to compete.
    BlindToNodes,
    /// All gangs are taken to compete.
    OnePool,
}

/// Two gangs and their nodes.
#[derive(Clone)]
pub struct Machine {
    pub jobs: [Job; 2],
    /// How many pods two sets of nodes hold.
    pub rooms: [usize; 2],
    /// The sets on whose nodes the pods of each gang may be placed; and after labels have changed.
    pub reach: [&'static [u8]; 2],
    pub then: [&'static [u8]; 2],
    /// How often they change.
    pub changes: u8,
    /// What is advised is not that there is room.
    pub advice: Option<Fit>,
    pub crashes: u8,
    pub losses: u8,
    /// Which jobs can end at all.
    pub needed: [bool; 2],
    /// The operator hears of a pod some time after it has changed.
    pub lag: bool,
    /// Time passes also while the operator has something to do.
    pub hasty: bool,
    pub arbiter: Arbiter,
}

/// Anything that may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The scheduler binds a pod to a node of a set.
    Bind(u8, u8, u8),
    /// A pod that was told to stop is gone.
    Leave(u8, u8),
    /// A pod on a node is lost.
    Lose(u8, u8),
    /// All tasks of a job run, and its first one is done.
    Finish(u8),
    /// The operator hears of a pod.
    Observe(u8, u8),
    /// The operator reconciles a job.
    Look(u8),
    /// The operator's next request about a job is carried out.
    Send(u8),
    /// The operator is killed and started again.
    Crash,
    /// Labels of nodes change, and the operator sees it at once.
    Change,
    /// A minute passes.
    Tick,
}

fn job(name: &str, tasks: u32) -> Job {
    let worker = RoleName::new("worker");
    let rule = |when, then| Rule {
        when,
        held: 0,
        then,
        from: "model".into(),
    };
    let ended = |how, then| rule(When::Ended { who: Who::any(), how }, then);
    let first = Count {
        who: Who::task(&worker, 0),
        what: Settled::Succeeded,
        test: Test::AtLeast(1),
    };
    let again = Then::Restart {
        scope: Scope::Task,
        paid: false,
    };
    Job {
        name: name.into(),
        namespace: "model".into(),
        uid: name.into(),
        roles: vec![Role {
            name: worker,
            kind: RoleKind::Worker,
            tf_type: "worker".into(),
            replicas: tasks,
            template: Template("{}".into()),
            resume_template: None,
            in_place: InPlace::Never,
            port: 1,
            ask: BTreeMap::new(),
            after: None,
        }],
        rules: vec![
            rule(When::Count(vec![first]), Then::Finish(Outcome::Succeeded)),
            ended(vec![How::Disrupted, How::Vanished], again),
            ended(vec![How::Succeeded], Then::Keep),
        ],
        limits: Limits {
            wait: Wait {
                first: 0,
                most: 0,
                healthy: 0,
            },
            settle: 0,
            ..Limits::default()
        },
        clean: Clean::Unfinished,
        suspend: false,
        gang: Some(Gang {
            scheduler: GangScheduler::Gates,
            existing: None,
            members: tasks,
            per_role: BTreeMap::new(),
            queue: None,
            priority: None,
            resources: BTreeMap::new(),
            timeout: Some(PATIENCE),
            hold: false,
        }),
        addresses: Addresses::PerJob,
        cluster: ClusterForm::None,
    }
}

impl Machine {
    pub fn of(sizes: [u32; 2], room: usize) -> Self {
        Self {
            jobs: [job("a", sizes[0]), job("b", sizes[1])],
            rooms: [room, 0],
            reach: [&[0], &[0]],
            then: [&[0], &[0]],
            changes: 0,
            advice: None,
            crashes: 0,
            losses: 0,
            needed: [true; 2],
            lag: false,
            hasty: false,
            arbiter: Arbiter::Shipped,
        }
    }

    pub fn first(&self) -> State {
        State {
            gangs: [GangState::default(), GangState::default()],
            pools: Pools::default(),
            crashes: self.crashes,
            losses: self.losses,
            changes: self.changes,
            needed: self.needed,
        }
    }

    fn tasks(&self, gang: u8) -> u8 {
        u8::try_from(self.jobs[usize::from(gang)].size()).unwrap()
    }

    /// Everything that might happen; what changes nothing is left out later.
    pub fn choices(&self, state: &State) -> Vec<Next> {
        let mut all = Vec::new();
        for gang in 0..2 {
            for slot in 0..self.tasks(gang) {
                all.extend([
                    Next::Bind(gang, slot, 0),
                    Next::Bind(gang, slot, 1),
                    Next::Leave(gang, slot),
                    Next::Lose(gang, slot),
                    Next::Observe(gang, slot),
                ]);
            }
            all.extend([Next::Finish(gang), Next::Look(gang), Next::Send(gang)]);
        }
        all.extend([Next::Crash, Next::Change]);
        let work = |next: &Next| matches!(next, Next::Observe(..) | Next::Look(_) | Next::Send(_));
        let rests = || {
            !all.iter()
                .any(|next| work(next) && self.after(state, *next).is_some())
        };
        if self.hasty || rests() {
            all.push(Next::Tick);
        }
        all
    }

    /// The state after it; none if nothing changes.
    pub fn after(&self, state: &State, next: Next) -> Option<State> {
        let mut after = state.clone();
        match next {
            Next::Bind(gang, slot, nodes) => {
                let free = after.taken(nodes) < self.rooms[usize::from(nodes)];
                let fits = free && self.sets(state, gang).contains(&nodes);
                let pod = here(&mut after, gang, slot)?;
                (pod.place == Place::Free && fits).then(|| pod.place = Place::Bound(nodes))?;
            }
            Next::Change => after.changes = after.changes.checked_sub(1)?,
            Next::Leave(gang, slot) => {
                here(&mut after, gang, slot).filter(|pod| pod.stopping)?;
                slot_of(&mut after, gang, slot).here = None;
            }
            Next::Lose(gang, slot) => {
                after.losses = after.losses.checked_sub(1)?;
                here(&mut after, gang, slot).filter(|pod| pod.place.is_bound())?;
                slot_of(&mut after, gang, slot).here = None;
            }
            Next::Finish(gang) => self.finish(&mut after, gang)?,
            Next::Observe(gang, slot) => observe(&mut after, gang, slot),
            Next::Look(gang) => self.look(&mut after, gang)?,
            Next::Send(gang) => send(&mut after, gang)?,
            Next::Crash => {
                after.crashes = after.crashes.checked_sub(1)?;
                after.pools = Pools::default();
                for gang in 0..2 {
                    after.gangs[usize::from(gang)].pass.clear();
                    // A turn that was given and not begun is given again.
                    after.gangs[usize::from(gang)].overtaken = 0;
                    for slot in 0..self.tasks(gang) {
                        observe(&mut after, gang, slot);
                        // What went meanwhile has left no trace.
                        slot_of(&mut after, gang, slot).gone = None;
                    }
                }
            }
            Next::Tick => tick(&mut after, self.advice),
        }
        if !self.lag {
            for gang in 0..2 {
                (0..self.tasks(gang)).for_each(|slot| observe(&mut after, gang, slot));
            }
        }
        (after != *state).then_some(after)
    }

    /// All of its tasks are on nodes and find each other: the first one does its work.
    fn finish(&self, state: &mut State, gang: u8) -> Option<()> {
        let tasks = usize::from(self.tasks(gang));
        let slots = &mut state.gangs[usize::from(gang)].slots[..tasks];
        let runs = |pod: Option<Pod>| pod.is_some_and(|pod| pod.place.is_bound() && !pod.stopping);
        slots.iter().all(|slot| runs(slot.here)).then_some(())?;
        slots[0].here.as_mut()?.place = Place::Done;
        Some(())
    }

    fn observed(&self, gang: &GangState, number: u8) -> Observed {
        let slots = gang
            .slots
            .iter()
            .take(usize::from(self.tasks(number)))
            .enumerate();
        let tasks = slots.flat_map(|(at, slot)| {
            let at = u32::try_from(at).unwrap();
            let here = slot.seen.map(|pod| task_seen(at, pod));
            let gone = slot.gone.map(|stamp| gone(at, stamp));
            here.into_iter().chain(gone)
        });
        Observed {
            tasks: tasks.collect(),
            fixtures: vec![(Fixture::Addresses, FixtureSeen::Ours { right: true })],
            ..Observed::default()
        }
    }

    /// What the arbiter is shown of a gang.
    fn standing(&self, gang: &GangState, number: u8) -> Option<Standing> {
        let created = Time(NOW.0 - 100_000 + u64::from(number));
        let observed = self.observed(gang, number);
        let job = &self.jobs[usize::from(number)];
        let mut seen = Standing::of(job, gang.memory.as_deref(), &observed, created)?;
        match self.arbiter {
            Arbiter::Unfair if number == 1 => seen.since = NOW,
            Arbiter::Forgetful if seen.stage() == Stage::Open => {
                let Members {
                    gated,
                    unplaced,
                    placed,
                    ..
                } = seen.members;
                seen.members.gated = gated + unplaced + placed;
                (seen.members.unplaced, seen.members.placed) = (0, 0);
            }
            _ => {}
        }
        Some(seen)
    }

    /// The sets of nodes on which the pods of a gang may be placed.
    fn sets(&self, state: &State, gang: u8) -> &'static [u8] {
        let changed = state.changes < self.changes;
        let reach = if changed { self.then } else { self.reach };
        reach[usize::from(gang)]
    }

    /// Whether the gangs compete.
    fn compete(&self, state: &State) -> bool {
        let other = self.sets(state, 1);
        self.sets(state, 0).iter().any(|nodes| other.contains(nodes))
    }

    /// What the arbiter is told of a gang's nodes.
    fn terms(&self, state: &State, gang: u8) -> Terms {
        let sets = self.sets(state, gang).iter().map(|nodes| usize::from(*nodes));
        let reach = match self.arbiter {
            Arbiter::OnePool => Reach::all(),
            Arbiter::BlindToNodes => [usize::from(gang)].into_iter().collect(),
            _ => sets.collect(),
        };
        Terms {
            priority: 0,
            patience: PATIENCE,
            reach: reach.into(),
        }
    }

    /// Whose turn it is, and what this gang is told.
    fn told(&self, state: &mut State, gang: u8) -> GangSeen {
        for number in 0..2 {
            let terms = self.terms(state, number);
            match self.standing(&state.gangs[usize::from(number)], number) {
                Some(seen) => state.pools.see(&number, seen, terms, NOW),
                None => state.pools.lose(&number),
            }
        }
        let fit = |number: &u8| match self.arbiter {
            Arbiter::Unfair if *number == 1 => Fit::Never,
            _ => self.advice.unwrap_or(Fit::Now),
        };
        while let Some(next) = state.pools.next(NOW, fit) {
            let other = usize::from(1 - next);
            let seen = self.standing(&state.gangs[other], 1 - next);
            let waits = seen.is_some_and(|seen| seen.stage() == Stage::Waits) && self.compete(state);
            let overtaken = &mut state.gangs[other].overtaken;
            *overtaken = if waits { (*overtaken + 1).min(2) } else { 0 };
            state.gangs[usize::from(next)].overtaken = 0;
        }
        let told = state.pools.told(&gang, NOW).0;
        let seen = self.standing(&state.gangs[usize::from(gang)], gang);
        let is_open = seen.is_some_and(|seen| seen.stage() == Stage::Open);
        match (self.arbiter, told) {
            (Arbiter::LetsNoneIn, _) => GangSeen::Held,
            (Arbiter::Everybody, GangSeen::Held) | (Arbiter::EverybodyForEver, _) => GangSeen::Open,
            (Arbiter::Forgetful, GangSeen::Held) if is_open => GangSeen::Open,
            (_, told) => told,
        }
    }

    fn look(&self, state: &mut State, gang: u8) -> Option<()> {
        let at = usize::from(gang);
        if !state.gangs[at].pass.is_empty() {
            return None;
        }
        let told = self.told(state, gang);
        let job = &self.jobs[at];
        let observed = Observed {
            gang: told,
            ..self.observed(&state.gangs[at], gang)
        };
        let decided = step(job, state.gangs[at].memory.as_deref(), &observed, NOW);
        let gang = &mut state.gangs[at];
        let memory = settled(decided.memory);
        for (at, slot) in gang.slots.iter_mut().enumerate() {
            let absorbed =
                |stamp: &Stamp| memory.has_absorbed(job, &gone(u32::try_from(at).unwrap(), *stamp));
            slot.gone = slot.gone.filter(|stamp| !absorbed(stamp));
        }
        gang.memory = Some(Arc::new(memory));
        gang.pass = decided.actions.iter().rev().filter_map(known).collect();
        rebase(state, at);
        // What is created behind a gate competes with nothing; the other requests take their time where the operator may crash in between.
        let number = u8::try_from(at).unwrap();
        let at_once = |one: &Move| self.crashes == 0 || matches!(one, Move::Create(..));
        while state.gangs[at].pass.last().is_some_and(at_once) {
            send(state, number)?;
        }
        Some(())
    }

    /// How many gangs are half placed.
    pub fn halves(&self, state: &State) -> usize {
        let halves = state.gangs.iter().zip(&self.jobs).filter(|(gang, job)| {
            let tasks = usize::try_from(job.size()).unwrap();
            let memory = gang.memory.as_deref();
            let epoch = memory.map_or(0, |memory| memory.epoch);
            let placed = memory.is_some_and(|memory| memory.gates.placed == Some(epoch));
            let mut pods = gang.slots[..tasks].iter().filter_map(|slot| slot.here);
            let bound = pods.clone().filter(|pod| pod.place.is_bound()).count();
            let open = pods.any(|pod| pod.stamp.epoch == epoch && pod.place == Place::Free);
            !gang.has_ended() && !placed && open && bound < tasks
        });
        halves.count()
    }

    /// The name of a property that does not hold.
    pub fn broken(&self, state: &State) -> Option<&'static str> {
        if self.hasty {
            return None;
        }
        // Two that had turns before labels made them compete keep them.
        let changed = state.changes < self.changes;
        if self.compete(state) && !changed && self.halves(state) > 1 {
            return Some("G1 of gangs that compete one at a time is half placed");
        }
        let starved = state.gangs.iter().any(|gang| gang.overtaken > 1);
        starved.then_some("G3 no gang is overtaken twice")
    }
}

/// Numbers that nothing is decided by, but for reports, do not grow.
fn settled(mut memory: Memory) -> Memory {
    memory.started = memory.started.map(|_| Time(NOW.0 - 50_000));
    memory.gates.times = memory.gates.times.min(1);
    if let Some(verdict) = &mut memory.verdict {
        verdict.at = NOW;
    }
    memory
}

/// Epochs do not grow either: only the last two can be told apart.
fn rebase(state: &mut State, at: usize) {
    let gang = &mut state.gangs[at];
    let Some(memory) = gang.memory.as_deref().filter(|memory| memory.epoch > 1) else {
        return;
    };
    let less = memory.epoch - 1;
    let earlier = |stamp: &mut Stamp| stamp.epoch = stamp.epoch.saturating_sub(less);
    let mut memory = memory.clone();
    memory.epoch -= less;
    memory.gates.placed = memory.gates.placed.and_then(|placed| placed.checked_sub(less));
    gang.memory = Some(Arc::new(memory));
    for slot in &mut gang.slots {
        let pods = [&mut slot.here, &mut slot.seen];
        pods.into_iter().flatten().for_each(|pod| earlier(&mut pod.stamp));
        slot.gone.iter_mut().for_each(earlier);
    }
    for one in &mut gang.pass {
        let (Move::Create(_, stamp) | Move::Stop(_, stamp) | Move::Ungate(_, stamp)) = one;
        earlier(stamp);
    }
    let other = |key: &u8, epoch: u32| {
        if usize::from(*key) == at {
            epoch.saturating_sub(less)
        } else {
            epoch
        }
    };
    state.pools = state.pools.rebased(|time| time, other);
}

/// A minute passes: every clock is set back by one. Of gangs that were rolled back only the order matters.
fn tick(state: &mut State, advice: Option<Fit>) {
    let longest = advice.map_or(3 * PATIENCE, |_| TRIED_AFTER);
    let oldest = Time(NOW.0 - u64::from(longest));
    let back = |time: Time| Time(time.0 - u64::from(PATIENCE)).max(oldest);
    state.pools = state.pools.rebased(back, |_, epoch| epoch);
    let rolled_back = |gang: &GangState| gang.memory.as_ref().and_then(|memory| memory.gates.rolled_back);
    let [first, second] = [rolled_back(&state.gangs[0]), rolled_back(&state.gangs[1])];
    for (gang, mine, theirs) in [(0, first, second), (1, second, first)] {
        let Some(mine) = mine else { continue };
        let newer = theirs.is_some_and(|theirs| mine > theirs);
        let mut memory = Memory::clone(state.gangs[gang].memory.as_deref().unwrap());
        memory.gates.rolled_back = Some(Time(NOW.0 - if newer { 1_000 } else { 2_000 }));
        state.gangs[gang].memory = Some(Arc::new(memory));
    }
}

fn slot_of(state: &mut State, gang: u8, slot: u8) -> &mut Slot {
    &mut state.gangs[usize::from(gang)].slots[usize::from(slot)]
}

fn here(state: &mut State, gang: u8, slot: u8) -> Option<&mut Pod> {
    slot_of(state, gang, slot).here.as_mut()
}

/// The operator hears what has become of a pod.
fn observe(state: &mut State, gang: u8, slot: u8) {
    let slot = slot_of(state, gang, slot);
    if let Some(seen) = slot.seen
        && slot.here.is_none_or(|here| here.stamp != seen.stamp)
    {
        slot.gone = Some(seen.stamp);
    }
    slot.seen = slot.here;
}

/// Carries out a request; the operator knows of it at once.
fn send(state: &mut State, gang: u8) -> Option<()> {
    let one = state.gangs[usize::from(gang)].pass.pop()?;
    match one {
        Move::Create(slot, stamp) => {
            let slot = slot_of(state, gang, slot);
            if slot.here.is_some() {
                // The name is taken: the rest is dropped.
                state.gangs[usize::from(gang)].pass.clear();
                return Some(());
            }
            slot.here = Some(Pod {
                stamp,
                place: Place::Gated,
                stopping: false,
            });
            slot.seen = slot.here;
        }
        Move::Stop(slot, stamp) => {
            let slot = slot_of(state, gang, slot);
            if let Some(pod) = slot.here.as_mut().filter(|pod| pod.stamp == stamp) {
                pod.stopping = true;
                if !pod.place.is_bound() {
                    // No kubelet has to agree.
                    slot.here = None;
                }
            }
            if let Some(seen) = slot.seen.as_mut().filter(|pod| pod.stamp == stamp) {
                seen.stopping = true;
            }
        }
        Move::Ungate(slot, stamp) => {
            let slot = slot_of(state, gang, slot);
            if let Some(pod) = slot.here.as_mut().filter(|pod| pod.stamp == stamp) {
                if pod.place == Place::Gated {
                    pod.place = Place::Free;
                }
                slot.seen = slot.here;
            }
        }
    }
    Some(())
}

fn known(action: &Action) -> Option<Move> {
    let slot = |task: &TaskId| u8::try_from(task.index).unwrap();
    // The name of an instance is its stamp.
    let stamp = |instance: &str| {
        let (epoch, attempt) = instance.split_once('.').unwrap();
        Stamp {
            epoch: epoch.parse().unwrap(),
            attempt: attempt.parse().unwrap(),
        }
    };
    match action {
        Action::Create { task, stamp } => Some(Move::Create(slot(task), *stamp)),
        Action::Stop { task, instance, .. } => Some(Move::Stop(slot(task), stamp(instance))),
        Action::Ungate { task, instance } => Some(Move::Ungate(slot(task), stamp(instance))),
        _ => None,
    }
}

fn task_seen(at: u32, pod: Pod) -> TaskSeen {
    let exit = Exit {
        code: Some(0),
        why: Why::Itself,
        at: NOW,
        ..Exit::default()
    };
    let (state, placement) = match pod.place {
        Place::Gated => (Seen::Waiting, Placement::Gated),
        Place::Free => (Seen::Waiting, Placement::Unplaced),
        Place::Bound(_) => (Seen::Running { ready: true }, Placement::Placed(None)),
        Place::Done => (Seen::Ended(exit), Placement::Placed(None)),
    };
    TaskSeen {
        id: TaskId::new("worker", at),
        stamp: pod.stamp,
        instance: format!("{}.{}", pod.stamp.epoch, pod.stamp.attempt).into(),
        state,
        created: Time(NOW.0 - 40_000),
        in_place: 0,
        last: None,
        stopping: pod.stopping.then_some(NOW),
        lingers: false,
        placement,
    }
}

/// One that went, of which is not known how it ended.
fn gone(at: u32, stamp: Stamp) -> TaskSeen {
    let pod = Pod {
        stamp,
        place: Place::Bound(0),
        stopping: false,
    };
    TaskSeen {
        state: Seen::Gone(None),
        ..task_seen(at, pod)
    }
}
