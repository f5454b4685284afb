//! Values of flags, with errors in our own words.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use trainyard_manifest::gang::Schedulers;

/// A whole number, 0 or more.
pub fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "expected a whole number, 0 or more".to_owned())
}

/// A whole number, at least 1.
pub fn positive<T: FromStr + PartialOrd + Default>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| *number > T::default());
    number.ok_or_else(|| "expected a whole number, at least 1".to_owned())
}

/// A whole number, also below 0: the command says what is wrong with that.
pub fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// A port.
pub fn port(text: &str) -> Result<u16, String> {
    within(text, 1..=u16::MAX)
}

fn within<T: FromStr + PartialOrd + Display>(text: &str, range: RangeInclusive<T>) -> Result<T, String> {
    let (least, most) = (range.start(), range.end());
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

/// Gang schedulers. An empty name is most likely a variable that is not set.
pub fn schedulers(text: &str) -> Result<Schedulers, String> {
    if text.is_empty() {
        return Err("expected `volcano`, the name of another scheduler, or `none`".to_owned());
    }
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_say_what_was_expected() {
        assert_eq!(whole::<u32>("0"), Ok(0));
        assert!(whole::<u32>("-1").unwrap_err().ends_with("0 or more"));
        assert_eq!(positive::<usize>("1"), Ok(1));
        assert!(positive::<u32>("0").unwrap_err().ends_with("at least 1"));
        assert_eq!(integer("-3"), Ok(-3));
        assert_eq!(port("65535"), Ok(65_535));
        for wrong in ["0", "65536", "x", ""] {
            assert_eq!(
                port(wrong).unwrap_err(),
                "expected a whole number from 1 to 65535",
                "{wrong}"
            );
        }
    }

    #[test]
    fn no_gang_scheduler_is_said_in_a_word() {
        assert!(schedulers("none").unwrap().is_empty());
        assert!(schedulers("").unwrap_err().contains("`none`"));
    }
}
