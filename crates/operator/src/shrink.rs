//! Of a job that has ended only what its clean-up, its status, its time to live and its deletion need is kept: templates, addresses and
//! annotations may be a megabyte, and users decide how many finished jobs there are.

use std::sync::Arc;

use serde_json::Map;
use trainyard_core::{AddressBook, Cluster, Job, Subject, Template};
use trainyard_manifest::cluster_map::ClusterMap;
use trainyard_manifest::gang::unplaced;

use crate::job::{Compiled, JobSeen, Meaning};
use crate::store::Entry;

impl Entry {
    /// A job that has ended needs no templates any more.
    pub fn shrink(&mut self) {
        if !self.keep_whole
            && let Some(job) = &mut self.job
        {
            job.shrink();
        }
    }
}

impl JobSeen {
    /// Lets go of what is not needed any more, if the job has ended.
    fn shrink(&mut self) {
        let Meaning::Job(compiled) = &*self.meaning else {
            return;
        };
        let has_ended = || {
            let memory = self.memory(compiled.job()).ok().flatten();
            memory.is_some_and(|memory| memory.verdict.is_some() && memory.job == self.uid)
        };
        if !compiled.shrunk && has_ended() {
            self.meaning = Arc::new(Meaning::Job(Box::new(compiled.shrunk())));
        }
    }
}

impl Compiled {
    /// The same job, of which nothing can be created any more.
    fn shrunk(&self) -> Self {
        let mut job = self.subject.job.clone();
        for role in &mut job.roles {
            role.template = Template(Arc::from(""));
            role.resume_template = None;
            role.ask.clear();
            role.after = None;
        }
        job.gang = unplaced(&self.subject);
        let nothing = Job {
            roles: Vec::new(),
            ..job.clone()
        };
        let book = AddressBook::default();
        let cluster = Cluster::of(&nothing, &book);
        Self {
            map: ClusterMap::of(&nothing, &book, &cluster),
            subject: Subject {
                job,
                conventions: self.subject.conventions,
                labels: Map::new(),
                annotations: Map::new(),
                objects: Vec::new(),
                isolation: None,
                tensorboard: None,
                managed_by: None,
                generate_name: false,
                own_namespace: None,
                legacy_labels: self.subject.legacy_labels,
            },
            book,
            cluster,
            needed: Vec::new(),
            // It stays after the job has ended.
            board: self.board.clone(),
            // Its Workload is told that it has ended, and not written again.
            queued: None,
            shrunk: true,
        }
    }
}
