//! The arguments of commands that have several.

use crate::number;

/// The flags of `cargo xtask test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Only format, clippy and tests.
    pub quick: bool,
    /// Also the tests against peers that take long to build.
    pub peers: bool,
    /// Show the output of passing steps too.
    pub verbose: bool,
}

impl Flags {
    /// Anything unknown is an error.
    pub fn read(typed: &[&str]) -> Result<Self, String> {
        let mut flags = Self::default();
        for flag in typed {
            match *flag {
                "--quick" => flags.quick = true,
                "--peers" => flags.peers = true,
                "-v" | "--verbose" => flags.verbose = true,
                other => return Err(format!("`test` takes --quick, --peers and -v, not `{other}`")),
            }
        }
        Ok(flags)
    }
}

/// The seeds of `cargo xtask sim`.
#[derive(Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Number of simulated runs.
    pub count: u64,
    /// The first seed.
    pub from: u64,
}

impl Seeds {
    /// Reads `--seeds N [--from S]`, in any order.
    pub fn read(typed: &[&str]) -> Result<Self, String> {
        let (mut count, mut from) = (None, 0);
        let (pairs, rest) = typed.as_chunks::<2>();
        for [flag, value] in pairs {
            match *flag {
                "--seeds" => count = Some(number("--seeds", value)?),
                "--from" => from = number("--from", value)?,
                other => return Err(format!("`sim` takes --seeds and --from, not `{other}`")),
            }
        }
        match (count, rest) {
            (Some(count), []) => Ok(Self { count, from }),
            _ => Err("`sim` needs --seeds N; --from S is optional".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_test_are_read_in_any_order_and_unknown_ones_refused() {
        let read = Flags::read(&["-v", "--peers", "--quick"]);
        let all = Flags {
            quick: true,
            peers: true,
            verbose: true,
        };
        assert_eq!(read, Ok(all));
        assert_eq!(Flags::read(&[]), Ok(Flags::default()));
        assert!(Flags::read(&["--fast"]).is_err());
    }

    #[test]
    fn seeds_need_a_count_and_start_at_zero() {
        assert_eq!(Seeds::read(&["--seeds", "10"]), Ok(Seeds { count: 10, from: 0 }));
        assert_eq!(
            Seeds::read(&["--from", "7", "--seeds", "10"]),
            Ok(Seeds { count: 10, from: 7 })
        );
        for wrong in [
            &[][..],
            &["--from", "7"],
            &["--seeds"],
            &["--seeds", "x"],
            &["--sedes", "1"],
        ] {
            assert!(Seeds::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
