//! Tables as `ps` prints them, with columns as wide as their widest cell, and the units in their cells.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::Style;
use trainyard_document::problem::escaped;

use crate::printer::QUIET;

/// One cell.
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text in a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self {
            text: escaped(&text.into()),
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// The cell of a value that does not exist.
pub fn nothing() -> Cell {
    Cell::styled("-", QUIET)
}

/// The table as text, below a line of titles.
pub fn render<const COLUMNS: usize>(titles: [&str; COLUMNS], mut rows: Vec<[Cell; COLUMNS]>) -> String {
    rows.insert(0, titles.map(|title| Cell::styled(title, QUIET)));
    lines(&rows).join("\n") + "\n"
}

/// The rows as lines. Columns without text are left out, and nothing pads the end of a line.
pub fn lines<const COLUMNS: usize>(rows: &[[Cell; COLUMNS]]) -> Vec<String> {
    let length = |cell: &Cell| cell.text.chars().count();
    let widths: [usize; COLUMNS] =
        std::array::from_fn(|column| rows.iter().map(|row| length(&row[column])).max().unwrap_or(0));
    let line = |row: &[Cell; COLUMNS]| {
        let (mut line, mut gap) = (String::new(), 0);
        for (cell, width) in row.iter().zip(widths).filter(|(_, width)| *width > 0) {
            let Cell { text, style } = cell;
            if !text.is_empty() {
                // Writing to a String cannot fail.
                let _ = write!(line, "{:gap$}{style}{text}{style:#}", "");
                gap = 0;
            }
            gap += width - length(cell) + 2;
        }
        line
    };
    rows.iter().map(line).collect()
}

/// How long ago something was, in its largest unit: `12s`, `3m`, `2h`, `5d`.
pub fn age(passed: Duration) -> String {
    const UNITS: [(u64, char); 3] = [(24 * 60 * 60, 'd'), (60 * 60, 'h'), (60, 'm')];
    let seconds = passed.as_secs();
    // Two of a unit at least: `90m` says more than `1h`.
    let (size, unit) = UNITS
        .into_iter()
        .find(|(size, _)| seconds >= 2 * size)
        .unwrap_or((1, 's'));
    format!("{}{unit}", seconds / size)
}

/// How long something took: `0.4s`, `12s`, `3m05s`, `2h07m`, `3d04h`.
pub fn took(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{:.1}s", seconds.max(0.0));
    }
    let whole = Duration::try_from_secs_f64(seconds.round())
        .unwrap_or_default()
        .as_secs();
    let (days, hours, minutes) = (whole / 86_400, whole / 3600, whole / 60);
    match (days, hours, minutes) {
        (1.., _, _) => format!("{days}d{:02}h", hours % 24),
        (_, 1.., _) => format!("{hours}h{:02}m", minutes % 60),
        (_, _, 1..) => format!("{minutes}m{:02}s", whole % 60),
        _ => format!("{whole}s"),
    }
}

/// `1,234,567 bytes`, and from a mebibyte on as people say it: `12.3 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    match UNITS.into_iter().find(|(size, _)| count >= *size) {
        None if count == 1 => "1 byte".into(),
        None => format!("{count} bytes"),
        Some((size, unit)) => {
            let tenths = u128::from(count) * 10 / u128::from(size);
            format!("{}.{} {unit}", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = vec![
            ["a".into(), "12345".into(), "x".into()],
            ["…é".into(), nothing(), "y".into()],
        ];
        let plain = anstream::adapter::strip_str(&render(["JOB", "N", "Z"], rows)).to_string();
        assert_eq!(plain, "JOB  N      Z\na    12345  x\n…é   -      y\n");
    }

    #[test]
    fn empty_columns_and_empty_ends_take_no_space() {
        let rows: [[Cell; 4]; 2] = [["a", "", "", "b"], ["long", "", "c", ""]].map(|row| row.map(Cell::from));
        let plain = anstream::adapter::strip_str(&lines(&rows).join("|")).to_string();
        assert_eq!(plain, "a        b|long  c");
    }

    #[test]
    fn ages_are_said_in_one_unit() {
        let (minute, hour, day) = (60, 60 * 60, 24 * 60 * 60);
        for (seconds, words) in [
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (119 * minute, "119m"),
            (2 * hour, "2h"),
            (47 * hour, "47h"),
            (2 * day, "2d"),
            (400 * day, "400d"),
        ] {
            assert_eq!(age(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn times_are_as_exact_as_they_are_short() {
        for (seconds, words) in [
            (-1.0, "0.0s"),
            (0.44, "0.4s"),
            (9.96, "10s"),
            (59.4, "59s"),
            (59.6, "1m00s"),
            (185.0, "3m05s"),
            (7620.0, "2h07m"),
            (3.0 * 86_400.0 + 4.0 * 3600.0, "3d04h"),
        ] {
            assert_eq!(took(seconds), words);
        }
    }

    #[test]
    fn bytes_are_said_in_their_own_units() {
        for (count, words) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (1023, "1023 bytes"),
            (1536, "1.5 KiB"),
            ((1 << 20) - 1, "1023.9 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(bytes(count), words);
        }
    }
}
