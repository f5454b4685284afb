//! A panic about one job does not end the operator: the job is read again, and goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use tokio::sync::oneshot;
use trainyard_cluster_tests::{Api, Namespace, shared};
use trainyard_operator::job::Reading;
use trainyard_operator::kinds::{Kind, tfjob};
use trainyard_operator::notice::{Notice, Observer};
use trainyard_operator::{Options, operate};

use super::{install, job, shown};

/// Panics twice while what became of the job `sick` is told, in the midst of its pass.
#[derive(Default)]
struct Panicking {
    begun: AtomicUsize,
    told: AtomicUsize,
}

impl Observer for Panicking {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Condition { job, .. } if &*job.name == "sick" => {
                assert!(
                    self.begun.fetch_add(1, Ordering::Relaxed) >= 2,
                    "a bug\nof the observer"
                );
            }
            Notice::Panicked { job, .. } => {
                assert_eq!(&*job.name, "sick");
                self.told.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// The operator's loop in this process, for one namespace and these kinds, while `play` lasts.
pub fn operated(
    namespace: &Namespace<'_>,
    kinds: &[&'static Kind],
    observer: Arc<dyn Observer>,
    play: impl FnOnce(),
) {
    let options = Options {
        namespace: Some(namespace.name().to_owned()),
        reading: Reading {
            kinds: kinds.to_vec(),
            ..Reading::default()
        },
        ..Options::default()
    };
    let kubeconfig = namespace.cluster().kubeconfig();
    let (stop, stopped) = oneshot::channel::<()>();
    thread::scope(|scope| {
        let operator = scope.spawn(move || {
            let api = Api::of(&kubeconfig).unwrap();
            api.block_on(operate(api.client(), options, observer, async {
                let _ = stopped.await;
            }))
        });
        play();
        stop.send(()).unwrap();
        operator.join().unwrap().unwrap();
    });
}

#[test]
fn a_job_on_which_the_operator_panics_is_read_again_and_the_others_go_on() {
    install();
    let namespace = shared().namespace("panics");
    let observer = Arc::new(Panicking::default());
    let jobs = namespace.path("apis/kubeflow.org/v1", "tfjobs");
    let create = |name: &str| {
        let job = job(name, &json!({}), &[("Worker", 1, "Never")]);
        shared().api().create(&jobs, &job).unwrap();
    };
    let ends = |name: &str| {
        let pod = format!("{name}-worker-0");
        shared().api().wait(&namespace.pod(&pod), "a pod", |_| Some(()));
        shared().player().bind(&namespace, &pod, super::NODE);
        shared().player().run(&namespace, &pod);
        shared().player().exit(&namespace, &pod, 0);
        shared().api().wait(&format!("{jobs}/{name}"), "an end", |job| {
            let conditions = job["status"]["conditions"].as_array()?;
            conditions
                .iter()
                .any(|one| shown(one) == "Succeeded")
                .then_some(())
        });
    };
    let watching: Arc<dyn Observer> = Arc::<Panicking>::clone(&observer);
    operated(&namespace, &[&tfjob::KIND], watching, || {
        create("sick");
        create("well");
        ends("well");
        ends("sick");
        let events = namespace.path("apis/events.k8s.io/v1", "events");
        shared().api().wait(&events, "an event about it", |all| {
            let told = all["items"]
                .as_array()?
                .iter()
                .find(|event| event["reason"] == "OperatorPanicked")?;
            (told["regarding"]["name"] == "sick" && told["type"] == "Warning").then_some(())
        });
    });
    assert_eq!(observer.told.load(Ordering::Relaxed), 2);
}
