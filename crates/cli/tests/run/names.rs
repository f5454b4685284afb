//! Names in manifests that become names of files: none leads out of its volume.

use crate::bench::{Bench, every_user};

#[test]
fn keys_that_lead_out_of_their_volume_write_nothing_anywhere() {
    let outside = ["stolen-by-key", "stolen-by-path"];
    for who in every_user() {
        let bench = Bench::of(who);
        let places = outside.map(|name| bench.path(name));
        let up = "../".repeat(30);
        let absolute = places[0].display().to_string();
        let relative = format!("{up}{}", places[0].display().to_string().trim_start_matches('/'));
        let path = format!("{up}{}", places[1].display().to_string().trim_start_matches('/'));
        for (kind, key, item) in [
            ("ConfigMap", absolute.as_str(), ""),
            ("Secret", absolute.as_str(), ""),
            ("ConfigMap", relative.as_str(), ""),
            ("Secret", "good", path.as_str()),
            ("ConfigMap", "good", places[1].to_str().expect("it is text")),
        ] {
            let object = format!(
                "apiVersion: v1\nkind: {kind}\nmetadata: {{name: keys}}\nstringData: {{? \"{key}\" : x}}\ndata: {{}}\n"
            );
            let object = match kind {
                "ConfigMap" => object.replace("data: {}\n", "").replace("stringData", "data"),
                _ => object,
            };
            let items = match item {
                "" => String::new(),
                item => format!(", items: [{{key: good, path: \"{item}\"}}]"),
            };
            let volume = match kind {
                "ConfigMap" => format!("configMap: {{name: keys{items}}}"),
                _ => format!("secret: {{secretName: keys{items}}}"),
            };
            let job = over_volume(&volume);
            // As one file, and with the objects given beside it: those are not checked with the manifest.
            bench.write("job.yaml", format!("{object}---\n{job}"));
            bench.write("alone.yaml", &job);
            bench.write("keys.yaml", &object);
            for arguments in [
                &["run", "job.yaml"][..],
                &["run", "alone.yaml", "--with", "keys.yaml"],
                &["run", "-d", "alone.yaml", "--with", "keys.yaml"],
            ] {
                let ran = bench.run(arguments);
                assert_eq!(ran.code, Some(2), "{who:?} {arguments:?} {object} {ran:?}");
                assert!(!ran.out.contains("ran"), "{ran:?}");
            }
            for place in &places {
                assert!(!place.exists(), "{who:?} {object} wrote {}", place.display());
            }
            let checked = bench.run(&["check", "job.yaml"]);
            assert_eq!(checked.code, Some(1), "{checked:?}");
            let found = ["error[TY074]", "job.yaml:", "at `"];
            assert!(
                found.iter().all(|words| checked.out.contains(words)),
                "{checked:?}"
            );
        }
        bench.assert_nothing_left();
    }
}

/// A job of one worker that mounts this volume.
pub fn over_volume(volume: &str) -> String {
    format!(
        "apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {{name: job}}
spec:
  tfReplicaSpecs:
    Worker:
      replicas: 1
      restartPolicy: Never
      template:
        spec:
          volumes: [{{name: keys, {volume}}}]
          containers:
          - name: tensorflow
            image: x
            command: [echo, ran]
            volumeMounts: [{{name: keys, mountPath: /ty-keys}}]
"
    )
}
