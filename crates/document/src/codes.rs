//! Every problem that can be reported: its stable code, severity, title and explanation.
//!
//! This table is the only place where a code is made. A new row goes at the end of its range; a number, once
//! published, is never given to something else. `docs/problems.md` and `trainyard explain` are printed from it.
//!
//! | range | about |
//! |---|---|
//! | TY001–TY019 | reading the text |
//! | TY020–TY039 | the shape: fields, types, kinds |
//! | TY040–TY079 | checks that every dialect shares |
//! | TY080–TY099 | what a conversion cannot carry over |
//! | TY100–      | one dialect's own: TFJob, TensorFlowTrainingJob from TY120, Volcano's Job from TY140 |
//! | TY160–      | templates of `trainyard expand` |

use std::fmt;

use serde::{Serialize, Serializer};

use crate::problem::{Severity, closest};

/// Makes the enum and its table from one list of rows.
macro_rules! codes {
    ($($variant:ident = $number:literal $severity:ident $title:literal $explanation:literal)*) => {
        /// A stable name for one sort of problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Code {
            $(
                #[doc = $title]
                $variant = $number,
            )*
        }

        impl Code {
            /// All codes, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$variant => Row {
                        severity: Severity::$severity,
                        title: $title,
                        explanation: $explanation,
                    },)*
                }
            }
        }
    };
}

struct Row {
    severity: Severity,
    title: &'static str,
    explanation: &'static str,
}

codes! {
// ---- TY001–TY019: reading the text ------------------------------------------------------------------------------
CannotRead = 1 Error "the file cannot be read" "\
The operating system refused to open or read the file: it does not exist, is a directory, or you may not read it. \
Check the path and the permissions. Standard input is written `-`."
TooLarge = 2 Error "the file is too large" "\
A source may hold at most 16 MiB. Manifests are far smaller; a file of that size is usually data or a log that was \
given by mistake. Split a very long list of manifests into several files."
NotUtf8 = 3 Error "the text is not UTF-8" "\
The bytes at the place named are not valid UTF-8. kubectl replaces such bytes silently by U+FFFD, which changes names \
and commands without a word, so this is an error here. Save the file as UTF-8."
Utf16 = 4 Error "the text is UTF-16" "\
The file begins with the mark of UTF-16, as some Windows editors and PowerShell's `>` write it. Save it as UTF-8: in \
PowerShell `Out-File -Encoding utf8`, elsewhere `iconv -f utf-16 -t utf-8`."
ControlCharacter = 5 Error "a control character in the text" "\
YAML and JSON allow no control characters but tab and line break. A NUL or an escape character usually means that the \
file is binary or was damaged. Inside double quotes such a character can be written as an escape: `\"\\x07\"`."
Syntax = 6 Error "the text is not valid YAML or JSON" "\
The reader could not make sense of the text at the place named. The usual causes are a tab used as indentation, a key \
without the space after its colon (`name:x`), a quote or bracket that is never closed, or a line that is indented less \
than its neighbours. The documents before it and after the next `---` are read all the same."
TooDeep = 7 Error "nested too deeply" "\
Lists and maps may be nested 100 levels deep. A manifest needs about fifteen. Deeper text is damaged or hostile."
TooManyNodes = 8 Error "too many values" "\
A source may hold 1,000,000 values, each alias counted with everything it stands for, and 10,000 marks for aliases; \
aliases may stand for at most 16 MiB of text. A small file that reaches this has aliases of aliases. Write the values out, or split the file."
TooManyDocuments = 9 Error "too many documents" "\
A source may hold 10,000 documents. Split it into several files of at most that many."
DuplicateKey = 10 Error "the same key twice in one map" "\
The second entry would silently replace the first: kubectl keeps only the last one. Remove one of the two. Keys are \
compared as kubectl reads them, so `yes`, `true` and `\"true\"` are the same key, and so are `1` and `\"1\"`."
BadKey = 11 Error "a key that is not text" "\
Keys of a manifest are text. Numbers and booleans are turned into text as kubectl does, but an empty key, a list or a \
map cannot be a key. If the text in front of the colon is meant as text, quote it. Text such as `{{ name }}` in a \
manifest is often a template that was not filled in."
BadAlias = 12 Error "an alias that stands for nothing" "\
`*name` stands for the value marked `&name` earlier in the same document. Aliases do not reach into other documents, \
and a value cannot contain itself."
BadMerge = 13 Error "a merge that is not a map" "\
`<<:` takes a map (`<<: *defaults`) or a list of maps (`<<: [*a, *b]`). A key that is really called `<<` must be quoted."
NotFinite = 14 Error "not a finite number" "\
`.inf` and `.nan` are numbers in YAML but not in JSON, so no manifest can hold them. Quote the text if it is meant as \
text."
BadTag = 15 Error "a value that does not fit its tag" "\
A tag such as `!!int` or `!!binary` says what the value is, and this value is not that. `!!binary` takes base64 of \
UTF-8 text. Tags are never needed in a manifest: remove it, or quote the value."
MergedOverOwn = 16 Warning "a merged value replaces the map's own" "\
kubectl merges in the order of the text: in `{a: 5, <<: *base}` the value of `a` comes from `base`, and only a key \
written after the merge wins over it. Other tools do the opposite. Put `<<:` first in the map, so that all agree."
KubectlRefuses = 17 Warning "kubectl would refuse this text" "\
The text is valid YAML and is read here, but kubectl's older reader stops at it. If the manifest is also to be applied \
with kubectl, write it as the hint says."
TagIgnored = 18 Warning "a tag without meaning" "\
An unknown tag such as `!foo` is ignored, here as in kubectl, and the value is taken as plain text. It is often a \
marker of another tool (`!Ref`, `!vault`) that should have replaced it."
AfterDocumentEnd = 19 Error "text that kubectl never reads" "\
`...` ends a document. kubectl reads one document between two `---` lines and silently skips what stands after it. \
Begin the next document with `---`."

// ---- TY020–TY039: the shape -------------------------------------------------------------------------------------
UnknownField = 20 Error "unknown field" "\
The field does not exist at this place. Kubernetes either refuses it or drops it silently, depending on how the \
manifest is applied; in both cases what was meant does not happen. The most common causes are a slip of the keyboard \
and a field that is indented one level too far or too little."
WrongType = 21 Error "a value of the wrong type" "\
The field takes another sort of value. Mind that unquoted `yes`, `no`, `on`, `off`, `y` and `n` are booleans and \
`017` is the number 15, as in kubectl: put quotes around text that looks like a number or a boolean."
MissingField = 22 Error "a required field is missing" "\
Without this field the manifest cannot be used. Add it at the place named."
UnknownValue = 23 Error "a value that is not one of the allowed ones" "\
The field takes one of a fixed set of words, written exactly so, with their capitals."
UnknownKind = 24 Warning "a kind that is not a job" "\
The object is kept and handed on as it is, but nothing is checked in it. Jobs are `TFJob` (kubeflow.org), \
`TensorFlowTrainingJob` (batch.tensorstack.dev) and `Job` (batch.volcano.sh)."
MovedField = 25 Warning "a field in its old place" "\
Older versions of this kind had the field here. It is read all the same. Newer operators look for it in the new place \
only, so move it."
OutOfRange = 26 Error "a number out of range" "\
The number is smaller or larger than the field can hold or than makes sense for it."
FieldIgnored = 27 Warning "a field without effect" "\
The field is known, but does nothing here. The message says why, and what does the same if something does."
UnknownVersion = 28 Error "a version of this kind that does not exist" "\
The group and kind are known, but this version of them never was. Check `apiVersion` for a slip."
NotAnObject = 29 Error "a document that is no Kubernetes object" "\
Every document of a manifest is a map with `apiVersion` and `kind`. A list of objects is written as `kind: List` with \
`items`, or as documents separated by `---`."
BadFormat = 30 Error "text in the wrong form" "\
The field takes text of a certain form: a name, a duration, a time. The message says which, and what does not fit."
MoreProblems = 31 Error "more problems than are shown" "\
Only the first hundred problems of a document are shown. Mend those and check again."
NoJob = 32 Warning "no job in the file" "\
The file was read and nothing in it is a job. Check `apiVersion` and `kind` of what it holds."
MistakenKind = 33 Error "a kind that does not exist, but nearly" "\
The group and kind are close to those of a job, but not the same, so the object would be no job at all: neither here nor \
for the API server. Jobs are `TFJob` (kubeflow.org/v1), `TensorFlowTrainingJob` (batch.tensorstack.dev/v1beta1) and `Job` \
(batch.volcano.sh/v1alpha1)."

// ---- TY040–TY079: checks that every dialect shares --------------------------------------------------------------
NoMainContainer = 40 Error "no container named `tensorflow`" "\
The container named `tensorflow` is the task: TF_CONFIG is set in it and its exit code decides. Every role's template \
needs one. Sidecars may have any other name."
NameTooLong = 41 Error "a derived name becomes too long" "\
Pods, Services and labels are named after the job, the role and the index, and Kubernetes allows 63 characters for \
each. The message says which name becomes too long and by how much. Shorten the name of the job."
ManyChiefs = 42 Error "more than one chief" "\
TensorFlow knows one chief (or master). It writes the checkpoints and decides the job's success. Set `replicas: 1`, and \
use only one of `Chief` and `Master`."
OnlyParameterServers = 43 Error "a job of parameter servers alone" "\
Parameter servers wait for others to use them; a job without a chief or a worker never does anything and never ends. \
Add a `Worker` or a `Chief`."
ZeroReplicas = 44 Warning "a role with no replicas" "\
The role is declared but has `replicas: 0`, so none of its tasks are started and it is left out of TF_CONFIG. Remove \
the role, or raise the number."
DuplicateRole = 45 Error "the same role twice" "\
Roles are the same whatever their letter case, so `Worker` and `worker` are one role. Join them into one entry."
NegativeLimit = 46 Error "a negative limit" "\
Limits, deadlines and counts cannot be negative. Leave the field out for \"no limit\"."
BadQuantity = 47 Error "not a Kubernetes quantity" "\
A quantity is a number with an optional suffix: `500m`, `2`, `1.5`, `16Gi`, `8G`, `1e3`. Suffixes are n, u, m, k, M, G, \
T, P, E and Ki, Mi, Gi, Ti, Pi, Ei, in exactly these letters and without a space: `16GB`, `16gi` and `1 Gi` are not \
quantities."
TfConfigTooLong = 48 Error "`TF_CONFIG` would be too long" "\
Linux gives one environment variable at most 131,071 bytes with its name; TF_CONFIG lists the address of every task and \
grows past that. The message says how many replicas would fit. Use fewer replicas, a shorter job name, or dynamic \
workers, which leave the other workers out of each task's TF_CONFIG."
ServersNeverStop = 49 Warning "parameter servers that nobody stops" "\
Parameter servers do not end by themselves, and with `cleanPodPolicy: None` nothing stops them when the job is done: \
they go on holding their CPU and memory. Use `cleanPodPolicy: Running` (`cleanupPodPolicy` in v1alpha1, `cleanUpPolicy: \
Unfinished` in a TensorFlowTrainingJob)."
RestartPolicyOverwritten = 50 Warning "the template's restartPolicy is overwritten" "\
The role's own `restartPolicy` decides; the one inside the pod template is replaced. Remove it from the template."
StrippedMetadata = 51 Warning "metadata that is removed from the template" "\
`finalizers` and `ownerReferences` in a pod template would keep pods from being deleted, or give them away to another \
owner. They are removed. Delete them from the template."
OldGpuName = 52 Warning "the old name of the GPU resource" "\
`alpha.kubernetes.io/nvidia-gpu` was removed in Kubernetes 1.11: no node offers it, so the pod would wait for ever. It \
is counted as `nvidia.com/gpu` here. Write `nvidia.com/gpu`."
ServersBesideMirrored = 53 Warning "parameter servers beside a mirrored layout" "\
MultiWorkerMirroredStrategy uses workers alone and ignores parameter servers, which then only hold resources. If the \
script uses ParameterServerStrategy, it needs a chief (or a worker that coordinates) as well."
NeverSucceeds = 54 Warning "the job can never succeed" "\
No combination of exits meets a rule that completes the job, for example because the deciding task is restarted also \
when it exits 0. `trainyard plan` prints the rules in order."
ShadowedRule = 55 Warning "a rule that can never match" "\
Rules are tried in order and the first that matches wins. An earlier one matches everything this one would, so it has no \
effect. Put the narrower rule first, or remove it."
BadName = 56 Error "not a valid Kubernetes name" "\
Names of jobs, containers and ports consist of lower-case letters, digits and dashes, and begin and end with a letter \
or digit: at most 63 characters for jobs and containers, 15 with at least one letter for ports."
DuplicateName = 57 Error "the same name twice" "\
The entries of this list are found by their name, so each name may be used once."
NoImage = 58 Error "a container without an image" "\
Kubernetes does not start a container without `image`. Add it: `image: tensorflow/tensorflow:2.21.0`."
BadPort = 59 Error "not a valid port" "\
Ports are whole numbers from 1 to 65535, and a container may list each one only once per protocol."
EnvNotText = 60 Error "an environment value that is not text" "\
`value` of an environment variable is text. Unquoted `yes`, `on`, `1` or `0.5` is a boolean or a number, in kubectl as \
here, and the API server refuses it. Put quotes around it: `value: \"1\"`."
NoContainers = 61 Error "a template without containers" "\
A pod template needs at least one entry under `spec.containers`; without it Kubernetes refuses the pod."
RequestAboveLimit = 62 Error "a request above its limit" "\
A container may not request more of a resource than its limit; the API server refuses such a pod. Extended resources \
such as `nvidia.com/gpu` need request and limit to be equal, or the limit alone."
DuplicateVariable = 63 Warning "the same environment variable twice" "\
The last entry wins and the earlier one has no effect. Remove one of them."
MountWithoutVolume = 64 Error "a mount of a volume that is not declared" "\
`volumeMounts[].name` must be the name of an entry in `spec.volumes` of the same template."
FractionOfDevice = 65 Error "a part of a device" "\
Extended resources such as `nvidia.com/gpu` are counted in whole numbers; `500m` or `0.5` of one is refused."
TfConfigSet = 66 Warning "`TF_CONFIG` is set by hand" "\
TF_CONFIG is made for every task and replaces the one written in the template. Remove it from `env`."
BadEnv = 67 Error "an environment entry that cannot be used" "\
Every entry of `env` has a `name` and either `value` or `valueFrom` with exactly one source."
BadVolume = 68 Error "a volume that cannot be used" "\
Every entry of `volumes` has a `name` and exactly one source, such as `emptyDir: {}` or `configMap: {name: …}`; the API \
server refuses one with two. Make two volumes of it."
TooManyTasks = 69 Error "too many tasks" "\
A job may have 100,000 tasks. No cluster runs more pods than that, so the number is a slip; it is refused before anything \
is made of it."
SameJobTwice = 70 Error "two jobs of one name" "\
Jobs of one kind are told apart by namespace and name. When both are applied, the second silently replaces the first. \
Rename one of them, or use `generateName`."
GangLargerThanJob = 71 Warning "a gang larger than the job" "\
The scheduler is told to start nothing before so many tasks can be placed, and the job does not have so many. It would \
wait for ever. Lower the number, or leave it out to mean all tasks."
StartOrderInGang = 72 Error "a start order that the gang cannot keep" "\
A gang scheduler places no pod before enough of them exist; a start order creates no more before the first ones run. \
Together they wait for each other for ever. Use one of the two."
VolumeWithoutSource = 73 Warning "a volume without a source" "\
Kubernetes takes a volume without a source for an empty directory that vanishes with the pod. That is often a slip of \
indentation: the source belongs at the same depth as `name`. Write `emptyDir: {}` if an empty directory is meant."
BadFileName = 74 Error "a file's name that is not allowed" "\
Where a ConfigMap or a Secret is mounted, each of its keys is the name of a file. A key is made of letters, digits, `-`, \
`_` and `.`, has at most 253 characters and does not begin with `..`. The `path` of an item, and a `subPath`, is \
relative and has no `..` in it. The API server refuses everything else, since such a file would be written outside its \
volume; so does `trainyard run`. Name the key plainly, and say with `items` and `mountPath` where its file is to be."

// ---- TY080–TY099: what a conversion cannot carry over -----------------------------------------------------------
LostJob = 80 Error "the job has no form in the other dialect" "\
The manifest that was written is refused by the dialect it is written in, so what it means cannot be compared. Run \
`trainyard check` on it to see why, and mend it by hand."
LostRole = 81 Warning "a role that the other dialect does not have" "\
The other dialect knows only TensorFlow's own roles. The role and its tasks are left out of the converted manifest."
LostName = 82 Warning "tasks get another name" "\
The role is called otherwise in the other dialect, so its pods, addresses and logs are too, or only `TF_CONFIG` calls it \
otherwise: Volcano's plugin knows no master and says `chief`. The meaning is the same, but a script that asks for the old \
word must ask for the new one."
LostSuccess = 83 Warning "the job succeeds otherwise" "\
Which tasks must succeed for the job to succeed cannot be said in the other dialect as it is here. The message says what \
holds here and what will hold there."
LostAnswer = 84 Warning "an end is answered otherwise" "\
What happens when a task ends in this way is not the same in the converted manifest. `trainyard plan` shows the rules of \
both, and `trainyard simulate` what follows from them."
LostRule = 85 Warning "a rule is left out" "\
A rule about more than one end, such as a time-out, cannot be said in the other dialect."
LostLimit = 86 Warning "a limit or policy changes" "\
A budget, a deadline, a time to live, the clean-up policy or the like has no counterpart in the other dialect, or another \
value there."
LostStartOrder = 87 Warning "the start order changes" "\
Which tasks wait for which others before they start is not the same in the converted manifest."
LostGang = 88 Warning "gang scheduling changes" "\
How many tasks must be placed together, in which queue and with which priority, is not the same in the converted manifest."
LostPort = 89 Warning "a port changes" "\
TensorFlow listens on another port in the converted manifest. Name the port in the template as the other dialect wants it."
LostField = 90 Warning "a field is left out" "\
The field means something to the system it was written for, and nothing to any other. It is left out of the converted \
manifest; what it did must be done in another way."

CannotRender = 91 Error "a job that cannot be rendered" "\
The job cannot be written as Kubernetes objects as it stands: its name is made by a server (`generateName`) and the objects must \
know it before, the manifest and `-n` name different namespaces, or tasks are to be found by nodes and there is no node for some \
of them. The message says which. Nothing is written, so that no half of a job is applied."

// ---- TY100–TY119: TFJob -----------------------------------------------------------------------------------------
UnknownRole = 100 Error "a role that does not exist" "\
A TFJob has the roles `Chief` (or `Master`), `PS`, `Worker` and `Evaluator`, in any letter case. Kubeflow's operator would \
start pods for any other word too, but leave them out when it decides whether the job has succeeded or failed."
RoleNotInJob = 101 Error "a role that this job does not have" "\
`restartScope` and `startOrder` name roles of the same job. Remove the role there, or add it to `tfReplicaSpecs`."
DeciderMissing = 102 Error "the task that is to decide does not exist" "\
`terminationPolicy.chief` names the one task whose success is the job's. Without it the job could never succeed."
ScopeWithoutRestarts = 103 Warning "a restart scope where nothing restarts" "\
`restartScope` says what else is started again when a task is. With `restartPolicy: Never` a failure ends the job, so only \
tasks that are evicted, preempted or deleted are ever started again. Set `restartPolicy: ExitCode` to start again after \
failures too."
ScopeWithoutLimit = 104 Warning "whole-job restarts without a limit" "\
When one task dies its peers fail too, with exit code 1 as a rule, and may be seen first. With `backoffLimit` set, every \
failure therefore restarts the job. Without it, an error in the script would restart it for ever, so exit codes 1 to 127 \
fail the job at once: also when a peer's death was the cause. Set `runPolicy.backoffLimit`."
GroupsDiffer = 105 Warning "templates that name different groups" "\
Tasks of one job are usually placed together, so their templates name the same group. Here they do not: the scheduler will \
place them apart."
VersionNotServed = 106 Warning "a version that is not served" "\
`kubeflow.org/v1alpha1` and `v1alpha2` are read here, and jobs written so run on one machine. The definition of TFJob that \
`trainyard install` applies serves `v1`, `v1beta2` and `v1beta1`, and Kubeflow's own serves `v1`: the API server refuses any \
other. `trainyard convert --to tfjob` writes the manifest as `kubeflow.org/v1`."

// ---- TY120–TY139: TensorFlowTrainingJob ------------------------------------------------------------------------
T9kSwitches = 120 Error "two switches that disagree" "\
The switch of debug mode and of pause is called `enabled`; an old page of the manual called it `enable`. Both are given here, \
and they say different things. Keep `enabled`."
T9kModeRole = 121 Error "a setting for a role that the job does not have" "\
`runMode.debug.replicaSpecs` and `runMode.pause.resumeSpecs` change the pods of roles that `spec.replicaSpecs` has, each role \
once. Remove the entry, or mend its `type`."
T9kFileset = 122 Error "not the address of a set of files" "\
`trainingLogFilesets` takes addresses of files in a volume claim, `t9k://pvc/<claim>/<path>`, or in a bucket, \
`t9k://minio/<secret>/<bucket>/<path>`."

// ---- TY140–TY159: Volcano's Job --------------------------------------------------------------------------------
VolcanoNoTasks = 140 Error "a Volcano job without tasks" "\
`spec.tasks` is the list of what the job runs, and Volcano refuses a job in which it is empty. Add one task with `name`, \
`replicas` and `template`."
VolcanoMinimum = 141 Error "a number that can never be reached" "\
`minAvailable` and `minSuccess` count pods, of the job or of one task, so neither can be larger than the number of them. \
Lower the number, or raise `replicas`."
VolcanoTrigger = 142 Error "a policy that waits for nothing, or for two things" "\
A policy waits for an event (`event`, or several in `events`) or for an exit code (`exitCode`). Volcano refuses one with \
both, and one with neither. Make two policies of it."
VolcanoInternal = 143 Error "a word of Volcano's own" "\
Some events and actions are those of Volcano's controller itself (`OutOfSync`, `CommandIssued`, `PodRunning`, `SyncJob` …). \
Its webhook refuses them in policies."
VolcanoDuplicateTrigger = 144 Error "the same event or exit code in two policies" "\
In one list each event and each exit code may be waited for once, and `*`, which stands for every event, only alone. A task \
may wait for the same events as its job: then the task's policy counts."
VolcanoNeverRaised = 145 Warning "an event that never comes" "\
The policy is taken by Volcano but never acted on: `JobUpdated` is never raised, `PodPending` only counts with a `timeout`, \
and `Unknown` is about the whole group of pods, so that a task's own policies do not see it. It is left out."
VolcanoCannot = 146 Error "something that is not carried out" "\
Volcano can do this and Trainyard does not: restarts of single partitions, and the plugins for ssh, MPI, PyTorch, Ray and \
Huawei's ranks. The job would not run as it was meant, so it is refused rather than run differently."
VolcanoUnknownPlugin = 147 Error "a plugin that does not exist" "\
The keys of `spec.plugins` are names of plugins. Those that are carried out are `env`, `svc` and `tensorflow`; each takes a \
list of arguments, which may be empty."
VolcanoPluginArgument = 148 Error "an argument that the plugin cannot use" "\
Arguments are written `--name=value`. `svc` has `--publish-not-ready-addresses`, `--disable-network-policy` and \
`--inject-hosts-env`; `tensorflow` has `--ps`, `--worker`, `--chief` and `--evaluator`, whose values are names of tasks, and \
`--port`."
VolcanoDependsOn = 149 Error "tasks that wait for what never comes" "\
`dependsOn.name` lists tasks of the same job that must be up before this one starts. A name that is no task, or tasks that \
wait for each other in a circle, would keep them from ever starting."
VolcanoVolume = 150 Error "a volume of the job that cannot be mounted" "\
Every entry of `spec.volumes` has a `mountPath` of its own without `:` in it, and either `volumeClaimName`, for a claim that \
exists, or `volumeClaim`, the spec of one that is made for the job."
VolcanoTopology = 151 Error "a placement that cannot be" "\
`networkTopology` takes a tier by number or by name, not both; `topologyPolicy` needs whole CPUs in every container; and \
`totalPartitions` times `partitionSize` must be `replicas`."
VolcanoNoEffect = 152 Warning "an action that does nothing" "\
`ResumeJob` as the answer to an event changes nothing in a running job: the end is treated as if there were no policy for \
it. A job that was aborted is resumed by a command."
VolcanoHosts = 153 Error "more names of pods than the plugin can hand out" "\
The plugin `svc` puts the names of all pods of the job into one ConfigMap, which holds at most 1 MiB. Use fewer replicas or a \
shorter name; with the plugin `tensorflow` alone the same limit holds, since it needs `svc`."
// ---- TY160–: templates of `trainyard expand` --------------------------------------------------------------------
Template = 160 Error "a template that cannot be filled in" "\
`trainyard expand` takes templates of Go's text/template: `{{.host}}`, `{{if eq .type \"ps\"}} … {{end}}`. A name in it that \
means nothing, a block that is not closed, or an action that fails for some task stops everything, and no file is touched. \
docs/expand.md lists the variables and functions that there are."
TemplateNotYaml = 161 Error "a template whose result is no YAML" "\
What the template makes for a task cannot be read as YAML, so `kubectl` would refuse it too. The place is that of the template; \
the line that it makes is shown with it. Often `TF_CONFIG` stands at another depth than it is indented for: \
`{{.TF_CONFIG_JSON | quote}}` fits everywhere."
}

impl Code {
    /// The number behind `TY`.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether the manifest can be used in spite of it.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.row().severity
    }

    /// What it is, in a few words.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// What it means, why it matters and how to mend it.
    #[must_use]
    pub const fn explain(self) -> &'static str {
        self.row().explanation
    }

    /// Whether it is about the text rather than about what the text says.
    #[must_use]
    pub const fn is_about_text(self) -> bool {
        self.number() < 20
    }

    /// The code with this name: `TY012`, `ty12` and `12` are the same.
    pub fn find(text: &str) -> Result<Self, UnknownCode> {
        let plain = text.trim();
        let digits = plain
            .strip_prefix("TY")
            .or_else(|| plain.strip_prefix("ty"))
            .unwrap_or(plain);
        let number = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse::<u16>().ok())
            .flatten();
        number
            .and_then(|number| Self::ALL.iter().copied().find(|code| code.number() == number))
            .ok_or_else(|| {
                let names: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
                let near =
                    closest(&plain.to_uppercase(), names.iter().map(String::as_str)).map(str::to_owned);
                UnknownCode {
                    text: crate::problem::shown(plain),
                    near,
                }
            })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TY{:03}", self.number())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCode {
    /// The text, fit to be shown.
    pub text: String,
    /// The code that was probably meant.
    pub near: Option<String>,
}

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no problem code `{}`", self.text)?;
        match &self.near {
            Some(near) => write!(f, "; did you mean `{near}`?"),
            None => write!(f, "; codes look like `TY001`"),
        }
    }
}

impl std::error::Error for UnknownCode {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_no_row_is_bare() {
        assert!(
            Code::ALL
                .windows(2)
                .all(|pair| pair[0].number() < pair[1].number())
        );
        for code in Code::ALL {
            assert!(!code.title().ends_with('.'), "{code}");
            assert!(code.explain().ends_with('.'), "{code}");
            assert!(code.explain().len() > 60, "{code}");
        }
    }

    #[test]
    fn codes_are_found_by_any_spelling() {
        for text in ["TY006", "ty6", "6", " TY006 "] {
            assert_eq!(Code::find(text), Ok(Code::Syntax), "{text}");
        }
        assert_eq!(Code::find("TY0O6").unwrap_err().near.as_deref(), Some("TY006"));
        for text in ["", "TY", "99999999", "-6", "hello"] {
            assert!(Code::find(text).is_err(), "{text}");
        }
    }
}
