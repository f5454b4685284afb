//! Made-up cases: the same seed makes the same case, on every machine.

/// What simpletfjob was given.
#[derive(Debug)]
pub struct Case {
    pub template: String,
    pub nodes: Vec<String>,
    /// The file `exc`, if `-E` was there.
    pub exclude: Option<String>,
    pub num: i64,
    pub psn: i64,
}

impl Case {
    pub fn made_up(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        let number = if dice.below(5) == 0 {
            dice.below(8)
        } else {
            4 + dice.below(4)
        };
        let nodes: Vec<String> = NAMES
            .iter()
            .zip(0..number)
            .map(|(names, _)| dice.pick(names))
            .collect();
        let exclude = (dice.below(4) == 0).then(|| exclude(&mut dice, &nodes));
        let num = match dice.below(8) {
            0 => -1,
            1 => dice.signed(-3, 9),
            _ => dice.signed(2, 4),
        };
        let psn = match dice.below(6) {
            0 => dice.signed(-1, 5),
            _ => 1,
        };
        Self {
            template: template(&mut dice),
            nodes,
            exclude,
            num,
            psn,
        }
    }
}

/// In name order, as an API lists nodes; any two of different rows differ.
const NAMES: [[&str; 2]; 8] = [
    ["a1", "a.example.com"],
    ["b", "bb-1"],
    ["c10", "c100"],
    ["d", "d-2"],
    ["h10", "h100"],
    ["h14", "h2"],
    ["ip-10-0-0-4.ec2.internal", "m0"],
    ["z", "z9"],
];

fn exclude(dice: &mut Dice, nodes: &[String]) -> String {
    let mut text = String::new();
    for node in nodes {
        if dice.below(3) == 0 {
            text.push_str(&dice.pick(&["", "  ", "\t"]));
            text.push_str(node);
            text.push_str(&dice.pick(&["\n", "\r\n", " \n", "\n\n"]));
        }
    }
    text + &dice.pick(&["", "nobody\n", "\n"])
}

/// A template whose result is YAML whatever its actions make: everything is in a block of text.
fn template(dice: &mut Dice) -> String {
    let mut text = dice.pick(&["", "\n\n", "  ", "{{/* made up */}}\n", "{{$top := .host}}"]);
    text.push_str("made-up: |2\n  begin\n");
    for _ in 0..=dice.below(7) {
        text.push_str("  ");
        text.push_str(&line(dice, 3));
        text.push('\n');
    }
    // What Go refuses, or fails with.
    if dice.below(12) == 0 {
        text.push_str("  ");
        text.push_str(&dice.pick(&BROKEN));
        text.push('\n');
    }
    text + &dice.pick(&[
        "",
        "\n\n",
        "  {{.TF_CONFIG}}\n",
        "  end {{- /* of it */ -}} \n",
        "  \n \t",
    ])
}

const BROKEN: [&str; 22] = [
    "{{if .type}}",
    "{{end}}",
    "{{.host}} {{end}} x",
    "{{else}}",
    "{{range .host}}{{end}}",
    "{{.nosuch}}",
    "{{.host",
    "{{nosuch .host}}",
    "{{$nobody}}",
    "{{template \"nobody\"}}",
    "{{define \"open\"}}",
    "{{eq .index 0}}",
    "{{index .host 99}}",
    "{{slice .host 50}}",
    "{{.host.name}}",
    "{{len 3}}",
    "{{with .type}}{{.host}}{{end}}",
    "{{break}}",
    "{{.host | .type}}",
    "{{\"open}}",
    "{{if}}{{end}}",
    "{{lt .host 3}}",
];

/// Something for one line; `deep` is how many blocks it may hold in each other.
fn line(dice: &mut Dice, deep: u32) -> String {
    let mut text = String::new();
    for _ in 0..=dice.below(3) {
        text.push_str(&dice.pick(&["", "x", " a: b", "- ", "é", "}", "{ ", "\"q\"", "$ ", "# "]));
        text.push_str(&part(dice, deep));
    }
    text
}

fn part(dice: &mut Dice, deep: u32) -> String {
    if deep == 0 || dice.below(3) == 0 {
        return action(dice);
    }
    let (open, close) = (open(dice), close(dice));
    let inside = line(dice, deep - 1);
    match dice.below(9) {
        0 | 1 => format!("{open}if {}{close}{inside}{{{{end}}}}", condition(dice)),
        2 | 3 => format!(
            "{open}if {}{close}{inside}{{{{else}}}}{}{{{{end}}}}",
            condition(dice),
            line(dice, deep - 1)
        ),
        4 => format!(
            "{open}if {}{close}{inside}{{{{else if {}}}}}y{{{{- end}}}}",
            condition(dice),
            condition(dice)
        ),
        5 => format!(
            "{open}with .{}{close}<{{{{.}}}}>{{{{else}}}}none{{{{end}}}}",
            variable(dice)
        ),
        6 => format!(
            "{{{{range $i := {}}}}}{{{{$i}}}}{{{{$.host}}}}{open}end{close}",
            dice.below(4)
        ),
        7 => format!(
            "{{{{range $k, $v := .}}}}{{{{if eq $k \"{}\"}}}}{{{{{}}}}}{{{{end}}}}{{{{$k}}}},{{{{end}}}}",
            dice.pick(&["host", "index", "type"]),
            dice.pick(&["break", "continue", "$v"])
        ),
        _ => {
            let value = variable(dice);
            format!("{{{{$v := .{value}}}}}{open}if $v{close}{{{{$v = \"new\"}}}}{{{{end}}}}{{{{$v}}}}")
        }
    }
}

fn open(dice: &mut Dice) -> String {
    dice.pick(&["{{", "{{", "{{- "])
}

fn close(dice: &mut Dice) -> String {
    dice.pick(&["}}", "}}", " -}}"])
}

fn variable(dice: &mut Dice) -> String {
    dice.pick(&["type", "index", "host"])
}

fn condition(dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => "eq .type \"ps\"".to_owned(),
        1 => "ne .type \"ps\"".to_owned(),
        2 => format!("eq .index \"{}\"", dice.below(3)),
        3 => format!("and (eq .type \"worker\") (lt .index \"{}\")", dice.below(3)),
        4 => format!("or (eq .host \"c10\" \"b\") (gt (len .host) {})", dice.below(6)),
        5 => "not (eq .type \"ps\")".to_owned(),
        6 => format!("ge .index \"{}\"", dice.below(3)),
        _ => dice.pick(&[".host", "\"\"", "0", "true", "false", ".index"]),
    }
}

fn action(dice: &mut Dice) -> String {
    let inside = match dice.below(14) {
        0..=3 => format!(".{}", variable(dice)),
        // It ends with a line break; what follows must be within the block of text.
        4 => "print .TF_CONFIG \"  \"".to_owned(),
        5 => format!("$.{}", variable(dice)),
        6 => format!(
            "printf \"{}\" .host .index",
            dice.pick(&["%s-%s", "%q %s", "%5s|%-5s|", "%v%%%v", "%x %s"])
        ),
        7 => format!("print .type {} .index", dice.pick(&["\"-\"", "1", "true"])),
        8 => format!(
            ".host | {}",
            dice.pick(&["len", "html", "js", "urlquery", "print", "printf \"%s!\"", "not"])
        ),
        9 => "index . \"host\"".to_owned(),
        10 => "slice .host 0 1".to_owned(),
        11 => dice.pick(&[
            "\"a\\tb\"",
            "`raw`",
            "12",
            "0x1F",
            "'a'",
            "1_000",
            "true",
            "-3",
            "(len .type)",
        ]),
        12 => format!("and .host .{}", variable(dice)),
        _ => dice.pick(&[
            "/* nothing */",
            "print (println .index) `  `",
            "len .TF_CONFIG",
            "eq .host .host",
            "or \"\" .type",
        ]),
    };
    // A comment must touch its braces, or the blank of a trim marker.
    format!("{}{inside}{}", open(dice), close(dice))
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn signed(&mut self, from: i64, to: i64) -> i64 {
        let span = u64::try_from(to - from).expect("from is below to") + 1;
        from + i64::try_from(self.below(span)).expect("it is small")
    }

    fn pick(&mut self, from: &[&str]) -> String {
        from[usize::try_from(self.below(from.len() as u64)).expect("it is small")].to_owned()
    }
}
