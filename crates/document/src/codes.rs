//! Every problem that can be reported: its stable code, severity, title and explanation.
//!
//! This table is the only place where a code is made; its explanation is the file of that name under `codes/`. A new row
//! goes at the end of its range; a number, once published, is never given to something else. `docs/problems.md` and
//! `trainyard explain` are printed from both.
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

use crate::problem::{Severity, closest, shown};

/// Makes the enum and its table from one list of rows.
macro_rules! codes {
    ($($variant:ident = $number:literal $severity:ident $title:literal)*) => {
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
                        explanation: include_str!(concat!("codes/", stringify!($variant), ".md")),
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
CannotRead = 1 Error "the file cannot be read"
TooLarge = 2 Error "the file is too large"
NotUtf8 = 3 Error "the text is not UTF-8"
Utf16 = 4 Error "the text is UTF-16"
ControlCharacter = 5 Error "a control character in the text"
Syntax = 6 Error "the text is not valid YAML or JSON"
TooDeep = 7 Error "nested too deeply"
TooManyNodes = 8 Error "too many values"
TooManyDocuments = 9 Error "too many documents"
DuplicateKey = 10 Error "the same key twice in one map"
BadKey = 11 Error "a key that is not text"
BadAlias = 12 Error "an alias that stands for nothing"
BadMerge = 13 Error "a merge that is not a map"
NotFinite = 14 Error "not a finite number"
BadTag = 15 Error "a value that does not fit its tag"
MergedOverOwn = 16 Warning "a merged value replaces the map's own"
KubectlRefuses = 17 Warning "kubectl would refuse this text"
TagIgnored = 18 Warning "a tag without meaning"
AfterDocumentEnd = 19 Error "text that kubectl never reads"
// ---- TY020–TY039: the shape -------------------------------------------------------------------------------------
UnknownField = 20 Error "unknown field"
WrongType = 21 Error "a value of the wrong type"
MissingField = 22 Error "a required field is missing"
UnknownValue = 23 Error "a value that is not one of the allowed ones"
UnknownKind = 24 Warning "a kind that Trainyard does not run"
MovedField = 25 Warning "a field in its old place"
OutOfRange = 26 Error "a number out of range"
FieldIgnored = 27 Warning "a field without effect"
UnknownVersion = 28 Error "a version of this kind that does not exist"
NotAnObject = 29 Error "a document that is no Kubernetes object"
BadFormat = 30 Error "text in the wrong form"
MoreProblems = 31 Error "more problems than are shown"
NoJob = 32 Warning "no job in the file"
MistakenKind = 33 Error "a kind that does not exist, but nearly"
// ---- TY040–TY079: checks that every dialect shares --------------------------------------------------------------
NoMainContainer = 40 Error "no container named `tensorflow`"
NameTooLong = 41 Error "a derived name becomes too long"
ManyChiefs = 42 Error "more than one chief"
OnlyParameterServers = 43 Error "a job of parameter servers alone"
ZeroReplicas = 44 Warning "a role with no replicas"
DuplicateRole = 45 Error "the same role twice"
NegativeLimit = 46 Error "a negative limit"
BadQuantity = 47 Error "not a Kubernetes quantity"
TfConfigTooLong = 48 Error "`TF_CONFIG` would be too long"
ServersNeverStop = 49 Warning "parameter servers that never stop"
RestartPolicyOverwritten = 50 Warning "the template's restartPolicy is overwritten"
StrippedMetadata = 51 Warning "metadata that is removed from the template"
OldGpuName = 52 Warning "the old name of the GPU resource"
ServersBesideMirrored = 53 Warning "parameter servers beside a mirrored layout"
NeverSucceeds = 54 Warning "the job can never succeed"
ShadowedRule = 55 Warning "a rule that can never match"
BadName = 56 Error "not a valid Kubernetes name"
DuplicateName = 57 Error "the same name twice"
NoImage = 58 Error "a container without an image"
BadPort = 59 Error "not a valid port"
EnvNotText = 60 Error "an environment value that is not text"
NoContainers = 61 Error "a template without containers"
RequestAboveLimit = 62 Error "a request above its limit"
DuplicateVariable = 63 Warning "the same environment variable twice"
MountWithoutVolume = 64 Error "a mount of a volume that is not declared"
FractionOfDevice = 65 Error "a part of a device"
TfConfigSet = 66 Warning "`TF_CONFIG` is set by hand"
BadEnv = 67 Error "an environment entry that cannot be used"
BadVolume = 68 Error "a volume that cannot be used"
TooManyTasks = 69 Error "too many tasks"
SameJobTwice = 70 Error "two jobs of one name"
GangLargerThanJob = 71 Warning "a gang larger than the job"
StartOrderInGang = 72 Error "a start order that the gang cannot keep"
VolumeWithoutSource = 73 Warning "a volume without a source"
BadFileName = 74 Error "a file's name that is not allowed"
Placeholder = 75 Error "a placeholder that was not filled in"
// ---- TY080–TY099: what a conversion cannot carry over -----------------------------------------------------------
LostJob = 80 Error "the job has no form in the other dialect"
LostRole = 81 Warning "a role that the other dialect does not have"
LostName = 82 Warning "tasks get another name"
LostSuccess = 83 Warning "the success condition changes"
LostAnswer = 84 Warning "the reaction to a task's end changes"
LostRule = 85 Warning "a rule is left out"
LostLimit = 86 Warning "a limit or policy changes"
LostStartOrder = 87 Warning "the start order changes"
LostGang = 88 Warning "gang scheduling changes"
LostPort = 89 Warning "a port changes"
LostField = 90 Warning "a field is left out"
CannotRender = 91 Error "a job that cannot be rendered"
// ---- TY100–TY119: TFJob -----------------------------------------------------------------------------------------
UnknownRole = 100 Error "a role that does not exist"
RoleNotInJob = 101 Error "a role that this job does not have"
DeciderMissing = 102 Error "the task that is to decide does not exist"
ScopeWithoutRestarts = 103 Warning "a restart scope where nothing restarts"
ScopeWithoutLimit = 104 Warning "whole-job restarts without a limit"
GroupsDiffer = 105 Warning "templates that name different groups"
VersionNotServed = 106 Warning "a version that is not served"
// ---- TY120–TY139: TensorFlowTrainingJob ------------------------------------------------------------------------
T9kSwitches = 120 Error "two switches that disagree"
T9kModeRole = 121 Error "a setting for a role that the job does not have"
T9kFileset = 122 Error "not the address of a set of files"
// ---- TY140–TY159: Volcano's Job --------------------------------------------------------------------------------
VolcanoNoTasks = 140 Error "a Volcano job without tasks"
VolcanoMinimum = 141 Error "a number that can never be reached"
VolcanoTrigger = 142 Error "a policy that waits for nothing, or for two things"
VolcanoInternal = 143 Error "a word of Volcano's own"
VolcanoDuplicateTrigger = 144 Error "the same event or exit code in two policies"
VolcanoNeverRaised = 145 Warning "an event that never comes"
VolcanoCannot = 146 Error "something that is not carried out"
VolcanoUnknownPlugin = 147 Error "a plugin that does not exist"
VolcanoPluginArgument = 148 Error "an argument that the plugin cannot use"
VolcanoDependsOn = 149 Error "tasks that wait for what never comes"
VolcanoVolume = 150 Error "a volume of the job that cannot be mounted"
VolcanoTopology = 151 Error "an invalid placement"
VolcanoNoEffect = 152 Warning "an action that does nothing"
VolcanoHosts = 153 Error "more names of pods than the plugin can hand out"
// ---- TY160–: templates of `trainyard expand` --------------------------------------------------------------------
Template = 160 Error "a template that cannot be filled in"
TemplateNotYaml = 161 Error "a template whose result is no YAML"
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
        self.row().explanation.trim_ascii_end()
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
        let number = digits.parse::<u16>().ok().filter(|_| !digits.starts_with('+'));
        let found = Self::ALL.iter().find(|code| number == Some(code.number()));
        found.copied().ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(ToString::to_string).collect();
            let near = closest(&plain.to_uppercase(), names.iter().map(String::as_str));
            UnknownCode {
                text: shown(plain),
                near: near.map(str::to_owned),
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
