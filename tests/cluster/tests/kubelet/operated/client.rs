//! Kubeflow's client for Python, where pods run and have logs. What needs no pods is tried on the API server alone.

use trainyard_cluster_tests::Client;

use super::Yard;

/// The steps are in `tests/client/real.py`.
#[test]
fn the_client_of_kubeflow_trains_and_reads_logs_and_events() {
    let Some(yard) = Yard::new("client") else { return };
    Client::run(&yard.namespace, "real.py", |asked| {
        panic!("the script asks for `{asked}`");
    });
    yard.pods_are(&[]);
}
