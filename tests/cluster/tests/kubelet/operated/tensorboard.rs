//! A TensorBoard beside a training: its page, and the numbers that the script wrote.

use serde_json::{Value, json};
use trainyard_manifest::kinds::tfjob;

use super::Yard;
use super::trainings::claim_checkpoints;
use crate::PATIENCE;

/// As the cluster's own image is called, which contains `tensorboard`.
const IMAGE: &str = "tensorflow/tensorflow:2.21.0";

/// Fits four weights, and writes and prints the loss of each step: the first half of them as one run, the rest as another.
const SCRIPT: &str = "
import tensorflow as tf
x = tf.random.stateless_normal([256, 4], seed=[1, 2])
y = x @ [[1.], [2.], [3.], [4.]]
weights = tf.Variable(tf.zeros([4, 1]))
writers = [tf.summary.create_file_writer(f'/volume/{name}') for name in ('first', 'second')]
for step in range(40):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ weights - y) ** 2)
    weights.assign_sub(0.05 * tape.gradient(loss, weights))
    with writers[step // 20].as_default():
        tf.summary.scalar('loss', loss, step=step)
    print('wrote', step // 20, step, float(loss), flush=True)
for writer in writers:
    writer.close()
";

/// Prints the title of the page and all losses. TensorBoard looks for new logs every few seconds.
const READER: &str = "
import json, re, sys, time, urllib.error, urllib.request
def get(path):
    return urllib.request.urlopen(sys.argv[1] + path, timeout=30).read().decode()
print('page', re.search('<title>.*</title>', get('/')).group())
for run in '01':
    points = []
    while len(points) < 20:
        time.sleep(0.1)
        try:
            points = json.loads(get(f'/data/plugin/scalars/scalars?run={run}%2F.&tag=loss'))
        except urllib.error.HTTPError as error:
            assert error.code in (400, 404), error
    print(json.dumps(points))
";

fn job() -> Value {
    let container = json!({
        "name": "tensorflow", "image": IMAGE, "command": ["python", "-c", SCRIPT],
        "volumeMounts": [{ "name": "volume", "mountPath": "/volume" }],
    });
    let claim = json!({ "claimName": "digits-checkpoints" });
    let pod = json!({
        "containers": [container], "volumes": [{ "name": "volume", "persistentVolumeClaim": claim }],
    });
    json!({
        "apiVersion": tfjob::API.api_version, "kind": tfjob::API.kind, "metadata": { "name": "curve" },
        "spec": {
            "tensorboardSpec": {
                "trainingLogFilesets": ["pvc://digits-checkpoints/first", "t9k://pvc/digits-checkpoints/second"],
            },
            "tfReplicaSpecs": { "Worker": { "replicas": 1, "template": { "spec": pod } } },
        },
    })
}

/// What the script has printed: run, step and loss.
fn written(log: &str) -> Vec<(String, u64, f64)> {
    let lines = log.lines().filter_map(|line| line.strip_prefix("wrote "));
    let numbers = lines.map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (
            words[0].to_owned(),
            words[1].parse().unwrap(),
            words[2].parse().unwrap(),
        )
    });
    numbers.collect()
}

#[test]
fn tensorboard_shows_the_numbers_that_the_training_wrote() {
    let Some(yard) = Yard::with(
        "board",
        &tfjob::API,
        &["--tensorboard", "--tensorboard-image", IMAGE],
    ) else {
        return;
    };
    claim_checkpoints(&yard);
    yard.create(&job().to_string());
    yard.succeeds("curve");
    let losses = written(&yard.log("curve-worker-0"));
    assert_eq!(losses.len(), 40);
    let board = yard.wait("curve", "its TensorBoard", |status| {
        let board = &status["tensorboard"];
        (board["ready"] == true).then(|| board.clone())
    });
    let url = format!("http://curve-tensorboard.{}.svc:6006/", yard.namespace.name());
    assert_eq!(board["url"], url);
    let shown = fetched(&yard);
    assert_eq!(shown[0], "page <title>TensorBoard</title>");
    for (run, line) in ["0", "1"].iter().zip(&shown[1..]) {
        let points: Vec<Value> = serde_json::from_str(line).unwrap();
        let expected: Vec<_> = losses.iter().filter(|(of, ..)| of == run).collect();
        assert_eq!(points.len(), expected.len(), "{line}");
        for ((_, step, loss), point) in expected.into_iter().zip(&points) {
            assert_eq!(point[1], *step, "{point}");
            let told = point[2].as_f64().unwrap();
            assert!(
                (told - loss).abs() <= 1e-6 * loss.abs(),
                "{point}: the script wrote {loss}"
            );
        }
    }
}

/// What a pod gets from TensorBoard over HTTP: the title of its page, and the losses of either run, a line each. No kube-proxy runs here, so
/// that the Service has no address that a pod can reach: it asks the pod that the Service selects.
#[track_caller]
fn fetched(yard: &Yard) -> Vec<String> {
    let api = yard.namespace.cluster().api();
    let pods = yard
        .namespace
        .path("api/v1", "pods?labelSelector=trainyard.dev/tensorboard=curve");
    let address = api.wait(&pods, "its address", |list| {
        Some(list["items"][0]["status"]["podIP"].as_str()?.to_owned())
    });
    let container = json!({
        "name": "reader", "image": IMAGE, "command": ["python", "-c", READER, format!("http://{address}:6006")],
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "reader" },
        "spec": { "restartPolicy": "Never", "containers": [container] },
    });
    yard.create(&pod.to_string());
    let phase = api.wait_for(PATIENCE, &yard.namespace.pod("reader"), "its end", |pod| {
        let phase = pod["status"]["phase"].as_str()?;
        ["Succeeded", "Failed"].contains(&phase).then(|| phase.to_owned())
    });
    let log = yard.log("reader");
    assert_eq!(phase, "Succeeded", "{log}\n{}", yard.all_logs());
    log.lines().map(str::to_owned).collect()
}
