//! Why a cluster does not answer, in words, each with what to do.

use std::error::Error as StdError;
use std::time::Duration;

/// The way that is always open.
pub(crate) const OFFLINE: &str = "name the hosts yourself: `--hosts a,b,c`";

/// A cluster that does not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClusterError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl ClusterError {
    pub(crate) fn new(message: impl Into<String>, hint: &str) -> Self {
        Self {
            message: message.into(),
            hint: hint.to_owned(),
        }
    }

    /// The same for a caller that needs more than names of hosts.
    pub(crate) fn without_hosts(mut self) -> Self {
        for or in [", or ", " Or "] {
            self.hint = self.hint.replace(&format!("{or}{OFFLINE}"), "");
        }
        self
    }

    /// No server answered.
    pub(crate) fn late(server: &str, patience: Duration) -> Self {
        let message = format!(
            "the cluster at {server} did not answer within {} s",
            patience.as_secs()
        );
        let hint = format!(
            "is the address of the kubeconfig right, and does `kubectl get nodes` work? Or {OFFLINE}"
        );
        Self::new(message, &hint)
    }

    /// What kube says, for people.
    pub(crate) fn of(error: &kube::Error, server: &str) -> Self {
        match error {
            kube::Error::Api(status) => refused(status.code, &status.message, server),
            kube::Error::Auth(cause) => {
                let message = format!("cannot log in to the cluster at {server}: {}", told(cause));
                let hint =
                    format!("does `kubectl get nodes` work? The kubeconfig says how to log in. Or {OFFLINE}");
                Self::new(message, &hint)
            }
            kube::Error::Service(cause) => unreachable(cause.as_ref(), server),
            kube::Error::HyperError(cause) => unreachable(cause, server),
            kube::Error::ReadEvents(cause) => unreachable(cause, server),
            kube::Error::SerdeError(cause) => {
                let message = format!("what {server} answers is no list of nodes: {cause}");
                Self::new(
                    message,
                    &format!("is that the address of a Kubernetes cluster? Or {OFFLINE}"),
                )
            }
            other => {
                let message = format!("cannot talk to the cluster at {server}: {}", told(other));
                Self::new(message, &format!("does `kubectl get nodes` work? Or {OFFLINE}"))
            }
        }
    }
}

/// The cluster answered, and said no.
fn refused(code: u16, said: &str, server: &str) -> ClusterError {
    let said = plain(said);
    match code {
        401 => ClusterError::new(
            format!("the cluster at {server} does not know you: {said}"),
            &format!("log in again, or renew the credentials in the kubeconfig. Or {OFFLINE}"),
        ),
        403 => ClusterError::new(
            format!("you may not list the nodes of the cluster at {server}: {said}"),
            &format!("ask for a ClusterRole with `list` on `nodes`. Or {OFFLINE}"),
        ),
        400 => ClusterError::new(
            format!("the cluster at {server} does not understand the question: {said}"),
            "is the selector right? `-l gpu=a100`, `-l 'zone in (a,b)'`",
        ),
        _ => ClusterError::new(
            format!("the cluster at {server} answers {code}: {said}"),
            &format!("try again, or {OFFLINE}"),
        ),
    }
}

/// The cluster did not answer.
fn unreachable(cause: &(dyn StdError + 'static), server: &str) -> ClusterError {
    let why = deepest(cause);
    if why.contains("certificate") || why.contains("UnknownIssuer") {
        let hint = "`certificate-authority` of the kubeconfig must be the one that signed it, and `server` a name that it \
                    is made for (else `tls-server-name`)";
        let message = format!("the certificate of the cluster at {server} is not trusted: {why}");
        return ClusterError::new(message, hint);
    }
    if why.contains("InvalidContentType") {
        let message = format!("{server} does not speak HTTPS");
        return ClusterError::new(
            message,
            "is `server` in the kubeconfig right? Perhaps it begins with `http://`",
        );
    }
    let message = format!("cannot reach the cluster at {server}: {why}");
    let hint = format!("is it up, and is the address in the kubeconfig right? Or {OFFLINE}");
    ClusterError::new(message, &hint)
}

/// The cause of all causes: what the system said.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    plain(&last.to_string())
}

/// An error with its causes, each once.
#[must_use]
pub fn told(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    plain(&text)
}

/// Text of another program, on one line and not too long.
pub(crate) fn plain(text: &str) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = visible.take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}

const LONGEST: usize = 400;
