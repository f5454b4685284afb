//! Facts of `TFJob`'s API that both its reader and its definition need.

/// The versions that our definition serves, the stored one first.
pub const SERVED: [&str; 3] = ["v1", "v1beta2", "v1beta1"];

/// What `managedBy` may say: Kubeflow's operator, from which we take over, ourselves, and `MultiKueue`.
pub const MANAGERS: [&str; 3] = [
    "kubeflow.org/training-operator",
    "trainyard.dev/operator",
    "kueue.x-k8s.io/multikueue",
];

/// The least value of `lostNodeSeconds`: a kubelet may take a few seconds more than the grace period to remove a pod.
pub const LEAST_LOST_NODE: u32 = 10;
