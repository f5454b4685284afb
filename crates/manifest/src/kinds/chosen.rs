//! The kinds that one operator runs, of all that there are.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use trainyard_document::problem::did_you_mean;

use super::{ALL, JobApi, Served, tfjob};

/// The kinds that an operator was told to run, by `--kinds`: at least one, each once, in the order of [`ALL`]. Of other kinds nothing is
/// installed, granted or watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Vec<&'static JobApi>);

impl Kinds {
    /// Every kind that there is.
    #[must_use]
    pub fn all() -> Self {
        Self(ALL.to_vec())
    }

    /// The kinds.
    #[must_use]
    pub fn apis(&self) -> &[&'static JobApi] {
        &self.0
    }

    /// These kinds but for those that `left_off` says; none if no kind is left.
    #[must_use]
    pub fn without(&self, left_off: impl Fn(&JobApi) -> bool) -> Option<Self> {
        let rest = self.0.iter().copied().filter(|api| !left_off(api));
        let rest: Vec<_> = rest.collect();
        (!rest.is_empty()).then_some(Self(rest))
    }

    /// The definitions of all of them.
    #[must_use]
    pub fn definitions(&self, served: Served) -> Vec<Value> {
        self.0.iter().flat_map(|api| (api.definitions)(served)).collect()
    }
}

/// No cluster gets another vendor's API group unasked.
impl Default for Kinds {
    fn default() -> Self {
        Self(vec![&tfjob::API])
    }
}

/// The words of the kinds, with commas between them.
impl FromStr for Kinds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut chosen = Vec::new();
        for word in text.split(',').map(str::trim) {
            let known = ALL.iter().find(|api| api.word.eq_ignore_ascii_case(word));
            chosen.push(*known.ok_or_else(|| unknown(word))?);
        }
        let mut kinds = ALL.to_vec();
        kinds.retain(|api| chosen.contains(api));
        Ok(Self(kinds))
    }
}

fn unknown(word: &str) -> String {
    let all: Vec<String> = ALL.iter().map(|api| format!("`{}`", api.word)).collect();
    let short = ALL.iter().find(|api| {
        let mut names = api.short_names.iter().chain([&api.plural]);
        names.any(|name| name.eq_ignore_ascii_case(word))
    });
    let near = short
        .map(|api| format!("did you mean `{}`?", api.word))
        .or_else(|| did_you_mean(word, ALL.iter().map(|api| api.word)));
    let near = near.map(|near| format!("; {near}")).unwrap_or_default();
    format!(
        "no kind of job is called `{word}`{near}; expected one or several of {}, comma-separated",
        all.join(", ")
    )
}

/// As it is written, and read again.
impl fmt::Display for Kinds {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = self.0.iter().map(|api| api.word).collect();
        out.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_in_any_order_and_written_as_they_are_read() {
        let all = Kinds::all().to_string();
        let reversed: Vec<&str> = all.rsplit(',').collect();
        let rows = [
            ("tfjob", "tfjob"),
            (" TFJob , tfjob", "tfjob"),
            ("tensorflowtrainingjob", "tensorflowtrainingjob"),
            ("TensorFlowTrainingJob,tfjob", "tfjob,tensorflowtrainingjob"),
            (&all, &all),
            (&reversed.join(","), &all),
        ];
        for (typed, expected) in rows {
            let kinds: Kinds = typed.parse().unwrap();
            assert_eq!(kinds.to_string(), expected, "{typed}");
            assert_eq!(expected.parse(), Ok(kinds), "{typed}");
        }
        assert_eq!(Kinds::default().to_string(), "tfjob");
    }

    #[test]
    fn a_word_that_is_no_kind_is_answered_with_the_kinds() {
        for (typed, wrong) in [
            ("", "``"),
            ("tfjob,", "``"),
            ("tfjobs,tfjob", "`tfjobs`"),
            ("pytorchjob", "`pytorchjob`"),
        ] {
            let words = typed.parse::<Kinds>().unwrap_err();
            assert!(
                words.starts_with(&format!("no kind of job is called {wrong}")),
                "{words}"
            );
            for api in ALL {
                assert!(words.contains(&format!("`{}`", api.word)), "{words}");
            }
        }
    }

    #[test]
    fn the_short_names_of_kubectl_lead_to_the_kinds() {
        for (typed, meant) in [
            ("tj", "`tensorflowtrainingjob`?"),
            ("vcjob", "`volcano`?"),
            ("VJ", "`volcano`?"),
            ("tfjobs", "`tfjob`?"),
        ] {
            let words = typed.parse::<Kinds>().unwrap_err();
            assert!(words.contains(&format!("did you mean {meant}")), "{words}");
        }
    }

    #[test]
    fn a_kind_is_left_off_and_none_is_no_choice() {
        let all = Kinds::all();
        let rest = all.without(|api| *api == tfjob::API).unwrap();
        assert!(!rest.apis().contains(&&tfjob::API) && rest.apis().len() + 1 == all.apis().len());
        assert_eq!(all.without(|_| true), None);
        assert_eq!(all.without(|_| false), Some(all.clone()));
    }
}
