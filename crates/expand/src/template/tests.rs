use super::*;

fn values() -> Value {
    let entries = VARIABLES.map(|name| (name.to_owned(), Value::String(format!("<{name}>").into())));
    Value::from_entries(entries)
}

/// `line:column: what`, for each mistake.
fn told(file: &str) -> String {
    let mistakes = match UserTemplate::parse(file) {
        Err(mistakes) => mistakes,
        Ok(template) => vec![template.fill(&values()).unwrap_err()],
    };
    let told: Vec<String> = mistakes.iter().map(|mistake| place(file, mistake)).collect();
    told.join("|")
}

fn place(file: &str, mistake: &Mistake) -> String {
    let Some(at) = mistake.at else {
        return mistake.message.clone();
    };
    let before = &file[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("{line}:{column}: {}", mistake.message)
}

#[test]
fn a_template_is_filled_in_as_go_does() {
    let table = [
        ("  a {{.type}}-{{.index}}\n\n", "a <type>-<index>"),
        ("{{if eq .type \"<type>\"}}y{{else}}n{{end}}", "y"),
        ("{{with .host}}{{.}}{{end}} {{$x := .num}}{{$x}}", "<host> <num>"),
        ("{{printf \"%s:%s\" .host .port}}", "<host>:<port>"),
        ("{{/* first */}}\na", "\na"),
        ("a: {{.TF_CONFIG}}\n", "a: <TF_CONFIG>"),
        ("a\n{{- /* one\ntwo */}}\nb", "a\nb"),
        (
            "{{define \"x\"}}[{{.host}}]{{end}}{{template \"x\" .}}",
            "[<host>]",
        ),
        ("{{block \"x\" .}}[{{.host}}]{{end}}", "[<host>]"),
        // Given nothing, and it looks at nothing but what it makes itself.
        (
            "{{define \"x\"}}{{$a := \"b\"}}{{with $a}}{{.}}{{end}}{{range 2}}{{.}}{{end}}{{end}}{{template \"x\"}}",
            "b01",
        ),
    ];
    for (text, expected) in table {
        let template = UserTemplate::parse(text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"));
        assert_eq!(template.fill(&values()).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_name_that_means_nothing_is_told_with_its_place() {
    let table = [
        (
            "\n\na: {{.foo}}\nb: {{.hots}}",
            "3:6: there is no variable `.foo`|4:6: there is no variable `.hots`",
        ),
        (
            "{{range .hosts}}{{$.bar}}{{end}}",
            "1:19: there is no variable `.bar`",
        ),
        ("{{if (eq .nope 1)}}{{end}}", "1:10: there is no variable `.nope`"),
        ("a {{- /*\n\n*/}} {{.foo}}", "3:8: there is no variable `.foo`"),
        ("é {{.foo}}", "1:5: there is no variable `.foo`"),
        ("{{nosuch .type}}", "1:3: there is no function `nosuch`"),
        ("{{.type | nosuch}}", "1:11: there is no function `nosuch`"),
        ("{{$x}}", "1:3: there is no variable `$x` here"),
        (
            "{{if true}}{{$x := 1}}{{end}}{{$x}}",
            "1:32: there is no variable `$x` here",
        ),
        ("{{template \"x\"}}", "1:3: there is no template `x`"),
        (
            "{{define \"x\"}}{{if true}}{{.}}{{end}}{{end}}\n{{template \"x\"}}",
            "2:3: template `x` is given nothing here, and refers to what it is given",
        ),
        (
            "{{define \"x\"}}{{template \"y\" $.host}}{{end}}{{define \"y\"}}{{end}}{{template \"x\"}}",
            "1:68: template `x` is given nothing here, and refers to what it is given",
        ),
        (
            "{{printf \"%999999999d\" 1}}",
            "1:10: a width of 999999999 is too much; the most is 1000000",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn blocks_that_go_refuses_are_refused() {
    for text in [
        "{{.type",
        "{{if .type}}x",
        "{{.type}} {{end}} more",
        "{{else}}",
        "{{define \"x\"}}abc",
        "{{range .hosts}}a",
    ] {
        assert!(UserTemplate::parse(text).is_err(), "{text}");
    }
    assert!(told("a: b\n{{if .type}}\nc: d").starts_with("2:1: "));
}

#[test]
fn what_fails_while_it_is_filled_in_has_a_place_too() {
    let table = [
        ("a\nb: {{index .hosts 99}}\n", "2:4: "),
        ("a\n{{if eq .index 0}}x{{end}}", "2:1: "),
        ("{{.host.foo}}", "1:1: "),
    ];
    for (text, expected) in table {
        let told = told(text);
        assert!(told.starts_with(expected), "{text}: {told}");
    }
    let template = UserTemplate::parse("{{if eq .index 0}}x{{end}}").unwrap();
    let hint = template.fill(&values()).unwrap_err().hint.unwrap();
    assert!(hint.contains("compare it with `\"0\"`"), "{hint}");
}

#[test]
fn every_byte_of_the_output_has_its_origin() {
    let text = "ab {{.host}}\n{{- if .type}}  cd{{else}}x{{end}}{{range .hosts}}-{{.}}{{end}}";
    let template = UserTemplate::parse(text).unwrap();
    let hosts = ["h1", "h2"].map(|host| Value::String(host.into()));
    let values = Value::from_entries([
        ("host".to_owned(), Value::String("HOST".into())),
        ("type".to_owned(), Value::String("ps".into())),
        ("hosts".to_owned(), Value::List(hosts.to_vec().into())),
    ]);
    let made = template.fill(&values).unwrap();
    assert_eq!(made, "ab HOST  cd-h1-h2");
    let from = |part: &str, source: &str| {
        let at = made.find(part).unwrap();
        assert_eq!(template.origin(&values, at), text.find(source), "{part}");
    };
    from("ab", "ab");
    from("HOST", "{{.host");
    from("  cd", "  cd");
    from("cd", "cd{{");
    from("-h2", "-{{.}}");
    from("h2", "{{.}}");
}

#[test]
fn a_template_that_would_fill_the_memory_is_refused() {
    let template = UserTemplate::parse("{{range 2000000}}aaaaaaaaaaaaaaaa{{end}}").unwrap();
    let told = template.fill(&values()).unwrap_err().message;
    assert!(told.contains("16 MiB") || told.contains("range"), "{told}");
}

#[test]
fn only_what_is_used_is_made() {
    let template =
        UserTemplate::parse("{{.num}} {{index . \"port\"}}{{define \"x\"}}{{.name}}{{end}}").unwrap();
    let used: Vec<&str> = VARIABLES.into_iter().filter(|name| template.uses(name)).collect();
    assert_eq!(
        used,
        ["type", "index", "host", "TF_CONFIG", "num", "port", "name"]
    );
}
