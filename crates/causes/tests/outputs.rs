//! Real output of real failures, and what is said about it. The files under `outputs` are what TensorFlow 2.21 and Python 3.11
//! printed, with shorter paths.

use trainyard_causes::{Ended, find};

#[track_caller]
fn says(output: &str, code: i32, expected: &str) {
    let cause = find(&Ended {
        output: output.as_bytes(),
        code: Some(code),
        ..Ended::default()
    });
    let told = cause.map(|cause| {
        let code = cause.code.as_deref().unwrap_or("-");
        format!("{code} {}", cause.headline())
    });
    assert_eq!(told.as_deref(), Some(expected));
}

macro_rules! outputs {
    ($($name:ident $code:literal $expected:literal)*) => {$(
        #[test]
        fn $name() {
            says(include_str!(concat!("outputs/", stringify!($name), ".log")), $code, $expected);
        }
    )*};
}

outputs! {
args 2 "TR004 the program refuses its arguments: the following arguments are required: --data"
badtfconfig 1 "TR031 TF_CONFIG does not fit what the script does with it: JSONDecodeError: Expecting value: line 1 column 1 (char 0) (badtfconfig.py:4)"
chain 1 "TR026 FileNotFoundError: [Errno 2] No such file or directory: '/nope' (chain.py:2)"
chain2 1 "TR001 ModuleNotFoundError: No module named 'pandas' (chain2.py:3)"
ckpt 1 "TR026 NotFoundError: Unsuccessful TensorSliceReader constructor: Failed to find any matching files for /data/ckpt (ckpt.py:2)"
estimator 1 "TR020 AttributeError: module 'tensorflow' has no attribute 'estimator' (estimator.py:2)"
gpu 1 "TR006 TensorFlow sees no GPU: InvalidArgumentError: Could not satisfy device specification '/job:localhost/replica:0/task:0/device:GPU:0'. enable_soft_placement=0. Supported device types [CPU]. All available devices [/job:localhost/replica:0/task:0/device:CPU:0]. (gpu.py:4)"
gpu2 1 "TR006 TensorFlow sees no GPU: IndexError: list index out of range (gpu2.py:3)"
graph 1 "TR005 ValueError: Dimensions must be equal, but are 3 and 5 for '{{node MatMul}} = MatMul[T=DT_FLOAT, grad_a=false, grad_b=false, transpose_a=false, transpose_b=false](a, b)' with input shapes: [2,3], [5,2]. (graph.py:4)"
group 1 "- ExceptionGroup: several (2 sub-exceptions) (group.py:1)"
labels 1 "TR005 InvalidArgumentError: Received a label value of 9 which is outside the valid range of [0, 4).  Label values: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 (labels.py:5)"
missingdata 1 "TR026 NotFoundError: /data/none.tfrecord; No such file or directory (missingdata.py:2)"
broken_json 1 "TR050 JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 27 (char 26) (train.py:3)"
own_module 1 "TR049 ImportError: cannot import name 'Attention' from 'layers' (/work/layers.py) (train.py:1)"
py_function 1 "- ValueError: could not convert string to float: b'abc' (train.py:3)"
rank 1 "TR005 ValueError: Arguments `target` and `output` must have the same rank (ndim). Received: target.shape=(None,), output.shape=(None, 10) (train.py:5)"
subprocess 1 "- CalledProcessError: Command '['ls', '/data/not-there']' returned non-zero exit status 2. It had printed: ls: cannot access '/data/not-there': No such file or directory (train.py:2)"
weights_missing 1 "TR026 FileNotFoundError: [Errno 2] Unable to synchronously open file (unable to open file: name = '/data/model.weights.h5', errno = 2, error message = 'No such file or directory', flags = 0, o_flags = 0) (train.py:3)"
oomnp 1 "TR029 _ArrayMemoryError: Unable to allocate 128. TiB for an array with shape (4194304, 4194304) and data type float64 (oomnp.py:2)"
oomtensor 1 "TR028 ResourceExhaustedError: OOM when allocating tensor with shape[4194304,4194304] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu (oomtensor.py:2)"
port 1 "TR007 port 51937 is taken: UnknownError: Could not start gRPC server (port.py:6)"
port2 1 "TR007 port 52347 is taken: UnknownError: Could not start gRPC server (port2.py:5)"
progress 1 "- ValueError: bad value (progress.py:4)"
shape 1 "TR005 InvalidArgumentError: Matrix size-incompatible: In[0]: [2,3], In[1]: [5,2] (shape.py:2)"
shape_fit 1 "TR005 ValueError: Input 0 with name 'None' of layer 'dense' is incompatible with the layer: expected axis -1 of input shape to have value 8, but received input with shape (32, 7) (shape_fit.py:5)"
syntax 1 "TR003 SyntaxError: '(' was never closed (syntax.py:3)"
syntax2 1 "TR003 SyntaxError: '(' was never closed (syntax.py:3)"
tf1 1 "TR021 AttributeError: module 'tensorflow' has no attribute 'placeholder' (tf1.py:2)"
tf1b 1 "TR021 ModuleNotFoundError: No module named 'tensorflow.examples' (tf1b.py:2)"
tf1c 1 "TR021 ModuleNotFoundError: No module named 'tensorflow.contrib' (tf1c.py:2)"
thread 1 "- exit code 1, after it printed: no data found"
}

#[test]
fn a_module_that_python_is_to_run_and_that_is_not_there() {
    let expected = "TR093 the module that `python -m` names does not exist";
    let outputs = [
        "/usr/bin/python: Error while finding module specification for 'trainer.task' (ModuleNotFoundError: No module named 'trainer')\n",
        "/usr/bin/python3.11: No module named trainer\n",
    ];
    for output in outputs {
        says(output, 1, expected);
    }
}
