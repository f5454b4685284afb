//! Helps about the shape and about pods: what every dialect shares.

use trainyard_document::codes::Code;

use super::manifests::{PS, V1};
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = headings();
    rows.extend(types());
    rows.extend(pods());
    rows.extend(templates());
    rows.extend(volumes());
    rows
}

fn headings() -> Vec<Row> {
    let list = format!("- {}", V1.trim_end().replace('\n', "\n  "));
    let second = V1.replace("name: job", "name: other");
    vec![
        row(
            Code::MissingField,
            V1,
            &[("  name: job", "  namespace: here")],
            "add `name`, or `generateName` for a new name each time",
            &[("  namespace: here", "  namespace: here\n  generateName: job-")],
        ),
        row(
            Code::UnknownField,
            V1,
            &[(
                "  name: job",
                "  name: job\n  annotations: {trainyard.dev/adresses: per-job}",
            )],
            "did you mean `trainyard.dev/addresses`?",
            &[("adresses", "addresses")],
        ),
        row(
            Code::UnknownVersion,
            V1,
            &[("kubeflow.org/v1", "kubeflow.org/v2")],
            "did you mean `v1`?",
            &[("kubeflow.org/v2", "kubeflow.org/v1")],
        ),
        row(
            Code::UnknownVersion,
            V1,
            &[("kubeflow.org/v1", "kubeflow.org/stable")],
            "write `kubeflow.org/v1`",
            &[("kubeflow.org/stable", "kubeflow.org/v1")],
        ),
        row(
            Code::MistakenKind,
            V1,
            &[("kind: TFJob", "kind: TfJob")],
            "did you mean `TFJob`?",
            &[("TfJob", "TFJob")],
        ),
        row(
            Code::MistakenKind,
            V1,
            &[("kubeflow.org/v1", "tensorflow.org/v1alpha1")],
            "that was its group before Kubeflow: write `kubeflow.org/v1`, or `kubeflow.org/v1alpha1` for its old shape, and `kind: TFJob`",
            &[("tensorflow.org/v1alpha1", "kubeflow.org/v1")],
        ),
        row(
            Code::NotAnObject,
            "",
            &[("", &list)],
            "separate objects by lines of `---`, or use `kind: List`",
            &[(list.as_str(), &format!("{V1}---\n{second}"))],
        ),
        row(
            Code::SameJobTwice,
            &format!("{V1}---\n{second}"),
            &[("name: other", "name: job")],
            "rename one of them",
            &[("name: job", "name: another")],
        ),
        row(
            Code::BadName,
            V1,
            &[("name: job", "name: 3d-unet")],
            "for example `job-3d-unet`",
            &[("3d-unet", "job-3d-unet")],
        ),
        row(
            Code::BadName,
            V1,
            &[("name: job", "name: job\n  namespace: My_Team")],
            "for example `my-team`",
            &[("My_Team", "my-team")],
        ),
        row(
            Code::NameTooLong,
            V1,
            &[(
                "name: job",
                "name: a123456789b123456789c123456789d123456789e123456789f123456",
            )],
            "shorten the job's name by 3",
            &[("f123456", "f123")],
        ),
    ]
}

fn types() -> Vec<Row> {
    let wrong =
        |spoil: (&str, &str), help, mend: (&str, &str)| row(Code::WrongType, V1, &[spoil], help, &[mend]);
    let runs = |spoil: &'static str| ("cleanPodPolicy: Running", spoil);
    vec![
        wrong(
            ("name: job", "name: yes"),
            "unquoted `yes` is the boolean true: write \"yes\"",
            ("name: yes", "name: \"yes\""),
        ),
        wrong(
            ("name: job", "name: off"),
            "unquoted `off` is the boolean false: write \"off\"",
            ("name: off", "name: \"off\""),
        ),
        wrong(
            ("name: job", "name: job\n  labels: {v: 2.0}"),
            "put it in quotes: \"2.0\"",
            ("2.0", "\"2.0\""),
        ),
        wrong(
            ("replicas: 2", "replicas: \"2\""),
            "remove the quotes: 2",
            ("\"2\"", "2"),
        ),
        wrong(
            runs("suspend: \"true\""),
            "remove the quotes: true",
            ("\"true\"", "true"),
        ),
        wrong(
            runs("suspend: \"false\""),
            "remove the quotes: false",
            ("\"false\"", "false"),
        ),
        wrong(
            (
                "          - name: tensorflow\n            image",
                "            name: tensorflow\n            image",
            ),
            "begin each item with `- `",
            ("            name: tensorflow", "          - name: tensorflow"),
        ),
        wrong(
            ("    cleanPodPolicy: Running", "  - cleanPodPolicy: Running"),
            "remove the `- ` in front of its fields",
            ("  - cleanPodPolicy", "    cleanPodPolicy"),
        ),
        row(
            Code::UnknownValue,
            V1,
            &[("restartPolicy: Never", "restartPolicy: never")],
            "did you mean `Never`?",
            &[("never", "Never")],
        ),
        row(
            Code::UnknownField,
            V1,
            &[("replicas: 2", "replica: 2")],
            "did you mean `replicas`?",
            &[("replica: 2", "replicas: 2")],
        ),
        row(
            Code::UnknownField,
            V1,
            &[("  runPolicy:\n", "  suspend: true\n  runPolicy:\n")],
            "it belongs in `spec.runPolicy.suspend`",
            &[(
                "  suspend: true\n  runPolicy:\n",
                "  runPolicy:\n    suspend: true\n",
            )],
        ),
    ]
}

fn pods() -> Vec<Row> {
    let image = "image: tensorflow/tensorflow\n";
    let with = |code, more: &str, help, mend: (&str, &str)| {
        let after = format!("{image}            {more}\n");
        row(code, V1, &[(image, &after)], help, &[mend])
    };
    vec![
        with(
            Code::BadQuantity,
            "resources: {limits: {memory: 4GB}}",
            "did you mean `4G`?",
            ("4GB", "4G"),
        ),
        with(
            Code::OldGpuName,
            "resources: {limits: {alpha.kubernetes.io/nvidia-gpu: 1}}",
            "write `nvidia.com/gpu`",
            ("alpha.kubernetes.io/nvidia-gpu", "nvidia.com/gpu"),
        ),
        with(
            Code::UnknownField,
            "resources: {limits: {gpu: 1}}",
            "did you mean `nvidia.com/gpu`?",
            ("gpu", "nvidia.com/gpu"),
        ),
        with(
            Code::EnvNotText,
            "env: [{name: A, value: 4}]",
            "put it in quotes: \"4\"",
            ("value: 4", "value: \"4\""),
        ),
        with(
            Code::EnvNotText,
            "env: [{name: A, value: [4]}]",
            "write it as text in quotes",
            ("[4]", "\"[4]\""),
        ),
        with(
            Code::BadEnv,
            "env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]",
            "remove one of them",
            ("value: x, ", ""),
        ),
        with(
            Code::TfConfigSet,
            "env: [{name: TF_CONFIG, value: x}]",
            "remove it from `env`",
            ("{name: TF_CONFIG, value: x}", ""),
        ),
    ]
}

fn templates() -> Vec<Row> {
    let image = "image: tensorflow/tensorflow\n";
    vec![
        row(
            Code::BadFormat,
            V1,
            &[(image, "image: \" tensorflow/tensorflow\"\n")],
            "write `tensorflow/tensorflow`",
            &[("\" tensorflow/tensorflow\"", "tensorflow/tensorflow")],
        ),
        row(
            Code::BadName,
            V1,
            &[(
                "          - name: tensorflow",
                "          - {name: My_Sidecar, image: x}\n          - name: tensorflow",
            )],
            "for example `my-sidecar`",
            &[("My_Sidecar", "my-sidecar")],
        ),
        row(
            Code::NoMainContainer,
            V1,
            &[("- name: tensorflow", "- name: main")],
            "rename `main` to `tensorflow`",
            &[("- name: main", "- name: tensorflow")],
        ),
        row(
            Code::StrippedMetadata,
            V1,
            &[(
                "      template:\n",
                "      template:\n        metadata: {finalizers: [a/b]}\n",
            )],
            "remove it",
            &[("finalizers: [a/b]", "")],
        ),
        row(
            Code::TfConfigTooLong,
            V1,
            &[("replicas: 2", "replicas: 9000")],
            "3386 replicas of `worker` would fit",
            &[("9000", "3386")],
        ),
        row(
            Code::ServersBesideMirrored,
            V1,
            &[
                ("    Worker:", PS),
                (
                    image,
                    "image: tensorflow/tensorflow\n            command: [mirrored]\n",
                ),
            ],
            "remove `PS`, or use ParameterServerStrategy",
            &[("[mirrored]", "[parameter-servers]")],
        ),
        row(
            Code::Placeholder,
            V1,
            &[("image: tensorflow/tensorflow", "image: <DOCKER_USERNAME>/mnist")],
            "write your own value in its place",
            &[("<DOCKER_USERNAME>", "mycompany")],
        ),
    ]
}

fn volumes() -> Vec<Row> {
    let image = "image: tensorflow/tensorflow\n";
    let mount = |volumes: &str| {
        format!(
            "{image}            volumeMounts: [{{name: data, mountPath: /data}}]\n          volumes: [{volumes}]\n"
        )
    };
    vec![
        row(
            Code::MountWithoutVolume,
            V1,
            &[(image, &mount("{name: dat, emptyDir: {}}"))],
            "did you mean `dat`?",
            &[("name: data", "name: dat")],
        ),
        row(
            Code::MountWithoutVolume,
            V1,
            &[(image, &mount(""))],
            "declare it under `spec.volumes`",
            &[("volumes: []", "volumes: [{name: data, emptyDir: {}}]")],
        ),
        row(
            Code::VolumeWithoutSource,
            V1,
            &[(image, &mount("{name: data}"))],
            "say so with `emptyDir: {}`, or name its source",
            &[("[{name: data}]", "[{name: data, emptyDir: {}}]")],
        ),
        row(
            Code::BadName,
            V1,
            &[(
                image,
                &mount("{name: data, emptyDir: {}}, {name: My_Data, emptyDir: {}}"),
            )],
            "for example `my-data`",
            &[("My_Data", "my-data")],
        ),
        row(
            Code::BadFileName,
            &format!(
                "{V1}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: code}}\ndata: {{train.py: x}}\n"
            ),
            &[("train.py", "../train.py")],
            "for example `train.py`",
            &[("../train.py", "train.py")],
        ),
    ]
}
