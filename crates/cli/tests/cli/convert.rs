//! `trainyard convert`.

use crate::run::run;

#[test]
fn exit_code_policies_become_what_a_tfjob_can_say_and_the_rest_is_told() {
    insta::assert_snapshot!(run(&["convert", "examples/volcano/exit-codes.yaml", "--to", "tfjob"]).shown());
}

#[test]
fn a_tfjob_becomes_a_volcano_job() {
    insta::assert_snapshot!(
        run(&[
            "convert",
            "examples/tfjob/parameter-server.yaml",
            "--to",
            "volcano"
        ])
        .shown()
    );
}

#[test]
fn a_mirrored_tfjob_becomes_a_training_job() {
    let typed = [
        "convert",
        "examples/tfjob/mirrored-workers-gpu.yaml",
        "--to",
        "tensorflowtrainingjob",
    ];
    insta::assert_snapshot!(run(&typed).shown());
}

#[test]
fn a_job_without_a_form_there_exits_1() {
    insta::assert_snapshot!(
        run(&[
            "convert",
            "examples/volcano/enough-successes.yaml",
            "--to",
            "tfjob"
        ])
        .shown()
    );
}

#[test]
fn objects_beside_the_job_come_along() {
    insta::assert_snapshot!(
        run(&[
            "convert",
            "examples/tfjob/with-data-and-settings.yaml",
            "--to",
            "tfjob"
        ])
        .shown()
    );
}
