//! Bytes become text: the size is limited before anything is kept, and the text is UTF-8 or an error.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use super::MOST_BYTES;
use crate::codes::Code;
use crate::problem::{Place, Problem};

/// One named piece of text.
#[derive(Clone, Debug)]
pub struct Source {
    /// A file's path as it was given, or `-`.
    pub name: Arc<str>,
    /// The text, without the mark that some editors put at its beginning.
    pub text: Arc<str>,
}

impl Source {
    /// Text that is already at hand.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: &[u8]) -> Result<Self, Box<Problem>> {
        let name = name.into();
        if bytes.len() > MOST_BYTES {
            return Err(too_large(name, &bytes.len().to_string()));
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            let problem = Problem::new(Code::Utf16, nowhere(name), "the text is UTF-16, not UTF-8");
            return Err(Box::new(problem.hint("save it as UTF-8")));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self {
                name,
                text: text.strip_prefix('\u{feff}').unwrap_or(text).into(),
            }),
            Err(error) => Err(not_utf8(name, bytes, error.valid_up_to())),
        }
    }

    /// Reads a file, or standard input if `path` is `-`.
    ///
    /// A file that is too large is refused by its length before it is read, and no more than the limit is ever read:
    /// pipes and devices have no length.
    pub fn read(path: &str) -> Result<Self, Box<Problem>> {
        let name: Arc<str> = path.into();
        let bytes = if path == "-" {
            read_at_most(io::stdin().lock())
        } else {
            File::open(path).and_then(|file| {
                let length = file.metadata()?.len();
                if length > MOST_BYTES as u64 {
                    Ok(Err(length.to_string()))
                } else {
                    read_at_most(file)
                }
            })
        };
        match bytes {
            Ok(Ok(bytes)) => Self::from_bytes(name, &bytes),
            Ok(Err(length)) => Err(too_large(name, &length)),
            Err(error) => {
                let message = format!("cannot read `{}`: {error}", crate::problem::escaped(path));
                Err(Box::new(Problem::new(Code::CannotRead, nowhere(name), message)))
            }
        }
    }
}

/// Everything, or how much there is if it is too much.
fn read_at_most(reader: impl Read) -> io::Result<Result<Vec<u8>, String>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(if bytes.len() > MOST_BYTES {
        Err(format!("more than {MOST_BYTES}"))
    } else {
        Ok(bytes)
    })
}

fn nowhere(source: Arc<str>) -> Place {
    Place {
        source,
        document: 0,
        span: None,
        path: String::new(),
    }
}

fn too_large(name: Arc<str>, length: &str) -> Box<Problem> {
    let message = format!("the file has {length} bytes; the limit is {MOST_BYTES}");
    let hint = "give the manifests alone, in several files if need be";
    Box::new(Problem::new(Code::TooLarge, nowhere(name), message).hint(hint))
}

fn not_utf8(name: Arc<str>, bytes: &[u8], at: usize) -> Box<Problem> {
    let before = &bytes[..at];
    let line = before.split(|byte| *byte == b'\n').count();
    let message = format!(
        "byte {at} (line {line}) is 0x{:02x}, which is not UTF-8",
        bytes[at]
    );
    Box::new(Problem::new(Code::NotUtf8, nowhere(name), message).hint("save the file as UTF-8"))
}
