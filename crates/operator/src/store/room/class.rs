//! Pods that need the same of a node are compared with it once: how many jobs have such pods, and which nodes may take them.

use std::sync::Arc;

use trainyard_core::gates::Reach;
use trainyard_manifest::observe::PodNeeds;

use super::seat::Seat;
use super::{Demand, Room};

/// So many sorts of pods per gang are told apart, and so many of all gangs. A gang with more is in doubt: it competes with all.
pub const MOST_CLASSES: usize = 32;
pub const MOST_CLASSES_OF_ALL: usize = 4096;

/// Pods that need the same of a node.
#[derive(Debug, Default)]
pub struct Class {
    /// The nodes that may take them, and `home`.
    pub reach: Reach,
    /// A number that all classes with this node selector have in common: gangs that wait for the same nodes compete before there is one.
    pub home: usize,
    /// How many jobs have such pods.
    pub jobs: usize,
}

impl Room {
    /// A job has pods of these classes. Says in which of them it is counted: one that is new is not where there are too many.
    pub(super) fn join(&mut self, demand: &Demand) -> Vec<Arc<PodNeeds>> {
        let mut counted = Vec::new();
        if demand.classes.len() > MOST_CLASSES {
            return counted;
        }
        for needs in demand.classes.keys() {
            if let Some(class) = self.classes.get_mut(needs) {
                class.jobs += 1;
            } else if self.classes.len() < MOST_CLASSES_OF_ALL {
                let class = self.new_class(needs);
                self.classes.insert(Arc::clone(needs), class);
            } else {
                continue;
            }
            counted.push(Arc::clone(needs));
        }
        counted
    }

    fn new_class(&mut self, needs: &PodNeeds) -> Class {
        // No node has a name with a space.
        let home = self.number(&format!("selector {}", needs.selector_words()).into());
        if let Some(seat) = self.seats.get_mut(home) {
            seat.users += 1;
        }
        let takes = |(_, seat): &(usize, &Seat)| {
            let node = seat.node.as_ref();
            node.is_some_and(|node| node.may_take(needs))
        };
        let nodes = self.seats.iter().enumerate().filter(takes);
        Class {
            reach: nodes.map(|(number, _)| number).chain([home]).collect(),
            home,
            jobs: 1,
        }
    }

    /// A job that was counted in these classes is not any more.
    pub(super) fn leave(&mut self, counted: &[Arc<PodNeeds>]) {
        for needs in counted {
            let Some(class) = self.classes.get_mut(needs) else {
                continue;
            };
            class.jobs = class.jobs.saturating_sub(1);
            let home = class.home;
            if class.jobs == 0 {
                self.classes.remove(needs);
                if let Some(seat) = self.seats.get_mut(home) {
                    seat.users = seat.users.saturating_sub(1);
                }
                self.vacate(home);
            }
        }
    }
}
