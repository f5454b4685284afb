//! `trainyard install` and `trainyard uninstall`: applies, deletes or prints the operator's objects.

mod dropped;
mod outcome;
mod words;

use std::time::Duration;

use serde_json::{Value, json};
use trainyard_cluster::{ClusterError, Newcomer, Outcome, Session, Trial, named};
use trainyard_manifest::install::access::{LEASE, reads};
use trainyard_manifest::install::{Install as Wishes, NAME, image, text};
use trainyard_manifest::kinds::{JobApi, Kinds};

use self::outcome::{DELETED, KEPT, NOT_FOUND, Outcomes, SKIPPED};
use super::crd::served;
use crate::args::{DryRun, Format, Install, Place, Uninstall};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, STRONG};

/// Limit for the operator to stop; its pods have a grace period of 30 s.
const UNTIL_STOPPED: Duration = Duration::from_mins(1);

/// What helps a user without a cluster, or without rights on it.
const APPLY: &str = "print the objects with `--dry-run`, for an administrator to apply";
const DELETE: &str = "print the objects with `--dry-run`, for an administrator to delete";

/// Prints the objects, or applies them.
pub fn run(typed: &Install, printer: &mut Printer) -> Result<Exit, Failure> {
    let mut wishes = wishes(typed);
    words::check(typed, &wishes)?;
    let Some(trial) = trial(&typed.place) else {
        print(&wishes.objects(), &typed.place, printer)?;
        return Ok(Exit::Success);
    };
    let session =
        Session::open(typed.place.context.as_deref(), otherwise(trial, APPLY)).map_err(no_cluster)?;
    wishes.kinds = check_rivals(&session, typed, printer)?;
    let objects = wishes.objects();
    check_watched(&session, &wishes)?;
    dropped::warn(&session, &wishes, printer)?;
    check_gangs(&session, &wishes, printer)?;
    let mut outcomes = Outcomes::new(typed.place.output, trial, printer);
    apply(&session, &objects, &mut outcomes)?;
    let left = if outcomes.are_good() {
        leftovers(&session, &wishes, &objects)?
    } else {
        Vec::new()
    };
    for left in left {
        let done = session.delete(&left, trial).map(|_| DELETED);
        outcomes.tell(&left, done)?;
    }
    let exit = outcomes.finish()?;
    if exit == Exit::Success && trial == Trial::Real {
        tell_the_rest(typed, printer)?;
    }
    Ok(exit)
}

/// Deletes the objects, except those that contain objects of users.
pub fn remove(typed: &Uninstall, printer: &mut Printer) -> Result<Exit, Failure> {
    words::check_place(&typed.place)?;
    let wishes = Wishes {
        namespace: typed.place.namespace.clone(),
        watch: typed.place.watch_namespace.clone(),
        kinds: Kinds::all(),
        kueue: true,
        ..Wishes::default()
    };
    let mut objects = wishes.objects();
    objects.reverse();
    let (kept, removed): (Vec<Value>, Vec<Value>) =
        objects.into_iter().partition(|object| is_kept(object, &wishes));
    let usual = usual(&wishes);
    let Some(trial) = trial(&typed.place) else {
        let kept: Vec<String> = kept
            .iter()
            .map(named)
            .filter(|name| usual.contains(name))
            .collect();
        print(&removed, &typed.place, printer)?;
        printer.note(&format!(
            "these would be deleted; every job is kept, and so are {}",
            kept.join(", ")
        ))?;
        return Ok(Exit::Success);
    };
    let session =
        Session::open(typed.place.context.as_deref(), otherwise(trial, DELETE)).map_err(no_cluster)?;
    session.reach().map_err(no_cluster)?;
    check_namespace(&session, &wishes)?;
    let mut outcomes = Outcomes::new(typed.place.output, trial, printer);
    let mut stopped = Stopped::Yes;
    for object in &removed {
        if object["kind"] == "Deployment" {
            stopped = stop(&session, object, &mut outcomes)?;
            continue;
        }
        let done = match stopped {
            Stopped::Refused => Ok(SKIPPED),
            Stopped::Yes | Stopped::NotYet => session.delete(object, trial).map(deleted),
        };
        if !matches!(done, Ok(NOT_FOUND)) || usual.contains(&named(object)) {
            outcomes.tell(object, done)?;
        }
    }
    if stopped == Stopped::Yes {
        let lease = lease(&wishes);
        match session.delete(&lease, trial) {
            Ok(false) => {}
            done => outcomes.tell(&lease, done.map(deleted))?,
        }
    }
    for object in &kept {
        if usual.contains(&named(object)) || matches!(session.find(object), Ok(Some(_))) {
            outcomes.tell(object, Ok(KEPT))?;
        }
    }
    outcomes.finish()
}

/// The names of what every installation has; other objects belong to kinds and to Kueue, which it may not have.
fn usual(wishes: &Wishes) -> Vec<String> {
    let usual = Wishes {
        kinds: Kinds::default(),
        kueue: false,
        ..wishes.clone()
    };
    usual.objects().iter().map(named).collect()
}

fn deleted(there: bool) -> &'static str {
    if there { DELETED } else { NOT_FOUND }
}

/// Whether an operator has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Yes,
    /// It has been deleted and still runs.
    NotYet,
    /// It could not be deleted and needs its rights.
    Refused,
}

/// Stops the operator, and waits until its pods have ended: without their rights they could neither finish their writes nor release the
/// Lease.
fn stop(session: &Session, deployment: &Value, outcomes: &mut Outcomes<'_>) -> Result<Stopped, Failure> {
    let trial = outcomes.trial;
    let uid = match session.delete_last(deployment, trial) {
        Err(refused) => {
            outcomes.tell(deployment, Err(refused))?;
            return Ok(Stopped::Refused);
        }
        Ok(uid) => uid,
    };
    outcomes.tell(deployment, Ok(deleted(uid.is_some())))?;
    let Some(uid) = uid.filter(|_| trial == Trial::Real) else {
        return Ok(Stopped::Yes);
    };
    // Progress is reported only after this time.
    if session.gone(deployment, &uid, Duration::from_secs(2)) {
        return Ok(Stopped::Yes);
    }
    outcomes.printer.say("waiting for the operator to stop")?;
    if session.gone(deployment, &uid, UNTIL_STOPPED) {
        return Ok(Stopped::Yes);
    }
    outcomes.printer.note(&format!(
        "it has not stopped within {} s; its rights are removed anyway",
        UNTIL_STOPPED.as_secs()
    ))?;
    Ok(Stopped::NotYet)
}

/// The Lease that the operator created.
fn lease(wishes: &Wishes) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": LEASE, "namespace": wishes.namespace },
    })
}

/// Objects of an earlier installation that this one does not have: rights for all namespaces, rights to read what queues and schedulers have
/// there, roles for people about kinds that are off, a disruption budget for several replicas. Definitions hold jobs, and stay.
fn leftovers(session: &Session, wishes: &Wishes, objects: &[Value]) -> Result<Vec<Value>, Failure> {
    let widest = Wishes {
        watch: None,
        replicas: wishes.replicas.max(2),
        kinds: Kinds::all(),
        kueue: true,
        ..wishes.clone()
    };
    let identity = |object: &Value| (named(object), object["metadata"]["namespace"].clone());
    let known: Vec<_> = objects.iter().map(identity).collect();
    let mut left: Vec<Value> = widest.objects();
    left.retain(|object| !known.contains(&identity(object)) && object["kind"] != "CustomResourceDefinition");
    left.reverse();
    let bound = bound(session, wishes);
    let mut found = Vec::new();
    for object in left {
        let wide =
            ["ClusterRole", "ClusterRoleBinding"].contains(&object["kind"].as_str().unwrap_or_default());
        let own = is_of_this_operator(&object, wishes);
        let ours = !wide || own || bound.as_ref() == Some(&wishes.namespace);
        if ours && session.find(&object).map_err(no_cluster)?.is_some() {
            found.push(object);
        }
    }
    Ok(found)
}

/// The namespace of the operator that has rights for all namespaces, if there is one.
fn bound(session: &Session, wishes: &Wishes) -> Option<String> {
    let widest = Wishes {
        watch: None,
        ..wishes.clone()
    };
    let mut objects = widest.objects().into_iter();
    let binding = objects.find(|object| object["kind"] == "ClusterRoleBinding")?;
    // Without the right to read it, it cannot be removed either.
    let found = session.find(&binding).ok().flatten()?;
    found["subjects"][0]["namespace"].as_str().map(str::to_owned)
}

/// Fails if the operator is in another namespace than the given one.
fn check_namespace(session: &Session, wishes: &Wishes) -> Result<(), Failure> {
    let named = &wishes.namespace;
    let all = wishes.watch.is_none().then(|| bound(session, wishes)).flatten();
    match all.filter(|bound| bound != named) {
        None => Ok(()),
        Some(bound) => Err(Failure::refused(
            format!("the operator is in namespace `{bound}`, not in `{named}`; nothing was removed"),
            format!("`trainyard uninstall --namespace {bound}` removes it"),
        )),
    }
}

/// Deleting the CRD would delete all jobs, and deleting the namespace all objects in it; roles for users are shared.
fn is_kept(object: &Value, wishes: &Wishes) -> bool {
    let kind = object["kind"].as_str().unwrap_or_default();
    let shared = wishes.watch.is_some() && kind == "ClusterRole" && !is_of_this_operator(object, wishes);
    shared || matches!(kind, "CustomResourceDefinition" | "Namespace")
}

/// Whether a role for the whole cluster, or its binding, belongs to the operator in this namespace alone.
fn is_of_this_operator(object: &Value, wishes: &Wishes) -> bool {
    object["metadata"]["name"] == reads(&wishes.namespace)
}

fn wishes(typed: &Install) -> Wishes {
    let labels = typed.legacy_labels.then(|| "--legacy-labels".to_owned());
    let board_image = typed.tensorboard_image.as_ref();
    let board_image = board_image.map(|image| format!("--tensorboard-image={image}"));
    Wishes {
        namespace: typed.place.namespace.clone(),
        watch: typed.place.watch_namespace.clone(),
        image: typed.image.clone().unwrap_or_else(image),
        replicas: typed.replicas,
        priority_class: typed.priority_class.clone(),
        kinds: typed.kinds.clone(),
        served: served(typed.newest_only),
        gang: typed.gangs.schedulers(),
        tensorboard: typed.tensorboard,
        network_policies: typed.network_policies,
        kueue: typed.kueue,
        arguments: labels
            .into_iter()
            .chain(board_image)
            .chain(typed.arguments.clone())
            .collect(),
    }
}

/// How requests are sent; `None` for a client-side dry run.
fn trial(place: &Place) -> Option<Trial> {
    match place.dry_run {
        None => Some(Trial::Real),
        Some(DryRun::Server) => Some(Trial::Dry),
        Some(DryRun::Client) => None,
    }
}

/// A trial that needs the cluster is tried without one.
fn otherwise(trial: Trial, real: &'static str) -> &'static str {
    match trial {
        Trial::Real => real,
        Trial::Dry => "print the objects with `--dry-run=client`, which needs no cluster",
    }
}

fn print(objects: &[Value], place: &Place, printer: &mut Printer) -> Result<(), Failure> {
    if place.output == Format::Json {
        return printer.json(&json!({ "apiVersion": "v1", "kind": "List", "items": objects }));
    }
    printer.data(&text(objects))
}

fn no_cluster(error: ClusterError) -> Failure {
    Failure::usage(error.message, error.hint)
}

/// The kinds that are installed: not those that another operator runs, which are reported. Fails if none is left, or if another operator is in
/// the way of all of them, unless `--force` ignores it.
fn check_rivals(session: &Session, typed: &Install, printer: &mut Printer) -> Result<Kinds, Failure> {
    let newcomer = Newcomer {
        namespace: &typed.place.namespace,
        name: NAME,
        watch: typed.place.watch_namespace.as_deref(),
        kinds: &typed.kinds,
    };
    let rivals = session.rivals(&newcomer).map_err(no_cluster)?;
    for unseen in &rivals.unseen {
        printer.warning(unseen, None)?;
    }
    let is_left_off = |api: &JobApi| rivals.of_one.iter().any(|(kind, _)| *kind == api);
    let rest = typed
        .kinds
        .without(is_left_off)
        .filter(|_| rivals.of_all.is_empty());
    let fails = rest.is_none() && !typed.force;
    let found = rivals.of_one.iter().map(|(_, found)| found);
    for ClusterError { message, hint } in rivals.of_all.iter().chain(found) {
        if fails {
            printer.error(message, Some(hint))?;
        } else {
            printer.warning(message, Some(hint))?;
        }
    }
    if fails {
        printer.show("")?;
        printer.say(&format!(
            "{STRONG}nothing was installed{STRONG:#}; `--force` installs anyway"
        ))?;
        return Err(Failure::Reported(Exit::No));
    }
    let Some(rest) = rest.filter(|_| !typed.force) else {
        return Ok(typed.kinds.clone());
    };
    for api in typed.kinds.apis().iter().filter(|api| is_left_off(api)) {
        printer.warning(&left_off(api), None)?;
    }
    Ok(rest)
}

fn left_off(api: &JobApi) -> String {
    format!(
        "`{}` is left off: this installation does not run {}s of {}",
        api.word, api.kind, api.group
    )
}

/// Fails if the namespace of the jobs does not exist: `install` does not create it.
fn check_watched(session: &Session, wishes: &Wishes) -> Result<(), Failure> {
    let Some(watch) = wishes.watch.as_ref().filter(|watch| **watch != wishes.namespace) else {
        return Ok(());
    };
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": watch } });
    // Without the right to read it, a rejected request will tell.
    if !matches!(session.find(&namespace), Ok(None)) {
        return Ok(());
    }
    Err(Failure::refused(
        format!("namespace `{watch}` does not exist; nothing was installed"),
        format!(
            "create it with `kubectl create namespace {watch}`, or choose another with `--watch-namespace`"
        ),
    ))
}

/// Says which of the chosen gang schedulers the cluster does not have. Their jobs wait, and go on when it has them.
fn check_gangs(session: &Session, wishes: &Wishes, printer: &mut Printer) -> Result<(), Failure> {
    for api in wishes.gang.apis() {
        // Without the right to look, the operator will tell.
        if !matches!(session.serves(&api.api_version(), api.plural), Ok(false)) {
            continue;
        }
        let message = format!(
            "the cluster does not serve {} ({}): jobs that are placed by that gang scheduler wait until it does",
            api.resource(),
            api.version
        );
        printer.warning(&message, Some(api.help))?;
    }
    Ok(())
}

/// Applies all objects; a rejected one does not stop the others, so that all errors are reported.
fn apply(session: &Session, objects: &[Value], outcomes: &mut Outcomes<'_>) -> Result<(), Failure> {
    let trial = outcomes.trial;
    let mut homeless = None;
    for object in objects {
        let home = object["metadata"]["namespace"].as_str();
        if home.is_some() && home == homeless {
            outcomes.tell(object, Ok(SKIPPED))?;
            continue;
        }
        let mut done = session.apply(object, trial).map(Outcome::word);
        if object["kind"] == "CustomResourceDefinition" && trial == Trial::Real && done.is_ok() {
            done = session.established(object).and(done);
        }
        if object["kind"] == "Namespace" && done.is_err() {
            homeless = object["metadata"]["name"].as_str();
        }
        outcomes.tell(object, done)?;
    }
    Ok(())
}

/// Prints the next steps.
fn tell_the_rest(typed: &Install, printer: &mut Printer) -> Result<(), Failure> {
    let namespace = &typed.place.namespace;
    if typed.image.is_none() {
        let image = image();
        printer.show("")?;
        printer.note(&format!(
            "`{image}` is built from the Dockerfile and in no registry: load it onto the nodes, or install again with `--image`"
        ))?;
    }
    printer.show("")?;
    printer.say(&format!(
        "`kubectl --namespace {namespace} rollout status deployment {NAME}` waits until it runs"
    ))
}
