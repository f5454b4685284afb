use super::*;

fn made(file: &str) -> Result<String, Unexpanded> {
    let hosts = ["a", "b", "c"].map(str::to_owned);
    let cast = cast(&hosts, &Wanted::default()).unwrap();
    expand(&UserTemplate::parse(file).unwrap(), &cast, "job")
}

#[test]
fn documents_are_joined_as_simpletfjob_joined_them() {
    let table = [
        ("  h: {{.host}}\n\n", "h: a\n---\nh: b\n---\nh: c"),
        // What the template makes is not trimmed, only the template is.
        ("{{/* x */}}\nh: {{.host}}", "\nh: a\n---\n\nh: b\n---\n\nh: c"),
        (
            "{{if eq .type \"worker\"}}h: {{.host}}{{end}}",
            "\n---\nh: b\n---\nh: c",
        ),
        ("---\nh: {{.host}}", "---\nh: a\n---\n---\nh: b\n---\n---\nh: c"),
        // But a separator at the end left an empty document between two tasks.
        ("h: {{.host}}\n---\n", "h: a\n---\nh: b\n---\nh: c"),
        (
            "a: |\n  ---\nh: {{.index}}",
            "a: |\n  ---\nh: 0\n---\na: |\n  ---\nh: 0\n---\na: |\n  ---\nh: 1",
        ),
    ];
    for (file, expected) in table {
        assert_eq!(made(file).unwrap(), expected, "{file}");
    }
}

#[test]
fn what_is_no_yaml_is_told_at_the_templates_place() {
    let file = "\na: 1\nb: {{.host}}: c\n";
    let refused = made(file).unwrap_err();
    assert_eq!(refused.task, "ps-0");
    let mistake = &refused.mistakes[0];
    let line = file[..mistake.at.unwrap()].matches('\n').count() + 1;
    assert_eq!(line, 3, "{mistake:?}");
    assert!(
        mistake.message.starts_with("what the template makes is no YAML"),
        "{mistake:?}"
    );
    assert!(
        mistake
            .hint
            .as_ref()
            .unwrap()
            .contains("the line it makes is `b: a: c`"),
        "{mistake:?}"
    );
}

#[test]
fn a_template_that_makes_nothing_is_refused() {
    for file in ["", "# only a comment", "{{if eq .host \"x\"}}a: b{{end}}"] {
        assert!(
            made(file).unwrap_err().mistakes[0].message.contains("no object"),
            "{file}"
        );
    }
}

#[test]
fn a_stand_in_is_made_for_each_role() {
    let template = UserTemplate::parse("r: {{.type}}").unwrap();
    let wanted = Wanted {
        num: Some(7),
        psn: 2,
        chief: true,
        evaluator: true,
        ..Wanted::default()
    };
    let roles: Vec<String> = stand_ins(&template, &wanted)
        .iter()
        .map(|document| document.root.get("r").unwrap().as_text().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["ps", "chief", "worker", "evaluator"]);
    let hopeless = UserTemplate::parse("{{index .hosts 99}}").unwrap();
    assert!(stand_ins(&hopeless, &Wanted::default()).is_empty());
}
