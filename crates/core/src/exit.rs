//! What an end means: the one classification that rules match against, and the sentence that users read.

use crate::observed::{Exit, Why};
use crate::rule::How;

/// How a life ended, once everything known about it has been looked at together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// Exited 0, and was not told to stop before.
    Succeeded,
    /// A failure of its own, with the exit code if one was seen.
    Failed(Option<i32>),
    /// The program could not be started.
    NotStarted,
    /// It was told to stop from outside, or its node ended it.
    Disrupted,
    /// Gone, and its end was not seen.
    Vanished,
}

impl Ending {
    /// Classifies an exit; none means that no end was seen.
    ///
    /// An end after the task was told to stop is neither a success nor the user's failure, whatever its code: a drained
    /// chief that saves and exits 0 must not end the job. A program that could not be started is judged before its
    /// code is: container runtimes invent one for it.
    #[must_use]
    pub fn of(exit: Option<&Exit>) -> Self {
        let Some(exit) = exit else { return Self::Vanished };
        match exit.why {
            _ if exit.asked => Self::Disrupted,
            Why::Disrupted => Self::Disrupted,
            Why::NotStarted => Self::NotStarted,
            Why::Itself if exit.code == Some(0) => Self::Succeeded,
            Why::Itself | Why::OutOfMemory => Self::Failed(exit.code),
        }
    }

    /// Whether it is a failure of the task's own.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotStarted)
    }

    /// Whether a rule that names `how` means this end.
    #[must_use]
    pub fn matches(self, how: How) -> bool {
        match how {
            How::Succeeded => self == Self::Succeeded,
            How::Failed => self.is_failure(),
            How::Codes(low, high) => matches!(self, Self::Failed(Some(code)) if (low..=high).contains(&code)),
            How::NotStarted => self == Self::NotStarted,
            How::Disrupted => self == Self::Disrupted,
            How::Vanished => self == Self::Vanished,
        }
    }
}

impl Exit {
    /// Whether the node rejected the instance without saying that it had to make room: a disruption, as long as that is not
    /// repeated too often. What was told to stop, or carries the mark of a disruption, is one however often it happens.
    #[must_use]
    pub fn is_rejection(&self) -> bool {
        self.rejected && !self.asked
    }

    /// What the end means, in one sentence for people.
    #[must_use]
    pub fn meaning(&self) -> String {
        if self.is_rejection() {
            if let Some(cause) = &self.cause {
                return cause.headline();
            }
            return match &self.message {
                Some(message) => format!("The node refused it before it ran: {message}."),
                None => "The node refused it before it ran.".into(),
            };
        }
        match &self.container {
            Some(container) if let Some(cause) = &self.cause => {
                format!("its init container `{container}` failed: {}", cause.headline())
            }
            Some(container) if self.why == Why::NotStarted => {
                format!(
                    "The program of its init container `{container}` could not be started: check the command."
                )
            }
            Some(container) => format!(
                "Its init container `{container}` failed, so it never ran. {}",
                self.own_meaning()
            ),
            None => self.own_meaning(),
        }
    }

    fn own_meaning(&self) -> String {
        if let Some(cause) = &self.cause {
            return cause.headline();
        }
        match (Ending::of(Some(self)), self.why) {
            (Ending::Succeeded, _) => "It finished.".into(),
            (Ending::Disrupted, _) => match self.code {
                Some(code) => format!("It was asked to stop from outside and ended with exit code {code}."),
                None => "It was stopped from outside.".into(),
            },
            (Ending::NotStarted, _) => {
                "The program could not be started: check the command, the image and that the file is executable."
                    .into()
            }
            (_, Why::OutOfMemory) => {
                "It used more memory than its limit and was killed (OOMKilled): raise the memory limit or use a smaller batch."
                    .into()
            }
            _ => code_meaning(self.code),
        }
    }
}

fn code_meaning(code: Option<i32>) -> String {
    let text = match code {
        None => "It ended, and its exit code is not known.",
        Some(1) => {
            "Exit code 1: the program reported an error, usually a Python exception; its last lines say which."
        }
        Some(2) => {
            "Exit code 2: usually the program refused its arguments, or Python did not find the script."
        }
        Some(42) => {
            "Exit code 42: a code of the program's own; TensorFlow's preemption handler can use it after it has saved a checkpoint."
        }
        Some(126) => "Exit code 126: the command was found but cannot be executed.",
        Some(127) => "Exit code 127: the command was not found.",
        Some(128) => "Exit code 128: the container runtime could not run the program.",
        Some(130) => "Exit code 130: it was interrupted (SIGINT, as by Ctrl-C).",
        Some(134) => "Exit code 134: it aborted (SIGABRT), usually a failed check inside TensorFlow.",
        Some(137) => {
            "Exit code 137: it was killed (SIGKILL) and not for its memory limit: the node or a user killed it."
        }
        Some(138) => "Exit code 138: by convention, a program that asks to be started again (SIGUSR1).",
        Some(139) => "Exit code 139: it crashed (segmentation fault, SIGSEGV), usually in native code.",
        Some(143) => "Exit code 143: it was told to stop (SIGTERM).",
        Some(code @ 129..=192) => return format!("Exit code {code}: it was ended by signal {}.", code - 128),
        Some(code) => return format!("Exit code {code}: a code of the program's own."),
    };
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    fn exit(code: Option<i32>, why: Why, asked: bool) -> Exit {
        Exit {
            code,
            why,
            asked,
            at: Time(10),
            ran: 5,
            ..Exit::default()
        }
    }

    #[test]
    fn who_asked_and_why_come_before_the_code() {
        let cases = [
            (exit(Some(0), Why::Itself, false), Ending::Succeeded),
            (exit(Some(0), Why::Itself, true), Ending::Disrupted),
            (exit(Some(143), Why::Itself, true), Ending::Disrupted),
            (exit(Some(143), Why::Itself, false), Ending::Failed(Some(143))),
            (exit(Some(0), Why::Disrupted, false), Ending::Disrupted),
            (exit(Some(128), Why::NotStarted, false), Ending::NotStarted),
            (exit(Some(128), Why::NotStarted, true), Ending::Disrupted),
            (
                exit(Some(137), Why::OutOfMemory, false),
                Ending::Failed(Some(137)),
            ),
            (exit(Some(0), Why::OutOfMemory, false), Ending::Failed(Some(0))),
            (exit(None, Why::Itself, false), Ending::Failed(None)),
        ];
        for (exit, expected) in cases {
            assert_eq!(Ending::of(Some(&exit)), expected, "{exit:?}");
        }
        assert_eq!(Ending::of(None), Ending::Vanished);
    }

    #[test]
    fn codes_never_match_what_was_not_started() {
        assert!(!Ending::NotStarted.matches(How::Codes(0, 255)));
        assert!(Ending::NotStarted.matches(How::Failed));
        assert!(Ending::Failed(Some(137)).matches(How::Codes(128, 255)));
        assert!(!Ending::Failed(None).matches(How::Codes(0, 255)));
        assert!(!Ending::Disrupted.matches(How::Failed));
    }

    #[test]
    fn out_of_memory_and_a_plain_kill_are_told_apart() {
        let oom = exit(Some(137), Why::OutOfMemory, false).meaning();
        let kill = exit(Some(137), Why::Itself, false).meaning();
        assert!(
            oom.contains("memory limit") && kill.contains("SIGKILL"),
            "{oom} / {kill}"
        );
        assert!(
            exit(Some(140), Why::Itself, false)
                .meaning()
                .contains("signal 12")
        );
        assert!(
            exit(Some(99), Why::Itself, false)
                .meaning()
                .contains("of the program's own")
        );
    }
}
