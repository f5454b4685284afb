//! Good manifests, to be spoilt.

/// A job of today.
pub(super) const V1: &str = "\
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: job
spec:
  runPolicy:
    cleanPodPolicy: Running
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          containers:
          - name: tensorflow
            image: tensorflow/tensorflow
";

/// Parameter servers before the workers.
pub(super) const PS: &str = "    PS:
      template: {spec: {containers: [{name: tensorflow, image: x}]}}
    Worker:";

/// A chief before the workers.
pub(super) const CHIEF: &str = "    Chief:
      template: {spec: {containers: [{name: tensorflow, image: x}]}}
    Worker:";

/// The same before `runPolicy` was.
pub(super) const OLD: &str = "\
apiVersion: kubeflow.org/v1beta2
kind: TFJob
metadata:
  name: job
spec:
  cleanPodPolicy: Running
  tfReplicaSpecs:
    PS:
      template: {spec: {containers: [{name: tensorflow, image: x}]}}
    Worker:
      restartPolicy: ExitCode
      template: {spec: {containers: [{name: tensorflow, image: x}]}}
";

/// The first shape.
pub(super) const FIRST: &str = "\
apiVersion: kubeflow.org/v1alpha1
kind: TFJob
metadata:
  name: job
spec:
  cleanupPodPolicy: Running
  replicaSpecs:
  - template: {spec: {restartPolicy: OnFailure, containers: [{name: tensorflow, image: x}]}}
  - tfReplicaType: PS
    template: {spec: {restartPolicy: OnFailure, containers: [{name: tensorflow, image: x}]}}
";
