//! Made-up cases that kubectl accepts, the same for the same seed.

/// A small generator of numbers.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const PIECES: &[&str] = &[
    "0",
    "1",
    "7",
    "8",
    "9",
    "00",
    "12",
    "_",
    ".",
    "e",
    "E",
    "+",
    "-",
    "x",
    "X",
    "b",
    "B",
    "o",
    "a",
    "f",
    "e5",
    "0x",
    "0b",
    "0o",
    "922337203685477580",
    "y",
    "n",
    "no",
    "on",
    "true",
    "null",
    "inf",
    ":",
    "T",
    "Z",
];

/// Something that looks like a number or a word, written plainly.
pub fn scalar(random: &mut Random) -> String {
    loop {
        let count = 1 + random.below(6);
        let text: String = (0..count).map(|_| random.pick(PIECES)).collect();
        // These are no plain scalars; infinities are refused by both.
        let refused =
            matches!(text.as_str(), "-" | "?" | ":") || text.ends_with(':') || text.starts_with(':');
        if !refused && !text.contains("inf") {
            return text;
        }
    }
}

/// The same, where a key may stand: kubectl refuses a null and a number above 2⁶³ as a key.
pub fn key(random: &mut Random) -> String {
    loop {
        let text = scalar(random);
        let number = text.chars().filter(char::is_ascii_hexdigit).count() > 12;
        if !matches!(text.as_str(), "null" | "-") && !number {
            return text;
        }
    }
}

/// The lines of a map, nested and written in many ways.
pub fn tree(random: &mut Random) -> String {
    map(random, 3, 0)
}

fn map(random: &mut Random, depth: usize, indent: usize) -> String {
    let count = 1 + random.below(3);
    let entry = |number| {
        let key = random.pick(&["k", "key ", "é"]);
        format!(
            "{}{key}{number}:{}",
            " ".repeat(indent),
            value(random, depth, indent)
        )
    };
    (0..count).map(entry).collect()
}

fn value(random: &mut Random, depth: usize, indent: usize) -> String {
    match random.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => format!(" {}\n", scalar(random)),
        2 => format!(
            " '{}'\n",
            random.pick(&["", "a", "it''s", " x ", "#", "a: b", "{}", "\\n"])
        ),
        3 => format!(
            " \"{}\"\n",
            random.pick(&["", "a\\tb", "\\\"", " x ", "\\u00e9", "a\\\\", "'"])
        ),
        4 => format!(" {}\n", flow(random, 2)),
        5 => {
            let pad = " ".repeat(indent + 2);
            let style = random.pick(&["|", ">", "|-", ">-", "|+", ">+"]);
            let text = random.pick(&["x", "x\n@y", "x\n@\n@y", "x\n@  y\n@z", "# no\n@- x", "x\n\n"]);
            format!(" {style}\n{pad}{}\n", text.replace('@', &pad))
        }
        6 => {
            let before = random.pick(&["\n", " # c\n", "\n\n"]);
            let deeper = indent + 1 + random.below(4);
            format!("{before}{}", map(random, depth - 1, deeper))
        }
        _ => {
            let indent = indent + random.below(3);
            let count = 1 + random.below(3);
            let item = |_| format!("{}-{}", " ".repeat(indent), value(random, depth - 1, indent));
            format!("\n{}", (0..count).map(item).collect::<String>())
        }
    }
}

fn flow(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 3 } else { 5 }) {
        0 => random
            .pick(&["a", "1", "yes", "~", "0.5", "-1", "a b"])
            .to_owned(),
        1 => random.pick(&["'a'", "\"b\"", "''", "'x, y'", "\"[\""]).to_owned(),
        2 => random.pick(&["[]", "{}", "[ ]", "{ }"]).to_owned(),
        3 => format!("[{}, {}]", flow(random, depth - 1), flow(random, depth - 1)),
        _ => format!(
            "{{a: {}, \"b\": {}}}",
            flow(random, depth - 1),
            flow(random, depth - 1)
        ),
    }
}
