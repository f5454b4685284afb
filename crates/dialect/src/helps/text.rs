//! Helps about the text: TY001 to TY019.

use trainyard_document::MOST_BYTES;
use trainyard_document::codes::Code;

use super::manifests::V1;
use super::{Row, row};

pub(super) fn rows() -> Vec<Row> {
    let mut rows = encodings();
    rows.extend(keys());
    rows.extend(kubectl());
    rows.extend(syntax());
    rows
}

fn encodings() -> Vec<Row> {
    let bytes = |code, help, before: Vec<u8>| Row {
        code,
        help,
        before,
        after: V1.into(),
    };
    let utf16 = [0xfeff]
        .into_iter()
        .chain(V1.encode_utf16())
        .flat_map(u16::to_le_bytes);
    let large = format!("{V1}#{}", "x".repeat(MOST_BYTES));
    vec![
        bytes(Code::Utf16, "save it as UTF-8", utf16.collect()),
        bytes(
            Code::NotUtf8,
            "save the file as UTF-8",
            V1.replace("name: job", "name: jo\u{1}")
                .into_bytes()
                .into_iter()
                .map(|byte| if byte == 1 { 0xe9 } else { byte })
                .collect(),
        ),
        bytes(
            Code::TooLarge,
            "give the manifests alone, in several files if need be",
            large.into_bytes(),
        ),
    ]
}

fn keys() -> Vec<Row> {
    let second = V1.replace("name: job", "name: other");
    vec![
        row(
            Code::DuplicateKey,
            V1,
            &[("  name: job\n", "  name: job\n  name: job\n")],
            "remove one of the two",
            &[("  name: job\n  name: job\n", "  name: job\n")],
        ),
        row(
            Code::BadMerge,
            V1,
            &[("  name: job\n", "  name: job\n  labels: {<<: x}\n")],
            "quote a key that is really called `<<`",
            &[("<<:", "\"<<\":")],
        ),
        row(
            Code::MergedOverOwn,
            V1,
            &[(
                "  name: job\n",
                "  name: job\n  annotations: &x {a: b}\n  labels: {a: c, <<: *x}\n",
            )],
            "put `<<` first in the map, so that its own keys win",
            &[("{a: c, <<: *x}", "{<<: *x, a: c}")],
        ),
        row(
            Code::BadKey,
            V1,
            &[("  name: job\n", "  name: job\n  labels: {~: x}\n")],
            "quote it if it is meant as text",
            &[("~:", "\"~\":")],
        ),
        row(
            Code::BadAlias,
            V1,
            &[("  name: job\n", "  name: job\n  labels: {a: &key b, *key: c}\n")],
            "put a space before the colon",
            &[("*key:", "*key :")],
        ),
        row(
            Code::AfterDocumentEnd,
            &format!("{V1}...\n---\n{second}"),
            &[("...\n---\n", "...\n")],
            "begin the document with `---`",
            &[("...\n", "...\n---\n")],
        ),
    ]
}

/// What kubectl refuses.
fn kubectl() -> Vec<Row> {
    let refused = |spoil: (&str, &str), help, mend: (&str, &str)| {
        row(Code::KubectlRefuses, V1, &[spoil], help, &[mend])
    };
    vec![
        refused(
            ("apiVersion", "%YAML 1.2\n---\napiVersion"),
            "remove it; it changes nothing",
            ("%YAML 1.2\n", ""),
        ),
        refused(
            ("  - name: tensorflow", "  -\tname: tensorflow"),
            "use spaces",
            ("-\tname", "- name"),
        ),
        refused(
            (
                "apiVersion: kubeflow.org/v1\n",
                "--- {apiVersion: kubeflow.org/v1,\n ",
            ),
            "begin the document on the next line",
            (
                "--- {apiVersion: kubeflow.org/v1,\n ",
                "---\napiVersion: kubeflow.org/v1\n",
            ),
        ),
        refused(
            ("  name: job\n", "  name: job\n  labels: {a: b?c}\n"),
            "put the text in quotes",
            ("b?c", "\"b?c\""),
        ),
        refused(
            ("  name: job\n", "  name: job\n  labels: {a:, b: c}\n"),
            "put a space behind the colon",
            ("{a:,", "{a: \"\","),
        ),
        refused(
            ("  name: job\n", "  name: job\n  labels: {a: \"b\\/c\"}\n"),
            "write the character itself",
            ("\\/", "/"),
        ),
        refused(
            ("  name: job\n", "  name: job\n  labels: {a: &k.1 b, c: *k.1 }\n"),
            "use letters, digits, `-` and `_` alone",
            ("&k.1 b, c: *k.1", "&k1 b, c: *k1"),
        ),
        refused(
            ("  name: job\n", "  name: job\n  labels: {a: b\u{2028}c}\n"),
            "remove it, or write it as an escape in double quotes",
            ("b\u{2028}c", "\"b\\u2028c\""),
        ),
    ]
}

fn syntax() -> Vec<Row> {
    let wrong =
        |spoil: (&str, &str), help, mend: (&str, &str)| row(Code::Syntax, V1, &[spoil], help, &[mend]);
    let json = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}"#;
    vec![
        wrong(
            ("      replicas: 2", "\t  replicas: 2"),
            "use spaces",
            ("\t", "    "),
        ),
        wrong(
            ("name: tensorflow\n", "name: \"tensorflow\n"),
            "close the quote before it, or indent this line further than the key or `-` before the quote",
            ("\"tensorflow\n", "\"tensorflow\"\n"),
        ),
        wrong(
            (
                "image: tensorflow/tensorflow\n",
                "image: {a: \"tensorflow/tensorflow}",
            ),
            "close it, or write a quote inside the text as \\\" (or '' in single quotes)",
            (
                "image: {a: \"tensorflow/tensorflow}",
                "image: \"tensorflow/tensorflow\"\n",
            ),
        ),
        wrong(
            ("      restartPolicy: Never", "     restartPolicy: Never"),
            "align it with its neighbours",
            ("     restartPolicy: Never", "      restartPolicy: Never"),
        ),
        wrong(
            ("name: job\n", "name: job\n  uid: a: b\n"),
            "put text that contains `: ` in quotes, or mend the indentation",
            ("uid: a: b", "uid: \"a: b\""),
        ),
        wrong(
            ("name: job\n", "name: job\n  uid\n"),
            "write `key: value`, with a space after the colon",
            ("  uid\n", "  uid: x\n"),
        ),
        wrong(
            ("name: job\n", "name: job\n  labels: {a: [b] c: d}\n"),
            "put a comma between the entries of a map",
            ("{a: [b] c: d}", "{a: b, c: d}"),
        ),
        wrong(
            ("name: job\n", "name: \"job\" x\n"),
            "put all of it inside the quotes, or a comma between two entries",
            ("\"job\" x", "\"job-x\""),
        ),
        wrong(
            ("name: job\n", "name: \"jo\\b\\q\"\n"),
            "write a backslash as `\\\\`, or use single quotes",
            ("\"jo\\b\\q\"", "job\n  labels: {a: \"jo\\\\b\\\\q\"}"),
        ),
        wrong(
            ("name: job\n", "name: @job\n"),
            "put the value in quotes if it is meant as text",
            ("@job", "job\n  labels: {a: \"@job\"}"),
        ),
        row(
            Code::Syntax,
            json,
            &[(r#""v1", "kind""#, r#""v1" "kind""#)],
            "put all of it inside the quotes, or a comma between two entries",
            &[(r#""v1" "kind""#, r#""v1", "kind""#)],
        ),
    ]
}
