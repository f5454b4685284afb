use super::*;

fn hosts(names: &str) -> Vec<String> {
    names.split_whitespace().map(str::to_owned).collect()
}

fn told(cast: &Cast) -> String {
    let tasks: Vec<String> = cast
        .tasks()
        .map(|(kind, at, host)| format!("{kind}-{at}={host}"))
        .collect();
    tasks.join(" ")
}

#[test]
fn parts_are_given_out_as_simpletfjob_does() {
    let table = [
        ("a b c", Wanted::default(), "ps-0=a worker-0=b worker-1=c"),
        (
            "a b c d",
            Wanted {
                num: Some(3),
                exclude: hosts("b"),
                ..Wanted::default()
            },
            "ps-0=a worker-0=c worker-1=d",
        ),
        (
            "a b c d",
            Wanted {
                psn: 2,
                ..Wanted::default()
            },
            "ps-0=a ps-1=b worker-0=c worker-1=d",
        ),
        (
            "a b",
            Wanted {
                psn: 0,
                ..Wanted::default()
            },
            "worker-0=a worker-1=b",
        ),
        (
            "a b c d",
            Wanted {
                chief: true,
                evaluator: true,
                ..Wanted::default()
            },
            "ps-0=a chief-0=b worker-0=d evaluator-0=c",
        ),
        (
            "a b c",
            Wanted {
                ps_hosts: Some(hosts("c")),
                ..Wanted::default()
            },
            "ps-0=c worker-0=a worker-1=b",
        ),
        (
            "a b",
            Wanted {
                chief: true,
                ..Wanted::default()
            },
            "ps-0=a chief-0=b",
        ),
        // Named servers are used whatever their place in the list is.
        (
            "a b c d",
            Wanted {
                num: Some(3),
                ps_hosts: Some(hosts("d")),
                ..Wanted::default()
            },
            "ps-0=d worker-0=a worker-1=b",
        ),
    ];
    for (names, wanted, expected) in table {
        assert_eq!(
            told(&cast(&hosts(names), &wanted).unwrap()),
            expected,
            "{wanted:?}"
        );
    }
}

#[test]
fn what_crashed_simpletfjob_is_refused_with_both_numbers() {
    let table = [
        (
            "h10 h14 h20 h30 h40",
            Wanted {
                num: Some(5),
                exclude: hosts("h10 h14"),
                ..Wanted::default()
            },
            "need 5 hosts, only 3 available (2 excluded: h10,h14)",
        ),
        (
            "a b c",
            Wanted {
                num: Some(5),
                ..Wanted::default()
            },
            "need 5 hosts, only 3 available",
        ),
        ("", Wanted::default(), "need 1 host, only 0 available"),
        (
            "a",
            Wanted {
                num: Some(0),
                ..Wanted::default()
            },
            "no host is asked for: `--num` must be at least 1",
        ),
        (
            "a b",
            Wanted {
                psn: 2,
                ..Wanted::default()
            },
            "2 parameter servers and at least 1 worker need 3 hosts, only 2 are used",
        ),
        (
            "a b",
            Wanted {
                psn: 7,
                ..Wanted::default()
            },
            "7 parameter servers and at least 1 worker need 8 hosts, only 2 are used",
        ),
        (
            "a b c d",
            Wanted {
                num: Some(2),
                chief: true,
                evaluator: true,
                ..Wanted::default()
            },
            "1 parameter server, an evaluator and a chief need 3 hosts, only 2 are used",
        ),
        (
            "a",
            Wanted::default(),
            "1 parameter server and at least 1 worker need 2 hosts, only 1 is used",
        ),
        (
            "a b a",
            Wanted::default(),
            "the host `a` is named twice: two tasks there would share a port",
        ),
        ("a b{", Wanted::default(), "`b{` is no name of a host"),
        (
            "a b",
            Wanted {
                ps_hosts: Some(hosts("x y")),
                ..Wanted::default()
            },
            "parameter servers are to run on x, y, which are not among the 2 hosts that there are (a, b)",
        ),
    ];
    for (names, wanted, expected) in table {
        let refused = cast(&hosts(names), &wanted).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn a_file_of_names_may_have_comments_blanks_and_foreign_line_ends() {
    assert_eq!(
        names("h10\r\n# old\r\n\r\n  h14 \nh2, h3,\nnode/h4\n"),
        ["h10", "h14", "h2", "h3", "h4"]
    );
    let wanted = Wanted {
        exclude: hosts("zz"),
        ..Wanted::default()
    };
    assert_eq!(cast(&hosts("a b"), &wanted).unwrap().unknown, ["zz"]);
}
