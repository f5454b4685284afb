//! What Python itself says: modules, scripts, arguments, files.

use super::{
    Entry,
    When::{All, Code, Printed, Raised},
};

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        number: 1,
        class: "module-missing",
        title: "a Python module is not installed",
        when: &[Raised(&["ModuleNotFoundError", "ImportError"], "No module named '{}'")],
        says: None,
        help: "install it into the Python that the first lines of the run name, choose one that has it with `--python PATH`, or list it under `requirements:` of the image in the configuration file",
        on_cluster: Some("install `{0}` in the image of the task, or use an image that has it"),
        explanation: "\
The program imports a module that its Python does not have.

`trainyard run` says in its first lines which Python runs, and why. For images of TensorFlow that is an environment of Trainyard's own, with TensorFlow and nothing else; without a manifest it is the activated environment, or `python` on PATH if it has TensorFlow. Ways out:

- List what the image would have in `~/.config/trainyard/config.yaml`:
  `images: {mycompany/trainer: {requirements: [tensorflow-cpu==2.21.0, pandas]}}`
- Name an interpreter or an environment that has everything: `--python ~/venvs/train`. Without a manifest, activating it is enough.
- If the module is a file of yours, start the run in its directory, or set PYTHONPATH with `--env`.

On a cluster the module has to be in the image.",
    },
    Entry {
        number: 2,
        class: "script-missing",
        title: "the script is not there",
        when: &[
            Printed("can't open file '{}': [Errno 2] No such file or directory"),
            Printed("can't find '__main__' module in '{}'"),
        ],
        says: Some("the script {0} does not exist"),
        help: "relative paths start in the directory of `trainyard run`, or in `workingDir`; a path inside an image exists here only if the configuration maps it (`files:`)",
        on_cluster: Some("check the path in `command` and `args`: it must exist in the image or in a mounted volume, and relative paths start in `workingDir`"),
        explanation: "\
Python was given a script that does not exist.

On one machine a task sees the files of this machine. A container without `workingDir` starts in the directory in which `trainyard run` was started, not in the manifest's. A script that is only in the image has to be given a place in the configuration file: `images: {IMAGE: {files: {/app: ./src}}}`.

On a cluster the script has to be in the image or in a volume that is mounted there.",
    },
    Entry {
        number: 22,
        class: "crlf",
        title: "a script with Windows line ends",
        when: &[
            Printed("\\r: "),
            Printed("$'\\r': command not found"),
            Printed("^M: bad interpreter"),
            Printed("python3\\r': No such file or directory"),
            Printed("python\\r': No such file or directory"),
            Printed("sh\\r': No such file or directory"),
            Printed("/usr/bin/env: ‘{}\\r’: No such file or directory"),
        ],
        says: Some("the script has Windows line ends (CRLF), which a shell takes for part of each command"),
        help: "convert it: `sed -i 's/\\r$//' SCRIPT`; with git, `*.sh text eol=lf` in `.gitattributes`",
        on_cluster: None,
        explanation: "\
Lines of the script end in a carriage return and a newline, as editors on Windows write them. Python reads such files, but a shell and the kernel, which reads the line `#!`, take the carriage return for part of a name.

Convert the file with `sed -i 's/\\r$//' SCRIPT` or `dos2unix`, and tell git to keep it so: `*.sh text eol=lf` in `.gitattributes`.",
    },
    Entry {
        number: 3,
        class: "syntax-error",
        title: "Python cannot read the script",
        when: &[Raised(&["SyntaxError", "IndentationError", "TabError"], "")],
        says: None,
        help: "mend the line; if it is right for another version of Python, run the task with that one",
        on_cluster: None,
        explanation: "\
The script is not valid Python, or not for the version that runs it: `print x` needs Python 2, `match` needs 3.10. The place is the line at which Python noticed; an unclosed bracket or quote may be some lines above.

`python -m py_compile SCRIPT` checks a script without running it.",
    },
    Entry {
        number: 4,
        class: "arguments-refused",
        title: "the program refuses its arguments",
        when: &[All(&[Code(2), Printed(": error: {}")])],
        says: Some("the program refuses its arguments: {0}"),
        help: "correct `args` or `command` of the task; `--help` of the script lists what it takes",
        on_cluster: None,
        explanation: "\
The program ended with exit code 2 and a message about its arguments, as `argparse` and most command lines do. The arguments are `command` and `args` of the task's container; `trainyard plan` shows them as the task gets them, with `$(NAME)` replaced.",
    },
    Entry {
        number: 33,
        class: "import-mismatch",
        title: "packages of versions that do not fit together",
        when: &[
            Raised(&["ImportError"], "cannot import name '{}' from '{}' ({}-packages/"),
            Raised(&["TypeError"], "Descriptors cannot be created directly"),
            Raised(&["ValueError"], "numpy.dtype size changed"),
            Raised(&["ImportError", "AttributeError"], "numpy.core"),
            Raised(&["AttributeError"], "_ARRAY_API not found"),
        ],
        says: None,
        help: "the installed versions do not fit together: pin them in `requirements:` as the script was tested with",
        on_cluster: Some("the versions in the image do not fit together: pin them as the script was tested with"),
        explanation: "\
A module was found, but not what the program wants from it: its version is older or newer than the one the program was written for, or a compiled package was built against another version of NumPy or protobuf.

Compare `pip freeze` of the environment in which it works with that of the task, and pin what differs. A file of yours with the name of a package (`random.py`, `tensorflow.py`) hides that package and gives the same message.",
    },
    Entry {
        number: 93,
        class: "module-missing",
        title: "the module that `python -m` names is not there",
        when: &[
            Printed("{}: Error while finding module specification for '{}'"),
            Printed("{}python{}: No module named {}"),
        ],
        says: Some("the module that `python -m` names does not exist"),
        help: "run it in the directory that holds the package (`--workdir`), with an `__init__.py` in it, or install it into the Python that the first lines of the run name",
        on_cluster: Some("the module must be in the image, and the package's directory the `workingDir` of the container or on PYTHONPATH"),
        explanation: "\
`python -m package.module` looks for the package in the working directory and among installed packages. Most often the working directory is another one than on the machine where it worked.",
    },
    Entry {
        number: 34,
        class: "module-shadowed",
        title: "a file of the user hides a module",
        when: &[
            Raised(&["AttributeError"], "partially initialized module '{}' has no attribute"),
            Raised(&["ImportError"], "partially initialized module '{}'"),
        ],
        says: None,
        help: "a file or directory beside the script is probably called `{0}`: rename it, and delete its `__pycache__`",
        on_cluster: None,
        explanation: "\
A module imports itself: most often a script has the name of a module that it, or a library, imports (`random.py`, `queue.py`, `tensorflow.py`). Python looks beside the script first. Rename the file, and delete `__pycache__` beside it. Otherwise two modules of yours import each other: import one of them inside a function.",
    },
    Entry {
        number: 49,
        class: "import-mismatch",
        title: "a module does not define the name that is imported",
        when: &[Raised(&["ImportError"], "cannot import name '{}' from '{}' ({})")],
        says: None,
        help: "`{1}` is there, and defines no `{0}`: compare the spelling, or import what it does define ({2})",
        on_cluster: None,
        explanation: "\
A module was found, and what the program wants from it is not in it. If the module is a file of yours, the name is misspelt, or the file is an older copy than the script. Two modules that import each other give the same message with `most likely due to a circular import`.",
    },
    Entry {
        number: 26,
        class: "file-missing",
        title: "a file that the program needs is not there",
        when: &[
            Raised(&["FileNotFoundError"], "No such file or directory: '{}'"),
            Raised(&["NotFoundError"], "{}; No such file or directory"),
            Raised(&["NotFoundError"], "Failed to find any matching files for {}"),
            Raised(&["FileNotFoundError"], ""),
        ],
        says: None,
        help: "check the path; data that the manifest mounts from a claim is given with `--volume NAME=DIR`, and relative paths start in the directory of `trainyard run`",
        on_cluster: Some("check the path, and that the volume with the file is mounted in every role that reads it"),
        explanation: "\
The program opened a file that does not exist. On one machine a PersistentVolumeClaim is an empty directory unless `--volume NAME=DIR` says which directory holds the data. Relative paths start in the directory of `trainyard run`, or in `workingDir`.

On a cluster every role that reads the data has to mount its volume: parameter servers and evaluators are often forgotten.",
    },
    Entry {
        number: 50,
        class: "file-damaged",
        title: "a file is damaged, or in another format",
        when: &[
            Raised(&["JSONDecodeError", "YAMLError", "ParserError", "ScannerError"], ""),
            Raised(&["BadGzipFile", "BadZipFile", "UnpicklingError", "LZMAError", "ReadError"], ""),
            Raised(&["EOFError"], "Compressed file ended before"),
            Raised(&["EOFError"], "Ran out of input"),
            Raised(&["error"], "Error -3 while decompressing"),
            Raised(&["OSError"], "Unable to synchronously open file"),
        ],
        says: None,
        help: "what is read at that line is empty, cut off or in another format: look at the file itself; a download that was interrupted, or an error page saved as data, looks like this",
        on_cluster: None,
        explanation: "\
The program read a file and its content is not what its format allows: JSON with a comma too many, an archive that ends too early, a pickle of another program. `file PATH` and `ls -l PATH` show what it is. Several tasks that write the same file at once damage it too: give each its own, or let the chief alone write.",
    },
    Entry {
        number: 27,
        class: "permission-denied",
        title: "the program may not use a file",
        when: &[
            Raised(&["PermissionError"], "Permission denied: '{}'"),
            Raised(&["PermissionDeniedError"], "{}; Permission denied"),
            Raised(&["PermissionError", "PermissionDeniedError"], ""),
            Raised(&["OSError"], "Read-only file system"),
        ],
        says: None,
        help: "let the user of the task write there, or write to another directory",
        on_cluster: Some("set `fsGroup` in the pod's `securityContext`, or write to a volume that the task's user may write to"),
        explanation: "\
A file or directory may not be read or written by the user that the task runs as, or its file system is mounted read-only. On one machine that is you; on a cluster it is `runAsUser` of the pod, or the image's user, and `fsGroup` makes a volume writable for it.",
    },
    Entry {
        number: 35,
        class: "variable-missing",
        title: "an environment variable is not set",
        when: &[All(&[Raised(&["KeyError"], "'{}'"), Printed("os.environ[")])],
        says: Some("the environment variable {0} is not set"),
        help: "set it in `env` of the container, or for one run with `--env {0}=VALUE`",
        on_cluster: Some("set it in `env` of the container"),
        explanation: "\
The program reads a variable with `os.environ[NAME]`, and the task has none of that name. `TF_CONFIG` is set for jobs of more than one task only: read it with `os.environ.get(\"TF_CONFIG\", \"{}\")`.",
    },
    Entry {
        number: 29,
        class: "memory-refused",
        title: "an array does not fit into memory",
        when: &[
            Raised(&["MemoryError"], ""),
            Raised(&["_ArrayMemoryError"], ""),
            Raised(&["OSError", "BlockingIOError"], "Cannot allocate memory"),
            Printed("std::bad_alloc"),
        ],
        says: None,
        help: "use a smaller batch, or read the data in pieces (`tf.data`, `numpy.memmap`) instead of at once",
        on_cluster: None,
        explanation: "\
The program asked for more memory at once than the system gives it, and was told so: nothing was killed. Mostly an array is far larger than meant, because a dimension is wrong or a whole data set is read at once.",
    },
    Entry {
        number: 41,
        class: "too-many-files",
        title: "too many open files",
        when: &[
            Raised(&["OSError"], "Too many open files"),
            Raised(&["ResourceExhaustedError"], "Too many open files"),
        ],
        says: None,
        help: "close files after use, or raise the limit: `ulimit -n 65536` before `trainyard run`",
        on_cluster: Some("close files after use, or raise the limit of the container runtime"),
        explanation: "\
The program has more files and connections open than its limit allows. Reading many files with `interleave` opens one per `cycle_length`; a data loader of several processes opens them once per process.",
    },
    Entry {
        number: 39,
        class: "bad-encoding",
        title: "a file in another encoding",
        when: &[Raised(&["UnicodeDecodeError", "UnicodeEncodeError"], "")],
        says: None,
        help: "open the file with its encoding, `open(path, encoding=\"utf-8\")`; set PYTHONUTF8=1 where the locale is not UTF-8",
        on_cluster: None,
        explanation: "\
Text was read or written in an encoding that does not fit. Without `encoding=` Python uses the locale's, which in images is often ASCII. A file that is no text (a gzip archive, an error page that a download saved) gives the same message.",
    },
    Entry {
        number: 42,
        class: "interrupted",
        title: "the program was interrupted",
        when: &[Raised(&["KeyboardInterrupt"], ""), Code(130)],
        says: Some("it was interrupted (SIGINT)"),
        help: "Ctrl-C in its own terminal, or a program that sends SIGINT: the job's own commands send SIGTERM",
        on_cluster: Some("a process in the pod sent SIGINT, or the program exits with 130 by itself: nothing of the cluster stops pods so"),
        explanation: "\
The program received SIGINT, which Python raises as KeyboardInterrupt. Trainyard stops tasks with SIGTERM, so the signal came from elsewhere: from a terminal, a debugger, or the program itself.",
    },
];
