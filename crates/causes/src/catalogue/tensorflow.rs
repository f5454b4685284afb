//! What TensorFlow and Keras say.

use super::{
    Entry,
    When::{All, Printed, Raised},
};

const MIRRORED: &str = "MultiWorkerMirroredStrategy";

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        number: 7,
        class: "port-taken",
        title: "a port is taken",
        when: &[
            All(&[
                Raised(&["UnknownError"], "Could not start gRPC server"),
                Printed("resolved for '0.0.0.0:{}'"),
            ]),
            All(&[
                Raised(&["UnknownError"], "Could not start gRPC server"),
                Printed("resolved for '{}'"),
            ]),
            Raised(&["UnknownError", "InternalError"], "Could not start gRPC server"),
            Raised(&["OSError"], "[Errno 98] Address already in use"),
            Raised(&["OSError"], "error while attempting to bind on address"),
        ],
        says: Some("port {0} is taken: {exception}"),
        help: "`ss -ltnp` shows the process that listens there; a script that starts two servers, or has no branch for its role, takes the port itself",
        on_cluster: Some("a second program in the pod listens there, or with `hostNetwork` one on the node; a script that starts two servers takes the port itself"),
        explanation: "\
TensorFlow could not open the port that TF_CONFIG gives to the task, because another program listens there.

- The script starts two servers, or a parameter server runs the branch of a worker and opens a port that belongs to another task.
- A program of an earlier run still listens. `ss -ltnp` names it.
- On a cluster with `hostNetwork`, two pods of one node want the same port.",
    },
    Entry {
        number: 31,
        class: "tf-config-wrong",
        title: "TF_CONFIG does not fit the script",
        when: &[
            All(&[Raised(&["JSONDecodeError"], ""), Printed("_load_tf_config")]),
            All(&[Raised(&["JSONDecodeError"], ""), Printed("TF_CONFIG")]),
            All(&[Raised(&["KeyError"], ""), Printed("TF_CONFIG")]),
            Raised(&["ValueError"], "`task_type` {} not found in cluster_spec"),
            Raised(&["ValueError"], "you must also specify `task_type` and `task_id`"),
            Raised(&["ValueError"], "exceeds the maximum id of"),
            Raised(&["ValueError"], "No such job in cluster"),
            Raised(&["ValueError"], "Disallowed task type found in cluster spec"),
            Raised(&["InternalError", "InvalidArgumentError"], "was not defined in"),
            Raised(&["InvalidArgumentError"], "as a host-port pair"),
        ],
        says: Some("TF_CONFIG does not fit what the script does with it: {exception}"),
        help: "`trainyard plan` prints the TF_CONFIG of each task; the script should not set or change it, and go on without it: jobs of one task have none",
        on_cluster: None,
        explanation: "\
The script, or TensorFlow for it, read TF_CONFIG and found something else than it expects: text that is no JSON, a role that is not in the cluster, an index that does not exist.

Trainyard writes a correct TF_CONFIG, and none for a job of one task. The usual mistakes: the script or `env` of the manifest sets it itself; the script looks for `master` where the job has `chief`; ParameterServerStrategy is used in a job without parameter servers. `trainyard plan job.yaml` prints what each task gets.",
    },
    Entry {
        number: 19,
        class: "keras-parameter-server",
        title: "Keras 3 does not train with ParameterServerStrategy",
        when: &[
            All(&[Raised(&[], ""), Printed("keras/src/"), Printed("ParameterServerStrategy")]),
            All(&[Raised(&[], "ClusterCoordinator")]),
            All(&[Raised(&[], "ParameterServerStrategy"), Printed("keras/src/")]),
        ],
        says: Some("`model.fit` of Keras 3 does not support ParameterServerStrategy: {exception}"),
        help: "write the training loop with ClusterCoordinator as examples/digits/train_ps.py does, or use Keras 2: `tf-keras` in `requirements:` and TF_USE_LEGACY_KERAS=1",
        on_cluster: Some("write the training loop with ClusterCoordinator, or use Keras 2: install `tf-keras` in the image and set TF_USE_LEGACY_KERAS=1"),
        explanation: "\
Keras 3, which TensorFlow has had since 2.16, trains with ParameterServerStrategy in no release so far: `compile` and `fit` fail under it. A training loop of your own works, as `examples/digits/train_ps.py` shows it, and so does Keras 2: install `tf-keras` in the version of TensorFlow and set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported.",
    },
    Entry {
        number: 18,
        class: "keras-multi-worker",
        title: "Keras 3 does not train with MultiWorkerMirroredStrategy",
        when: &[
            All(&[
                Raised(&["ValueError", "AttributeError", "RuntimeError", "InvalidArgumentError", "NotImplementedError"], ""),
                Printed("keras/src/"),
                Printed("collective_all_reduce_strategy.py"),
            ]),
            All(&[Raised(&["ValueError", "RuntimeError"], "PerReplica"), Printed("keras/src/")]),
            All(&[Raised(&[], MIRRORED), Printed("keras/src/")]),
        ],
        says: Some("`model.fit` of Keras 3 does not work with MultiWorkerMirroredStrategy (keras#20585): {exception}"),
        help: "write the training loop with `strategy.run` as examples/digits/train_mirrored.py does, or use Keras 2: `tf-keras` in `requirements:` and TF_USE_LEGACY_KERAS=1",
        on_cluster: Some("write the training loop with `strategy.run`, or use Keras 2: install `tf-keras` in the image and set TF_USE_LEGACY_KERAS=1"),
        explanation: "\
`model.fit` of Keras 3 fails with more than one worker under MultiWorkerMirroredStrategy (keras#20585); with one worker it works, so the script seems right until it runs in a job. A training loop of your own works, as `examples/digits/train_mirrored.py` shows it, and so does Keras 2: install `tf-keras` in the version of TensorFlow and set TF_USE_LEGACY_KERAS=1 before TensorFlow is imported.",
    },
    Entry {
        number: 20,
        class: "estimator-removed",
        title: "tf.estimator is gone",
        when: &[
            Raised(&["AttributeError"], "module 'tensorflow' has no attribute 'estimator'"),
            Raised(&["AttributeError"], "module 'tensorflow._api.v2.compat.v1' has no attribute 'estimator'"),
            Raised(&["ModuleNotFoundError"], "No module named 'tensorflow_estimator'"),
        ],
        says: None,
        help: "TensorFlow 2.15 is the last with `tf.estimator`: use that version (image `tensorflow/tensorflow:2.15.0`), or rewrite the script with Keras",
        on_cluster: None,
        explanation: "\
Estimators were removed in TensorFlow 2.16. A script that needs them runs with 2.15 and Python 3.9 to 3.11: name the image `tensorflow/tensorflow:2.15.0`, for which `trainyard run` makes that environment. New scripts use Keras or a training loop of their own.",
    },
    Entry {
        number: 21,
        class: "tensorflow-1-script",
        title: "a script for TensorFlow 1",
        when: &[
            Raised(&["AttributeError"], "module 'tensorflow' has no attribute '{}'"),
            Raised(&["ModuleNotFoundError"], "No module named 'tensorflow.contrib'"),
            Raised(&["ModuleNotFoundError"], "No module named 'tensorflow.examples'"),
            Raised(&["RuntimeError"], "tf.placeholder() is not compatible with eager execution"),
            Raised(&["RuntimeError"], "is not compatible with eager execution"),
            Raised(&["RuntimeError"], "The Session graph is empty"),
        ],
        says: None,
        help: "the script is written for TensorFlow 1: `import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()` runs most of them; `tf.contrib` and its tutorials are gone, and need an image of TensorFlow 1.15",
        on_cluster: None,
        explanation: "\
The script uses a part of TensorFlow 1 that TensorFlow 2 does not have under that name: `tf.Session`, `tf.placeholder`, `tf.flags`, `tf.contrib`, `tensorflow.examples.tutorials`.

Most of it is in `tensorflow.compat.v1`: `import tensorflow.compat.v1 as tf` and `tf.disable_v2_behavior()` at the top of the script. `tf_upgrade_v2 --infile old.py --outfile new.py` rewrites names. `tf.contrib` and the MNIST tutorial have no successor there. A name that never existed is a slip of the pen and gives the same message.",
    },
    Entry {
        number: 5,
        class: "shape-mismatch",
        title: "shapes that do not fit",
        when: &[
            Raised(&[], "Matrix size-incompatible"),
            Raised(&[], "Dimensions must be equal"),
            Raised(&[], "Incompatible shapes"),
            Raised(&[], "incompatible with the layer"),
            Raised(&[], "are incompatible"),
            Raised(&[], "must have the same shape"),
            Raised(&[], "must have the same rank"),
            Raised(&[], "Shape mismatch"),
            Raised(&[], "Cannot reshape"),
            Raised(&[], "cannot reshape array"),
            Raised(&[], "could not be broadcast together"),
            Raised(&[], "Input to reshape is a tensor with"),
            Raised(&[], "which is outside the valid range of"),
            Raised(&[], "Shapes of all inputs must match"),
            Raised(&[], "Cannot batch tensors with different shapes"),
            Raised(&[], "logits and labels must"),
        ],
        says: None,
        help: "print the shapes before that line; usual causes: the input layer expects other features, labels are one-hot where numbers are expected, a last batch that is smaller (`drop_remainder=True`)",
        on_cluster: None,
        explanation: "\
Two tensors, or a layer and its input, have shapes that do not fit together. The sentence names them in TensorFlow's order: `In[0]` is the first operand.

Look at the number of features that the first layer expects, at the number of classes of the last one (`Received a label value of 9 which is outside the valid range of [0, 4)`), at labels that are one-hot for a sparse loss or the reverse, and at a last batch that is smaller than the others.",
    },
    Entry {
        number: 6,
        class: "gpu-absent",
        title: "there is no GPU, or its libraries are missing",
        when: &[
            Raised(&["InvalidArgumentError"], "Could not satisfy device specification '{}GPU"),
            Raised(&["InvalidArgumentError"], "GPU:0"),
            Raised(&["RuntimeError", "AssertionError", "ValueError"], "No GPU"),
            Raised(&[], "no GPU"),
            Raised(&[], "CUDA_ERROR_NO_DEVICE"),
            Raised(&[], "no CUDA-capable device is detected"),
            Raised(&["ImportError", "OSError"], "libcu{}: cannot open shared object file"),
            All(&[Raised(&["IndexError"], "list index out of range"), Printed("gpus[")]),
            All(&[Raised(&["IndexError"], "list index out of range"), Printed("list_physical_devices")]),
        ],
        says: Some("TensorFlow sees no GPU: {exception}"),
        help: "`nvidia-smi` must list GPUs, and the container ask for one (`nvidia.com/gpu` in `limits`); let the script go on without: `if gpus:`",
        on_cluster: Some("ask for a GPU (`nvidia.com/gpu` in `limits` of the container), use an image with CUDA (`tensorflow/tensorflow:2.21.0-gpu`), or let the script go on without: `if gpus:`"),
        explanation: "\
The script wants a GPU and TensorFlow sees none: the machine has none, the task did not ask for one (then CUDA_VISIBLE_DEVICES is -1), or the libraries of CUDA are not installed.

`nvidia-smi` lists the GPUs of a machine. A task gets as many as `nvidia.com/gpu` in the `limits` of its container says. The wheel `tensorflow-cpu`, which is installed on machines without GPUs, never sees one.",
    },
    Entry {
        number: 28,
        class: "tensor-too-large",
        title: "a tensor does not fit into memory",
        when: &[
            Raised(&["ResourceExhaustedError"], "OOM when allocating tensor with shape{} and"),
            Raised(&["ResourceExhaustedError", "InternalError"], "CUDA_ERROR_OUT_OF_MEMORY"),
            Raised(&["ResourceExhaustedError"], ""),
        ],
        says: None,
        help: "use a smaller batch or a smaller model; on a GPU that tasks share, `tf.config.experimental.set_memory_growth`",
        on_cluster: None,
        explanation: "\
TensorFlow could not allocate a tensor, on a GPU (`by allocator GPU_0_bfc`) or in main memory (`by allocator cpu`). The shape in the message says which one; a dimension that is far too large is a mistake in the model. Otherwise: a smaller batch, mixed precision, or fewer tasks per GPU. By default each process takes a whole GPU; `set_memory_growth` changes that.",
    },
    Entry {
        number: 40,
        class: "checkpoint-unusable",
        title: "a checkpoint cannot be used",
        when: &[
            Raised(&["NotFoundError"], "Key {} not found in checkpoint"),
            Raised(&["DataLossError"], ""),
            Raised(&["ValueError"], "Unable to load optimizer"),
            Raised(&["ValueError"], "A total of {} objects could not be loaded"),
            Raised(&[], "Received incompatible tensor with shape"),
            Raised(&["AssertionError"], "Some objects had attributes which were not restored"),
        ],
        says: None,
        help: "it was written by another model or was not finished: start from an empty directory, or restore an older checkpoint",
        on_cluster: None,
        explanation: "\
The checkpoint that the script restores does not belong to this model, or is damaged: the model was changed since, the directory holds the files of another job, or a task was killed while it wrote them. On one machine volumes are kept between runs: `trainyard rm --volumes` removes those of a job, and `--volume NAME=DIR` uses another directory.",
    },
    Entry {
        number: 30,
        class: "peer-lost",
        title: "another task of the job is gone",
        when: &[
            Raised(&["UnavailableError"], ""),
            Raised(&["AbortedError", "CancelledError", "InternalError"], "failed to connect"),
            Raised(&[], "Socket closed"),
            Raised(&[], "Connection reset by peer"),
            Raised(&[], "Connection refused"),
            Raised(&["InternalError", "AbortedError", "UnknownError"], "coordination service"),
            Raised(&[], "heartbeat timeout"),
            Raised(&[], "Collective ops is aborted by"),
            Printed("tasks are unhealthy (stopped sending heartbeats)"),
            Printed("Terminating process because the JAX distributed service detected fatal errors"),
        ],
        says: Some("it lost its connection to another task: {exception}"),
        help: "look at which task failed before it (`trainyard ps JOB`); tasks that cannot go on alone are restarted together with `restartScope: Job`",
        on_cluster: Some("look at which pod failed or was deleted before it; tasks that cannot go on alone are restarted together with `restartScope: Job`"),
        explanation: "\
The task failed because it could not reach another one: a worker, a parameter server or the chief has failed, was restarted, or has not opened its port. What that one says is the cause; this is a consequence.

Under MultiWorkerMirroredStrategy no worker survives the loss of another, and under ParameterServerStrategy none that of a parameter server. `restartScope: Job` restarts all of them together, and a script that restores its checkpoint goes on from there.",
    },
    Entry {
        number: 46,
        class: "peers-awaited",
        title: "a task waited for others in vain",
        when: &[Raised(&["DeadlineExceededError"], ""), Raised(&["UnavailableError"], "Barrier timed out")],
        says: Some("it waited for other tasks in vain: {exception}"),
        help: "all tasks must run the same program and reach the same point; a task that has ended already, or waits for a GPU or a place, holds up the others",
        on_cluster: None,
        explanation: "\
The task waited for the others at a barrier, or for an answer, until TensorFlow gave up. A task that never started, has ended before the others, or runs another number of steps holds up the rest. `drop_remainder=True` and `repeat()` make the number of steps the same everywhere.",
    },
    Entry {
        number: 48,
        class: "trained-alone",
        title: "the tasks did not train together",
        // Found by the world: nothing that a program prints shows it.
        when: &[],
        says: Some("no task opened its port of TF_CONFIG: {0} tasks each trained alone, on the same data"),
        help: "create the strategy before the model (`tf.distribute.MultiWorkerMirroredStrategy()`, see examples/digits/train_mirrored.py); if each task is meant to work alone, all is well",
        on_cluster: None,
        explanation: "\
The job succeeded, and its tasks had nothing to do with each other: while they ran, no task opened the port that TF_CONFIG gives it. Each of them trained a model of its own, mostly on the same data, in the time that one task alone would have taken.

The script does not use TF_CONFIG: it calls `model.fit` without a strategy, or with `MirroredStrategy`, which knows one machine only. `tf.distribute.MultiWorkerMirroredStrategy` and `tf.distribute.ParameterServerStrategy` read TF_CONFIG and open the port; `examples/digits/train_mirrored.py` and `examples/digits/train_ps.py` show both.

This is told only if two tasks had loaded TensorFlow for some seconds. A job whose tasks are to work alone, such as a search over settings, can ignore it.",
    },
    Entry {
        number: 36,
        class: "loss-not-finite",
        title: "the loss is not a number",
        when: &[
            Raised(&["InvalidArgumentError"], "Tensor had NaN values"),
            Raised(&["InvalidArgumentError"], "Tensor had Inf"),
            Raised(&["InvalidArgumentError"], "NaN"),
            Raised(&["FloatingPointError"], ""),
        ],
        says: None,
        help: "lower the learning rate, clip gradients (`clipnorm`), and look for division by zero and empty batches in the data",
        on_cluster: None,
        explanation: "\
A check found NaN or infinity. The usual causes are a learning rate that is too high, a logarithm of or division by zero, values in the data that are not numbers, and mixed precision without loss scaling. `tf.debugging.enable_check_numerics()` names the operation that made the first one.",
    },
];
