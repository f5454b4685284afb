//! The YAML parser's errors in words that help the author of a manifest.

use granit_parser::ErrorKind;

/// What is wrong, and how to mend it where that can be said.
pub(super) fn words(kind: &ErrorKind) -> (String, Option<&'static str>) {
    use ErrorKind as E;
    let said = |message: &str, hint| (message.to_owned(), Some(hint));
    match kind {
        kind if is_about_tabs(kind) => said("a tab cannot be used as indentation", "use spaces"),
        E::MappingValueNotAllowed | E::InvalidColonPlacement => said(
            "a colon cannot stand here",
            "put text that contains `: ` in quotes, or mend the indentation",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => said(
            "expected `:` after a key",
            "write `key: value`, with a space after the colon",
        ),
        E::InvalidIndentation | E::ExpectedBlockMappingKey | E::ExpectedBlockSequenceEntry => said(
            "this line does not fit the indentation of the lines before it",
            "align it with its neighbours",
        ),
        E::BlockSequenceEntryNotAllowed | E::BlockEntryInFlowCollection => said(
            "a list item cannot begin here",
            "begin the list on a line of its own",
        ),
        E::InvalidBlockScalarIndent => said(
            "this line is indented less than the text block it belongs to",
            "indent it as the lines before it",
        ),
        E::PlainScalarStartsWithDashFlowIndicator => {
            said("a lone `-` between brackets", "put it in quotes: \"-\"")
        }
        E::CommentInterceptedScalar => said(
            "text goes on after a comment",
            "put the text in quotes, or move the comment",
        ),
        E::MissingDocumentEndBeforeDirective => said("a `%` directive inside a document", "remove it"),
        E::UnexpectedCharacter { character } => (
            format!("`{}` cannot begin a value", character.escape_default()),
            Some("put the value in quotes if it is meant as text"),
        ),
        E::BomInsideDocument => said(
            "a byte order mark inside the text",
            "remove it: files were probably joined",
        ),
        E::ExpectedDocumentStart => said(
            "a new document cannot begin here",
            "put `---` on a line between documents",
        ),
        E::CommentNotSeparated => said(
            "`#` begins a comment only after a space",
            "put a space before it, or quote the text",
        ),
        other => brackets(other)
            .or_else(|| quotes(other))
            .unwrap_or_else(|| (other.to_string(), None)),
    }
}

/// Errors about `[]` and `{}`.
fn brackets(kind: &ErrorKind) -> Option<(String, Option<&'static str>)> {
    use ErrorKind as E;
    let said = |message: &str, hint| (message.to_owned(), Some(hint));
    Some(match kind {
        E::UnclosedFlowCollection { open } => (format!("the `{open}` is never closed"), None),
        E::MismatchedFlowCollectionEnd { open, close } => (format!("`{open}` is closed by `{close}`"), None),
        E::MisplacedFlowCollectionEnd => ("a closing bracket without an opening one".to_owned(), None),
        E::UnexpectedEofFlowSequence => ("a `[` is never closed".to_owned(), None),
        E::UnexpectedEofFlowMapping | E::UnexpectedEofImplicitFlowMapping => {
            ("a `{` is never closed".to_owned(), None)
        }
        E::ExpectedFlowMappingSeparator => {
            said("expected `,` or `}`", "put a comma between the entries of a map")
        }
        E::ExpectedFlowSequenceSeparator => {
            said("expected `,` or `]`", "put a comma between the items of a list")
        }
        _ => return None,
    })
}

/// Errors about quoted text.
fn quotes(kind: &ErrorKind) -> Option<(String, Option<&'static str>)> {
    use ErrorKind as E;
    let said = |message: &str, hint| (message.to_owned(), Some(hint));
    Some(match kind {
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => said(
            "a quote is never closed",
            "close it, or write a quote inside the text as \\\" (or '' in single quotes)",
        ),
        E::InvalidTrailingDoubleQuotedScalar | E::InvalidTrailingSingleQuotedScalar => said(
            "text after a closing quote",
            "put all of it inside the quotes, or a comma between two entries",
        ),
        E::InvalidQuotedScalarIndent => said(
            "a line of quoted text is indented less than it must be",
            "close the quote before it, or indent this line further than the key or `-` before the quote",
        ),
        E::MissingLowSurrogate | E::UnpairedLowSurrogate | E::InvalidLowSurrogate => {
            said("half of a surrogate pair", "write the character itself")
        }
        E::UnknownQuotedScalarEscape => said(
            "an unknown escape in double quotes",
            "write a backslash as `\\\\`, or use single quotes",
        ),
        _ => return None,
    })
}

/// Whether the parser stumbled over a tab.
pub(super) fn is_about_tabs(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabAtBlockScalarStart
    )
}
