//! `docs/problems.md`, from the table of codes.

use trainyard_document::codes::Code;

const HEAD: &str = "\
<!-- Written by `cargo xtask generate` from crates/document/src/codes.rs; do not edit. -->

# Problems

What `trainyard check` can find, by code. `trainyard explain TY020` prints the same text. An **error** means that the
manifest cannot be used; a **warning**, that it can, but probably does not mean what its author thinks. Codes are stable: a
number is never given to something else.
";

/// The whole page: a table to look a code up in, then each code with its explanation.
pub fn page() -> String {
    let rows = Code::ALL.iter().map(|code| row(*code));
    let chapters = Code::ALL.iter().map(|code| chapter(*code));
    let table = ["| code | | |".to_owned(), "|---|---|---|".to_owned()];
    let lines: Vec<String> = [HEAD.to_owned()]
        .into_iter()
        .chain(table)
        .chain(rows)
        .chain(chapters)
        .collect();
    lines.join("\n") + "\n"
}

fn row(code: Code) -> String {
    let anchor = code.to_string().to_lowercase();
    format!("| [{code}](#{anchor}) | {} | {} |", code.severity(), code.title())
}

fn chapter(code: Code) -> String {
    let (severity, title, explanation) = (code.severity(), code.title(), code.explain());
    format!("\n## {code}\n\n**{severity}: {title}**\n\n{explanation}")
}
