//! Kubernetes quantities, `500m`, `1.5`, `16Gi`, `1e3`, as thousandths in 64 bits.
//!
//! Kubernetes rounds up to what it can hold, away from zero, and caps what is too large; so does this.

use std::fmt;

use crate::codes::Code;
use crate::document::{Kind, Node};
use crate::fields::Field;
use crate::problem::shown;

/// An amount in thousandths: one CPU is 1000, one byte is 1000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Quantity {
    /// The thousandths.
    pub milli: i64,
}

/// Text that is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAQuantity;

impl Quantity {
    /// This many thousandths.
    #[must_use]
    pub const fn from_milli(milli: i64) -> Self {
        Self { milli }
    }

    /// The amount in whole units, rounded up.
    #[must_use]
    pub fn whole(self) -> i64 {
        self.milli
            .div_euclid(1000)
            .saturating_add(i64::from(self.milli.rem_euclid(1000) != 0))
    }

    /// Both together; capped, never wrapped.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            milli: self.milli.saturating_add(other.milli),
        }
    }

    /// So many times the amount; capped, never wrapped.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        Self {
            milli: self.milli.saturating_mul(i64::from(count)),
        }
    }

    /// The quantity that a value holds; none where it holds something else.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        Self::parse(&text(node)?).ok()
    }

    /// Reads a quantity as the API server does.
    pub fn parse(text: &str) -> Result<Self, NotAQuantity> {
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let number_end = unsigned
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(number_end);
        let (before, after) = number.split_once('.').unwrap_or((number, ""));
        if before.is_empty() && after.is_empty() || after.contains('.') {
            return Err(NotAQuantity);
        }
        let scale = Scale::parse(suffix).ok_or(NotAQuantity)?;
        let milli = scale.apply(before, after);
        Ok(Self {
            milli: if negative { -milli } else { milli },
        })
    }
}

/// Suffixes that multiply by a power of two, the largest first.
const BINARY: [(&str, u32); 6] = [
    ("Ei", 60),
    ("Pi", 50),
    ("Ti", 40),
    ("Gi", 30),
    ("Mi", 20),
    ("Ki", 10),
];

/// By what the number is multiplied: 10^tens × 2^twos.
#[derive(Clone, Copy)]
struct Scale {
    tens: i32,
    twos: u32,
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        if let Some((_, twos)) = BINARY.iter().find(|(name, _)| *name == suffix) {
            return Some(Self { tens: 0, twos: *twos });
        }
        let tens = match suffix {
            "n" => -9,
            "u" => -6,
            "m" => -3,
            "" => 0,
            "k" => 3,
            "M" => 6,
            "G" => 9,
            "T" => 12,
            "P" => 15,
            "E" => 18,
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                exponent.parse().ok().filter(|_| digits.len() <= 9)?
            }
        };
        Some(Self { tens, twos: 0 })
    }

    /// `before.after` thousandths of this scale, rounded up and capped.
    fn apply(self, before: &str, after: &str) -> i64 {
        let mut value: u128 = 0;
        let mut more = false;
        let mut tens = self.tens.saturating_add(3);
        for (place, byte) in before.bytes().chain(after.bytes()).enumerate() {
            let fraction = place >= before.len();
            if value > u128::MAX / 1_000_000 {
                // Digits beyond what can matter: those of a fraction only round up, others shift.
                more |= byte != b'0';
                tens = tens.saturating_add(i32::from(!fraction));
                continue;
            }
            value = value * 10 + u128::from(byte - b'0');
            tens = tens.saturating_sub(i32::from(fraction));
        }
        let Some(mut value) = value
            .checked_shl(self.twos)
            .filter(|shifted| shifted >> self.twos == value)
        else {
            return i64::MAX;
        };
        while tens > 0 && value > 0 {
            let Some(larger) = value.checked_mul(10) else {
                return i64::MAX;
            };
            value = larger;
            tens -= 1;
        }
        while tens < 0 && value > 0 {
            more |= value % 10 != 0;
            value /= 10;
            tens += 1;
        }
        i64::try_from(value)
            .unwrap_or(i64::MAX)
            .saturating_add(i64::from(more))
    }
}

impl fmt::Display for Quantity {
    /// The shortest usual form: `1500m`, `2`, `16Gi`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.milli % 1000 != 0 {
            return write!(f, "{}m", self.milli);
        }
        let whole = self.milli / 1000;
        for (suffix, bits) in BINARY {
            if whole != 0 && whole % (1i64 << bits) == 0 {
                return write!(f, "{}{suffix}", whole >> bits);
            }
        }
        write!(f, "{whole}")
    }
}

/// Reads a field that holds a quantity: text or a plain number. Anything else is reported.
#[must_use]
pub fn quantity(field: &Field<'_>) -> Option<Quantity> {
    let Some(text) = text(field.node) else {
        field.wrong_type("a quantity such as `500m` or `16Gi`");
        return None;
    };
    let parsed = Quantity::parse(&text);
    if parsed.is_err() {
        let problem = field
            .problem(Code::BadQuantity, format!("`{}` is not a quantity", shown(&text)))
            .found(&text)
            .allowed("a number with an optional suffix, as in `500m`, `1.5`, `16Gi`")
            .maybe_hint(mended(&text).map(|meant| format!("did you mean `{meant}`?")));
        field.tell(problem);
    }
    parsed.ok()
}

/// Text or a plain number, as it is read.
fn text(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.to_string()),
        Kind::Int(value) => Some(value.to_string()),
        Kind::Float(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The quantity that was probably meant: spaces, `GB`, `gb` and `gi` are the usual slips.
fn mended(text: &str) -> Option<String> {
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).take(64).collect();
    let end = plain
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(plain.len());
    let (number, suffix) = plain.split_at(end);
    let meant = match suffix.to_ascii_lowercase().as_str() {
        "" => "",
        "kb" => "k",
        "ki" | "kib" => "Ki",
        "mb" => "M",
        "mi" | "mib" => "Mi",
        "g" | "gb" => "G",
        "gi" | "gib" => "Gi",
        "t" | "tb" => "T",
        "ti" | "tib" => "Ti",
        _ => return None,
    };
    let meant = format!("{number}{meant}");
    (meant != text && Quantity::parse(&meant).is_ok()).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_the_api_server_reads_them() {
        let cases: &[(&str, i64)] = &[
            ("0", 0),
            ("1", 1000),
            ("-1", -1000),
            ("+1", 1000),
            ("500m", 500),
            ("1.5", 1500),
            (".5", 500),
            ("5.", 5000),
            ("0.1", 100),
            ("0.0001", 1),
            ("1n", 1),
            ("1u", 1),
            ("1001u", 2),
            ("-1001u", -2),
            ("1k", 1_000_000),
            ("1Ki", 1_024_000),
            ("16Gi", 17_179_869_184_000),
            ("1.5Gi", 1_610_612_736_000),
            ("0.5Ki", 512_000),
            ("1e3", 1_000_000),
            ("1E3", 1_000_000),
            ("1e-3", 1),
            ("1e-4", 1),
            ("1E", i64::MAX),
            ("100Ei", i64::MAX),
            ("-100Ei", -i64::MAX),
            ("1e999999999", i64::MAX),
            ("0e999999999", 0),
            ("1e-999999999", 1),
            ("99999999999999999999999999999999999999999999999999", i64::MAX),
            ("0.00000000000000000000000000000000000000000000000000001", 1),
            ("00001", 1000),
        ];
        for (text, milli) in cases {
            assert_eq!(Quantity::parse(text), Ok(Quantity::from_milli(*milli)), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "", ".", "-", "+", "Gi", "1GB", "1gi", "1 Gi", " 1", "1 ", "1K", "1mi", "1..2", "1.2.3", "0x1",
            "1e", "1e+", "1e1.5", "--1", "1i", "NaN", "inf", "½", "1_000", "١",
        ] {
            assert_eq!(Quantity::parse(text), Err(NotAQuantity), "{text}");
        }
    }

    #[test]
    fn slips_have_a_hint() {
        for (text, meant) in [
            ("16GB", Some("16G")),
            ("16gi", Some("16Gi")),
            ("1 Gi", Some("1Gi")),
            ("two", None),
        ] {
            assert_eq!(mended(text).as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn quantities_are_shown_as_people_write_them() {
        for text in ["0", "1", "1500m", "16Gi", "-2", "3Mi"] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(Quantity::from_milli(1001).whole(), 2);
        assert_eq!(Quantity::from_milli(-1001).whole(), -1);
    }
}
