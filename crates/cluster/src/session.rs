//! Objects on their way to a cluster: applied as `kubectl apply --server-side` does, and taken away again.
//!
//! What is applied has one owner, `trainyard`, for every field that it names, and takes these fields from their former owner:
//! so a definition of Kubeflow's becomes ours, and what others have added beside stays.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::access::{Access, access, runtime};
use crate::error::{ClusterError, OFFLINE, plain};

/// Who applies.
const MANAGER: &str = "trainyard";
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long until a new kind is served.
const UNTIL_SERVED: Duration = Duration::from_mins(1);

/// A cluster that objects are applied to.
pub struct Session {
    runtime: Runtime,
    access: Access,
    /// What a user can do without this cluster, for the end of a hint.
    otherwise: &'static str,
}

/// What became of an object that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there now.
    Created,
    /// It was there and is different now.
    Configured,
    /// It was there, just like this.
    Unchanged,
    /// It would be created, but its namespace is not there yet, so the server has not checked it.
    Unchecked,
}

impl Outcome {
    /// In kubectl's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created | Self::Unchecked => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Whether something is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// The server says what would happen, and nothing does.
    Dry,
    /// It happens.
    Real,
}

impl Session {
    /// Finds the way to the cluster of a context; none is the current one. `otherwise` is what a user can do without it, for
    /// hints: `print the objects with …`.
    pub fn open(context: Option<&str>, otherwise: &'static str) -> Result<Self, ClusterError> {
        let runtime = runtime()?;
        let found = runtime.block_on(access(context, PATIENCE));
        Ok(Self {
            access: found.map_err(|error| instead(error, otherwise))?,
            runtime,
            otherwise,
        })
    }

    /// That the cluster answers at all, if only to say that we may not ask.
    pub fn reach(&self) -> Result<(), ClusterError> {
        self.wait(async {
            match self.access.client.apiserver_version().await {
                Err(kube::Error::Api(status)) if status.code != 401 => Ok(()),
                answer => answer.map(drop),
            }
        })
    }

    /// Applies one object, but to none that is being deleted: what is applied to it would go with it.
    pub fn apply(&self, object: &Value, trial: Trial) -> Result<Outcome, ClusterError> {
        let which = Which::of(object);
        let api = which.api(&self.access.client);
        let refused = |error: kube::Error| self.refused("apply", &which, &error);
        let before = self.answer(api.get_opt(which.name))?.map_err(refused)?;
        if before
            .as_ref()
            .is_some_and(|it| it.metadata.deletion_timestamp.is_some())
        {
            let message = format!("cannot apply {which}: one of that name is being deleted");
            return Err(ClusterError::new(message, "run this again when it is gone"));
        }
        let mut params = PatchParams::apply(MANAGER).force();
        params.dry_run = trial == Trial::Dry;
        let recreates = before.as_ref().and_then(|before| recreate(before, object, trial));
        if let Some(first) = &recreates {
            let mut params = params.clone();
            params.force = false;
            let first = Patch::Merge(first);
            let changed = self.answer(api.patch(which.name, &params, &first))?;
            changed.map_err(refused)?;
            if params.dry_run {
                return Ok(Outcome::Configured);
            }
        }
        let patch = Patch::Apply(object);
        let applied = self.answer(api.patch(which.name, &params, &patch))?;
        match (before, applied) {
            (None, Ok(_)) => Ok(Outcome::Created),
            (Some(before), Ok(after)) if same(&before, &after, trial) => Ok(Outcome::Unchanged),
            (Some(_), Ok(_)) => Ok(Outcome::Configured),
            (None, Err(kube::Error::Api(status))) if trial == Trial::Dry && status.code == 404 => {
                Ok(Outcome::Unchecked)
            }
            (_, Err(error)) => Err(refused(error)),
        }
    }

    /// An object of this kind and name as it is now.
    pub fn find(&self, object: &Value) -> Result<Option<Value>, ClusterError> {
        let which = Which::of(object);
        let api = which.api(&self.access.client);
        let found = self.wait(api.get_opt(which.name))?;
        Ok(found.and_then(|found| serde_json::to_value(found).ok()))
    }

    /// Takes one object away; false if it is not there.
    pub fn delete(&self, object: &Value, trial: Trial) -> Result<bool, ClusterError> {
        let deleted = self.remove(object, DeleteParams::background(), trial)?;
        Ok(deleted.is_some())
    }

    /// Takes one object away after everything that it owns; its UID, or none if it is not there.
    pub fn delete_last(&self, object: &Value, trial: Trial) -> Result<Option<String>, ClusterError> {
        self.remove(object, DeleteParams::foreground(), trial)
    }

    fn remove(
        &self,
        object: &Value,
        mut params: DeleteParams,
        trial: Trial,
    ) -> Result<Option<String>, ClusterError> {
        let which = Which::of(object);
        let api = which.api(&self.access.client);
        params.dry_run = trial == Trial::Dry;
        let deleted = self.wait(async {
            let Some(found) = api.get_metadata_opt(which.name).await? else {
                return Ok(None);
            };
            let uid = found.metadata.uid.unwrap_or_default();
            // What was looked at, and no other object of that name.
            params.preconditions = Some(Preconditions {
                uid: Some(uid.clone()),
                resource_version: None,
            });
            Ok(Some((uid, api.delete(which.name, &params).await)))
        })?;
        let Some((uid, deleted)) = deleted else {
            return Ok(None);
        };
        match deleted {
            Ok(_) => Ok(Some(uid)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.refused("delete", &which, &error)),
        }
    }

    /// Waits until an object is gone, for so long at most; false if it is not known to be gone then.
    #[must_use]
    pub fn gone(&self, object: &Value, uid: &str, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            // An answer that does not come is not the last one.
            match self.find(object) {
                Ok(Some(found)) if found["metadata"]["uid"] == uid => {}
                Ok(_) => return true,
                Err(_) => {}
            }
            if Instant::now() > deadline {
                return false;
            }
            self.pause();
        }
    }

    /// Waits until the API server serves what a definition defines.
    pub fn established(&self, definition: &Value) -> Result<(), ClusterError> {
        let which = Which::of(definition);
        let api = which.api(&self.access.client);
        let deadline = Instant::now() + UNTIL_SERVED;
        loop {
            let seen = self.wait(api.get(which.name))?;
            let conditions = seen.data["status"]["conditions"].as_array();
            let of = |kind: &str, status: &str| {
                let list = conditions.into_iter().flatten();
                list.into_iter()
                    .find(|one| one["type"] == kind && one["status"] == status)
            };
            if of("Established", "True").is_some() {
                return Ok(());
            }
            let taken =
                of("NamesAccepted", "False").map(|one| plain(one["message"].as_str().unwrap_or_default()));
            if taken.is_some() || Instant::now() > deadline {
                let why = taken.unwrap_or_else(|| format!("it is not after {} s", UNTIL_SERVED.as_secs()));
                let message = format!(
                    "{which} is not served by the cluster at {}: {why}",
                    self.access.server
                );
                let hint = format!(
                    "`kubectl describe crd {}` says what stands in its way",
                    which.name
                );
                return Err(ClusterError::new(message, &hint));
            }
            self.pause();
        }
    }

    /// Whether the cluster serves objects of this version and plural.
    pub fn serves(&self, api_version: &str, plural: &str) -> Result<bool, ClusterError> {
        match self.answer(self.access.client.list_api_group_resources(api_version))? {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == plural)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Before something is asked again that happens within seconds, or within a minute: a watch would be more than it is worth.
    fn pause(&self) {
        self.runtime
            .block_on(async { sleep(Duration::from_millis(200)).await });
    }

    /// The metadata of an object of this kind and name, null if there is none; none where we may not look.
    pub(crate) fn metadata(&self, object: &Value) -> Result<Option<Value>, ClusterError> {
        let which = Which::of(object);
        let api = which.api(&self.access.client);
        match self.answer(api.get_metadata_opt(which.name))? {
            Ok(found) => {
                let metadata = found.and_then(|found| serde_json::to_value(found.metadata).ok());
                Ok(Some(metadata.unwrap_or_default()))
            }
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Everything of a kind, in all namespaces; none where we may not look.
    pub(crate) fn list(&self, version: &str, kind: &str) -> Result<Option<Vec<Value>>, ClusterError> {
        let which = Which {
            version,
            kind,
            namespace: None,
            name: "",
        };
        let api: Api<DynamicObject> = Api::all_with(self.access.client.clone(), &which.resource());
        match self.answer(api.list(&kube::api::ListParams::default()))? {
            Ok(list) => {
                let items = list.items.into_iter();
                let values = items.filter_map(|item| serde_json::to_value(item).ok());
                Ok(Some(values.collect()))
            }
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Waits for an answer, which may be a refusal, but not for ever.
    fn answer<T>(&self, answer: impl Future<Output = T>) -> Result<T, ClusterError> {
        let answer = self.runtime.block_on(async { timeout(PATIENCE, answer).await });
        answer.map_err(|_| instead(ClusterError::late(&self.access.server, PATIENCE), self.otherwise))
    }

    /// Waits for an answer that is no refusal.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, kube::Error>>) -> Result<T, ClusterError> {
        self.answer(answer)?.map_err(|error| self.failed(&error))
    }

    /// Something about the cluster, not about one object.
    fn failed(&self, error: &kube::Error) -> ClusterError {
        match error {
            kube::Error::Api(status) if status.code == 403 => {
                let (server, said) = (&self.access.server, plain(&status.message));
                let message = format!("the cluster at {server} does not let you: {said}");
                ClusterError::new(message, &self.administrator())
            }
            other => instead(ClusterError::of(other, &self.access.server), self.otherwise),
        }
    }

    /// Something about one object.
    fn refused(&self, doing: &str, which: &Which<'_>, error: &kube::Error) -> ClusterError {
        match error {
            kube::Error::Api(status) if status.code != 401 => {
                let said = plain(&status.message);
                let message = format!("cannot {doing} {which}: {said}");
                let hint = match status.code {
                    403 => self.administrator(),
                    _ => format!(
                        "fix what the API server at {} says, or {}",
                        self.access.server, self.otherwise
                    ),
                };
                ClusterError::new(message, &hint)
            }
            other => self.failed(other),
        }
    }

    fn administrator(&self) -> String {
        format!("use the rights of a cluster administrator, or {}", self.otherwise)
    }
}

/// Hosts that are named on the command line are no way out of this.
fn instead(mut error: ClusterError, otherwise: &str) -> ClusterError {
    error.hint = error
        .hint
        .replace(OFFLINE, otherwise)
        .replace("nodes", "namespaces");
    error
}

/// What is to be changed before an object can be applied: the API server gives a Deployment without a strategy the fields of
/// `RollingUpdate`, keeps them when `Recreate` is applied, and refuses the two together. In a trial, where nothing is kept for the
/// second request, it is all of the object.
fn recreate(before: &DynamicObject, object: &Value, trial: Trial) -> Option<Value> {
    let wanted = object.pointer("/spec/strategy/type").and_then(Value::as_str);
    let rolls = before.data.pointer("/spec/strategy/rollingUpdate");
    if wanted != Some("Recreate") || rolls.is_none_or(Value::is_null) {
        return None;
    }
    let mut change = match trial {
        Trial::Dry => object.clone(),
        Trial::Real => json!({ "spec": { "strategy": { "type": wanted } } }),
    };
    change["spec"]["strategy"]["rollingUpdate"] = Value::Null;
    Some(change)
}

/// Whether an object is as it was. A trial leaves its version alone, and a controller that writes its status in between changes
/// it, so then the rest is compared.
fn same(before: &DynamicObject, after: &DynamicObject, trial: Trial) -> bool {
    let untouched = before.metadata.resource_version == after.metadata.resource_version;
    (trial == Trial::Real && untouched) || bare(before) == bare(after)
}

fn bare(object: &DynamicObject) -> DynamicObject {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    object.metadata.resource_version = None;
    object.metadata.generation = None;
    if let Some(data) = object.data.as_object_mut() {
        data.remove("status");
    }
    object
}

/// Which object.
pub(crate) struct Which<'a> {
    version: &'a str,
    kind: &'a str,
    namespace: Option<&'a str>,
    name: &'a str,
}

impl<'a> Which<'a> {
    fn of(object: &'a Value) -> Self {
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let metadata = &object["metadata"];
        Self {
            version: text(&object["apiVersion"]),
            kind: text(&object["kind"]),
            namespace: metadata["namespace"].as_str(),
            name: text(&metadata["name"]),
        }
    }

    /// The plurals of all kinds that we apply are as English has them.
    fn resource(&self) -> ApiResource {
        let (group, version) = self.version.split_once('/').unwrap_or(("", self.version));
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, self.kind))
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource()),
            None => Api::all_with(client.clone(), &self.resource()),
        }
    }
}

impl std::fmt::Display for Which<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&reference(self.version, self.kind, self.name))
    }
}

/// An object as kubectl calls it: `deployment.apps/trainyard-operator`.
#[must_use]
pub fn named(object: &Value) -> String {
    let which = Which::of(object);
    reference(which.version, which.kind, which.name)
}

fn reference(version: &str, kind: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    match version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}/{name}"),
        None => format!("{kind}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(version: &str, replicas: u32, ready: u32) -> DynamicObject {
        let object = json!({
            "metadata": { "name": "operator", "resourceVersion": version },
            "spec": { "replicas": replicas },
            "status": { "readyReplicas": ready },
        });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn a_status_that_a_controller_writes_meanwhile_is_no_change_of_ours() {
        let before = deployment("1", 2, 0);
        for (after, trial, expected) in [
            (deployment("1", 2, 0), Trial::Real, true),
            (deployment("2", 2, 1), Trial::Real, true),
            (deployment("2", 3, 0), Trial::Real, false),
            (deployment("1", 2, 0), Trial::Dry, true),
            (deployment("1", 3, 0), Trial::Dry, false),
        ] {
            assert_eq!(same(&before, &after, trial), expected, "{after:?}");
        }
    }
}
