//! What the system did: memory, signals, disks, networks, commands.

use super::{
    Entry,
    When::{All, Code, Memory, Printed, Raised, Reason},
};
use crate::MemoryEvidence;

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        number: 15,
        class: "disk-full",
        title: "the disk is full",
        when: &[
            Raised(&[], "No space left on device"),
            Raised(&[], "Disk quota exceeded"),
            Printed("No space left on device"),
        ],
        says: Some("no space is left on the disk: {exception}"),
        help: "`df -h` shows which file system is full; write checkpoints elsewhere, or keep fewer (`max_to_keep`)",
        on_cluster: Some("enlarge the volume that it writes to, keep fewer checkpoints (`max_to_keep`), or raise `ephemeral-storage`"),
        explanation: "\
A write failed because the file system, or the user's quota on it, is full. `df -h PATH` and `df -i PATH` show space and inodes. Checkpoints, summaries for TensorBoard and caches of `tf.data` grow with every run; on one machine volumes of claims are kept below the state directory until `trainyard rm --volumes`.",
    },
    Entry {
        number: 17,
        class: "package-index-unreachable",
        title: "the package index cannot be reached",
        when: &[
            Printed("ERROR: No matching distribution found for {}"),
            Printed("ERROR: Could not find a version that satisfies the requirement {}"),
            Printed("Could not fetch URL {}: connection error"),
            Printed("Failed to fetch: `{}`"),
        ],
        says: Some("pip could not install {0}"),
        help: "if there is no such version, correct it; without a network, set PIP_INDEX_URL to an index that can be reached, or use an environment that has the package",
        on_cluster: Some("if there is no such version, correct it; without a network, install the package in the image"),
        explanation: "\
`pip` asked a package index and got no answer, or the answer that there is no such version for this Python. Its own words are in the log. Behind a proxy set HTTPS_PROXY; with a mirror, PIP_INDEX_URL. A script that installs packages when it starts does so in every task and at every restart: packages belong in the image, or under `requirements:` in the configuration file.",
    },
    Entry {
        number: 16,
        class: "no-network",
        title: "a host cannot be reached",
        when: &[
            Raised(&[], "Name or service not known"),
            Raised(&[], "Temporary failure in name resolution"),
            Raised(&[], "nodename nor servname provided"),
            Raised(&[], "Network is unreachable"),
            Raised(&[], "No route to host"),
            Raised(&["TimeoutError", "timeout"], "timed out"),
            Raised(&["ConnectionRefusedError", "ConnectionResetError"], ""),
            Raised(&["URLError", "ConnectionError", "ConnectTimeout", "ReadTimeout", "MaxRetryError"], ""),
            Raised(&[], "URL fetch failure on {}"),
            Raised(&["SSLError", "SSLCertVerificationError"], ""),
            Printed("Could not resolve host: {}"),
            Printed("bad address '{}'"),
            Printed("no servers could be reached"),
        ],
        says: None,
        help: "the program needs the network: check the host's name and a proxy (HTTPS_PROXY), or download the data before and mount it; `--isolate` and jobs that name pods have no outside access",
        on_cluster: Some("the program needs a network or a name that its pod does not have: check the cluster's DNS (`kubectl get pods -n kube-system -l k8s-app=kube-dns`), NetworkPolicies and proxies, or put the data into a volume"),
        explanation: "\
The program wanted to reach another host and could not: its name is not known, nothing answers, or a certificate is not trusted. `tf.keras.datasets` and `tensorflow_datasets` download when they are first used; each task does so by itself.

On one machine `--isolate`, and jobs whose manifest contains the names of pods, run in a network without outside access. Download the data before and mount it.",
    },
    Entry {
        number: 8,
        class: "out-of-memory-limit",
        title: "more memory than its limit",
        when: &[
            All(&[Code(137), Memory(MemoryEvidence::LimitReached)]),
            Memory(MemoryEvidence::LimitReached),
            Reason(&["OOMKilled"]),
        ],
        says: Some("out of memory: its control group reached its limit, and the kernel killed it (SIGKILL)"),
        help: "raise the memory limit of the session or container around `trainyard run`, use a smaller batch, or run fewer tasks at once",
        on_cluster: Some("raise `resources.limits.memory` of the container, or use a smaller batch"),
        explanation: "\
The processes of the task used more memory than the control group around them may. The kernel then kills one of them with SIGKILL, without a word in its output. On a cluster that limit is `resources.limits.memory`. On one machine manifests' limits have no effect; the limit is that of the container, the session or the systemd unit in which `trainyard run` was started.

Memory that grows with every step is a leak: a list that keeps tensors, a `tf.function` that is traced again for every new Python value.",
    },
    Entry {
        number: 9,
        class: "out-of-memory-machine",
        title: "the machine ran out of memory",
        when: &[All(&[Code(137), Memory(MemoryEvidence::MachineFull)])],
        says: Some("out of memory: the machine had none left, and the kernel killed a process (SIGKILL), most likely this one"),
        help: "use a smaller batch or fewer tasks (`--replicas worker=2`); `dmesg | grep -i oom` names the process that was killed",
        on_cluster: Some("the node ran out of memory: set `resources.requests.memory` to what the task needs, so that it is placed where there is room"),
        explanation: "\
All memory of the machine was in use, and the kernel killed a process to get some back. Its counter of such kills rose while the task ran, and the task ended with SIGKILL: that it was this process is likely, and `dmesg` says for certain.

All tasks of a local run share the memory of one machine: a TensorFlow process takes about 0.5 GB before it has done anything.",
    },
    Entry {
        number: 10,
        class: "killed",
        title: "the program was killed",
        when: &[All(&[Code(137), Memory(MemoryEvidence::Enough)])],
        says: Some("it was killed (SIGKILL) by another process, not for want of memory"),
        help: "`kill -9`, `trainyard kill`, or a supervisor outside of Trainyard sends that signal: look for what stops processes on this machine",
        on_cluster: Some("the kubelet or a process in the pod killed it: a failed liveness probe, a grace period that was too short; `kubectl describe pod` shows which"),
        explanation: "\
The program received SIGKILL, which cannot be caught. No process was killed for memory while it ran, so another process sent it: `kill -9`, a job system, `trainyard kill` as a test, or `bash -c` around a program that was itself killed (exit code 137 without a signal).",
    },
    Entry {
        number: 47,
        class: "killed-unknown",
        title: "the program was killed, for an unknown reason",
        when: &[Code(137)],
        says: Some("it was killed (SIGKILL), and whether for want of memory cannot be told here"),
        help: "`dmesg | grep -i oom` shows kills for want of memory; otherwise another process sent `kill -9`",
        on_cluster: Some("not for its own memory limit (the container's reason would be OOMKilled): the node ran out of memory, a liveness probe failed, or a process in the pod killed it; `kubectl describe pod` shows which"),
        explanation: "\
The program received SIGKILL. The kernel's counters of kills for want of memory could not be read, so both are possible: that memory ran out, and that another process killed it. `dmesg` knows.",
    },
    Entry {
        number: 38,
        class: "crashed",
        title: "the processor lacks an instruction",
        when: &[Code(132), Printed("The TensorFlow library was compiled to use {} instructions")],
        says: Some("it used an instruction that this processor does not have (SIGILL)"),
        help: "TensorFlow's wheels need AVX: use a machine that has it, or a wheel built for this one",
        on_cluster: Some("TensorFlow's wheels need AVX: place the pods on nodes that have it (node affinity), or use another build"),
        explanation: "\
The program was ended by SIGILL: it was compiled for a newer processor. TensorFlow's own wheels need AVX, which some virtual machines hide. `grep avx /proc/cpuinfo` shows whether it is there.",
    },
    Entry {
        number: 12,
        class: "crashed",
        title: "the program crashed in native code",
        when: &[Code(139), Code(135), Code(136)],
        says: Some("it crashed in native code (segmentation fault, SIGSEGV)"),
        help: "run it once with PYTHONFAULTHANDLER=1 (`--env PYTHONFAULTHANDLER=1`): Python then prints which line it was in",
        on_cluster: Some("set PYTHONFAULTHANDLER=1 in `env`: Python then prints which line it was in"),
        explanation: "\
The program was ended by SIGSEGV, SIGBUS or SIGFPE: a library accessed memory that is not its own, or the data it mapped is gone. Python cannot catch that. With PYTHONFAULTHANDLER=1 it prints the Python lines of every thread first. The usual causes are packages of versions that do not fit together, a full /dev/shm, and a data loader that forks after TensorFlow was initialised.",
    },
    Entry {
        number: 11,
        class: "aborted",
        title: "a library aborted the program (SIGABRT)",
        when: &[
            All(&[Code(134), Printed("Check failed: {}")]),
            All(&[Code(134), Printed("terminate called after throwing an instance of '{}'")]),
            All(&[Code(134), Printed("Fatal Python error: {}")]),
            Code(134),
        ],
        says: Some("a library aborted the program (SIGABRT): {0}"),
        help: "the lines above the end of its log say which check failed; PYTHONFAULTHANDLER=1 adds the Python line",
        on_cluster: None,
        explanation: "\
A library found that it cannot go on and ended the program with SIGABRT: a failed check in TensorFlow (`Check failed: …`), a C++ exception that was not caught, or damaged memory (`free(): invalid pointer`). The last lines of the log say which. If all tasks abort at once, look for the one that failed first: TensorFlow's coordination service ends the others.",
    },
    Entry {
        number: 13,
        class: "terminated",
        title: "the program was told to stop",
        when: &[Code(143)],
        says: Some("it was told to stop (SIGTERM), and not by Trainyard"),
        help: "another process sent SIGTERM: a shutdown, a job system, a time limit around the program (`timeout`), or the script itself",
        on_cluster: Some("a process in the pod, or a time limit around the program (`timeout`), sent SIGTERM: the pod itself was not deleted"),
        explanation: "\
The program ended with exit code 143, which is SIGTERM, though Trainyard had not stopped it. Something else did: a process of the same user, `timeout` around the command, or the program's own parent.",
    },
    Entry {
        number: 14,
        class: "exit-42",
        title: "exit code 42",
        when: &[Code(42)],
        says: Some("exit code 42, a code of the program's own"),
        help: "TensorFlow's PreemptionCheckpointHandler exits with 42 after it has saved a checkpoint, if the script asks for it; `restartPolicy: ExitCode` then restarts the task",
        on_cluster: None,
        explanation: "\
The program ended with exit code 42. That is a code of its own: nothing in Python or Linux gives it a meaning. TensorFlow's PreemptionCheckpointHandler can be told to exit with it when the machine is about to be taken away; whether this script does so is for its author to say. Under `restartPolicy: ExitCode` of a TFJob 42 restarts the task.",
    },
    Entry {
        number: 23,
        class: "command-missing",
        title: "a command was not found",
        when: &[
            All(&[Code(127), Printed("{}: command not found")]),
            All(&[Code(127), Printed("{}: not found")]),
            All(&[Code(127), Printed("{}: No such file or directory")]),
            Code(127),
        ],
        says: Some("a command was not found: {0}"),
        help: "install it, or correct its name; programs of the image are not on this machine unless the configuration maps them",
        on_cluster: Some("install it in the image, or correct its name"),
        explanation: "\
A shell script of the task called a program that is not on the PATH (exit code 127). On one machine a task runs programs of this machine, not those of its image.",
    },
    Entry {
        number: 24,
        class: "not-executable",
        title: "a file cannot be executed",
        when: &[
            All(&[Code(126), Printed("{}: Permission denied")]),
            Code(126),
        ],
        says: Some("the command cannot be executed: {0}"),
        help: "`chmod +x` the file, or call it through its interpreter: `command: [python, train.py]`",
        on_cluster: None,
        explanation: "\
A command was found and cannot be executed (exit code 126): it lacks the permission, is a directory, or is a program for another kind of machine. A script needs `chmod +x` and a first line such as `#!/usr/bin/env python3`, or is given to its interpreter.",
    },
];
