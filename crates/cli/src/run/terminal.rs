//! What a task wrote, made safe for a terminal: nothing it writes moves our cursor, rings, or colours our lines.
//!
//! Colours pass and are ended with the line. A line that was written over (`\r`, as progress bars do) shows its last
//! state. Every other control character and every byte that is no UTF-8 is shown as `\x07`. Plain text, which nearly
//! all output is, passes through a quick check and is not touched.

use memchr::{memchr, memchr_iter, memchr2, memrchr};
use trainyard_local::logs::pump::LogBlock;

const ESCAPE: u8 = 0x1b;
const RESET: &[u8] = b"\x1b[0m";

/// How much care output needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// It goes to a file or a pipe: every byte as it is.
    None,
    /// So it does, after our prefixes: of a line that was written over, which would hide its prefix, the last state.
    Prefixed,
    /// The same, and our prefixes are coloured: colours end with their line.
    PrefixedInColor,
    /// It goes to a terminal.
    Terminal,
}

/// Appends the block with a prefix before every line, as [`LogBlock::prefix_into`], with care.
pub fn write(out: &mut Vec<u8>, block: LogBlock<'_>, prefix: &[u8], continuation: &[u8], care: Care) {
    let harmless = match care {
        Care::None => true,
        Care::Prefixed => memchr(b'\r', block.bytes).is_none(),
        Care::PrefixedInColor => memchr2(ESCAPE, b'\r', block.bytes).is_none(),
        Care::Terminal => is_plain(block.bytes),
    };
    if harmless {
        block.prefix_into(out, prefix, continuation);
        return;
    }
    let mut continued = block.continued;
    for line in block.bytes.split_inclusive(|byte| *byte == b'\n') {
        if block.cut && line.ends_with(b"\r") {
            // The next block is written over it.
            break;
        }
        let continued = std::mem::take(&mut continued);
        out.extend_from_slice(if continued { continuation } else { prefix });
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        if care == Care::Terminal {
            clean_into(out, last_state(line));
        } else {
            // A carriage return at the end hides nothing: Windows ends its lines so.
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            let line = memchr(b'\r', text).map_or(line, |_| last_state(line));
            out.extend_from_slice(line);
            if care == Care::PrefixedInColor && leaves_color(line) {
                out.extend_from_slice(RESET);
            }
        }
        out.push(b'\n');
    }
}

/// What a terminal shows of a line that was written over: the text after the last carriage return before its end. Keras goes
/// back by backspaces as well, and at the end of a line these move the cursor only.
pub fn last_state(line: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\x08');
    let end = line.iter().rposition(is_text).map_or(0, |at| at + 1);
    let start = memrchr(b'\r', &line[..end]).map_or(0, |at| at + 1);
    &line[start..end]
}

/// Our own words around text from elsewhere, for instance the last lines of a log.
pub fn clean(text: &str) -> String {
    let mut out = Vec::new();
    clean_into(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a terminal shows this as it is, line by line.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if bytes.iter().all(plain) {
        return true;
    }
    std::str::from_utf8(bytes).is_ok_and(|text| {
        text.chars()
            .all(|character| !character.is_control() || matches!(character, '\n' | '\t'))
    })
}

/// Whether a line ends in a colour.
fn leaves_color(line: &[u8]) -> bool {
    let mut open = false;
    for at in memchr_iter(ESCAPE, line) {
        if let Some(Sequence {
            last: b'm',
            parameters,
            ..
        }) = sequence(&line[at..])
        {
            open = !is_reset(parameters);
        }
    }
    open
}

/// A control sequence `ESC [ parameters last`.
struct Sequence<'a> {
    length: usize,
    parameters: &'a [u8],
    last: u8,
}

fn sequence(bytes: &[u8]) -> Option<Sequence<'_>> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let end = rest
        .iter()
        .position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
    Some(Sequence {
        length: 2 + end + 1,
        parameters: &rest[..end],
        last: rest[end],
    })
}

fn is_reset(parameters: &[u8]) -> bool {
    parameters.iter().all(|byte| *byte == b'0')
}

/// One line on its way to the terminal.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    /// Where the line's text begins in `out`.
    start: usize,
    /// Up to here nothing is taken back: it is a sequence, not a character.
    firm: usize,
    /// The cursor is at the beginning, and what is written next replaces what is there.
    rewinds: bool,
    /// A colour is on.
    colored: bool,
}

fn clean_into(out: &mut Vec<u8>, line: &[u8]) {
    let start = out.len();
    let mut line_out = Line {
        out,
        start,
        firm: start,
        rewinds: false,
        colored: false,
    };
    for chunk in line.utf8_chunks() {
        line_out.text(chunk.valid());
        for byte in chunk.invalid() {
            line_out.escape(*byte);
        }
    }
    if line_out.colored {
        line_out.out.extend_from_slice(RESET);
    }
}

impl Line<'_> {
    fn text(&mut self, mut text: &str) {
        while let Some(character) = text.chars().next() {
            let mut length = character.len_utf8();
            match character {
                '\r' => self.rewinds = true,
                '\x08' => self.take_back(),
                '\x1b' => match sequence(text.as_bytes()) {
                    Some(found) if matches!(found.last, b'm' | b'K') => {
                        length = found.length;
                        self.obey(&text.as_bytes()[..length], &found);
                    }
                    _ => self.escape(ESCAPE),
                },
                '\t' => self.put(b"\t"),
                _ if character.is_control() => {
                    for byte in &text.as_bytes()[..length] {
                        self.escape(*byte);
                    }
                }
                _ => self.put(&text.as_bytes()[..length]),
            }
            text = &text[length..];
        }
    }

    /// Colours pass; `K` erases, which shows no more than leaving out does.
    fn obey(&mut self, bytes: &[u8], found: &Sequence<'_>) {
        if found.last == b'm' {
            self.put(bytes);
            self.firm = self.out.len();
            self.colored = !is_reset(found.parameters);
        } else if found.parameters == b"2" {
            self.clear();
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        if self.rewinds {
            self.clear();
        }
        self.out.extend_from_slice(bytes);
    }

    fn clear(&mut self) {
        self.out.truncate(self.start);
        self.firm = self.start;
        self.rewinds = false;
        self.colored = false;
    }

    fn take_back(&mut self) {
        if self.rewinds {
            return;
        }
        while self.out.len() > self.firm {
            // The bytes that continue a character go with its first.
            if self.out.pop().is_none_or(|byte| byte & 0xc0 != 0x80) {
                break;
            }
        }
    }

    fn escape(&mut self, byte: u8) {
        self.put(format!("\\x{byte:02x}").as_bytes());
        self.firm = self.out.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(bytes: &[u8], care: Care) -> String {
        let mut out = Vec::new();
        let block = LogBlock {
            bytes,
            continued: false,
            cut: false,
        };
        write(&mut out, block, b"> ", b"+ ", care);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_terminal_sees_text_and_colours_and_nothing_else() {
        let table: [(&[u8], &str); 18] = [
            (b"plain\ttext\n", "> plain\ttext\n"),
            ("grün ✔ 中\n".as_bytes(), "> grün ✔ 中\n"),
            (b"ding\x07dong\n", "> ding\\x07dong\n"),
            (b"nul\0\n", "> nul\\x00\n"),
            (b"\xff\xfe\n", "> \\xff\\xfe\n"),
            ("c1 \u{9b}31m\n".as_bytes(), "> c1 \\xc2\\x9b31m\n"),
            (b"\x1b[31mred\x1b[0m\n", "> \x1b[31mred\x1b[0m\n"),
            (b"\x1b[1;31mred\nnext\n", "> \x1b[1;31mred\x1b[0m\n> next\n"),
            (b"\x1b[31mred\x1b[m\n", "> \x1b[31mred\x1b[m\n"),
            (b"\x1b[2J\x1b[Hgone\n", "> \\x1b[2J\\x1b[Hgone\n"),
            (b"\x1b]0;title\x07\n", "> \\x1b]0;title\\x07\n"),
            (b"\x1b[31\n", "> \\x1b[31\n"),
            (b"10%\r 50%\r100%\n", "> 100%\n"),
            (b"windows\r\n", "> windows\n"),
            (b"old\r\x1b[Knew\n", "> new\n"),
            (b"old\x1b[2Knew\n", "> new\n"),
            (b"1/2\x08\x08\x082/2\n", "> 2/2\n"),
            ("ä\x08b\x1b[1m\x08c\x1b[0m".as_bytes(), "> b\x1b[1mc\x1b[0m\n"),
        ];
        for (bytes, expected) in table {
            assert_eq!(written(bytes, Care::Terminal), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_pipe_sees_every_byte_but_nothing_that_hides_a_prefix() {
        let bytes = b"\x1b[31mred\n\x07\rplain\n 1%\r 2%\x08\x08\x08\r\n\x1b[32mgreen\x1b[0m\r\n";
        let untouched = "> \x1b[31mred\n> \x07\rplain\n>  1%\r 2%\x08\x08\x08\r\n> \x1b[32mgreen\x1b[0m\r\n";
        assert_eq!(written(bytes, Care::None), untouched);
        let prefixed = "> \x1b[31mred\n> plain\n>  2%\n> \x1b[32mgreen\x1b[0m\r\n";
        assert_eq!(written(bytes, Care::Prefixed), prefixed);
        let ended = "> \x1b[31mred\x1b[0m\n> plain\n>  2%\n> \x1b[32mgreen\x1b[0m\r\n";
        assert_eq!(written(bytes, Care::PrefixedInColor), ended);
    }

    #[test]
    fn a_piece_that_is_written_over_is_not_shown() {
        for care in [Care::Prefixed, Care::PrefixedInColor, Care::Terminal] {
            let mut out = Vec::new();
            let block = LogBlock {
                bytes: b"whole\n 1%\r 2%\r",
                continued: false,
                cut: true,
            };
            write(&mut out, block, b"> ", b"+ ", care);
            assert_eq!(out, b"> whole\n", "{care:?}");
        }
    }

    #[test]
    fn pieces_of_a_long_line_are_marked_with_care_too() {
        for care in [Care::None, Care::Prefixed, Care::PrefixedInColor, Care::Terminal] {
            let mut out = Vec::new();
            let block = LogBlock {
                bytes: b"\x1b[1mrest\x1b[0m\nnext",
                continued: true,
                cut: true,
            };
            write(&mut out, block, b"> ", b"+ ", care);
            assert_eq!(out, b"+ \x1b[1mrest\x1b[0m\n> next\n", "{care:?}");
        }
    }
}
