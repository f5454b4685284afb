//! Arguments that choose gang schedulers, for the operator and for `install`.

use clap::Args;
use trainyard_manifest::gang::Schedulers;

use super::values::schedulers;

#[derive(Debug, Args)]
pub struct Gangs {
    /// Schedule all tasks of a job or none: `volcano`, `t9k`, `native` (Kubernetes' own groups), or the name of a scheduler with the coscheduling
    /// plugin. Of several, comma-separated, a job may choose, and the first is the default; `none` disables it
    #[arg(long, visible_alias = "gang", value_name = "NAME", value_parser = schedulers)]
    gang_scheduler_name: Option<Schedulers>,
    /// Schedule gangs, by Volcano unless `--gang-scheduler-name` is given; `false` disables them
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "YES")]
    enable_gang_scheduling: Option<bool>,
}

impl Gangs {
    /// The schedulers that these arguments choose. As in Kubeflow's newer operators the name alone is enough, and as in the older ones it
    /// may be left out.
    pub fn schedulers(&self) -> Schedulers {
        let named = self.gang_scheduler_name.clone();
        match (self.enable_gang_scheduling, named) {
            (Some(false), _) | (None, None) => Schedulers::default(),
            (_, Some(named)) => named,
            (Some(true), None) => Schedulers::volcano(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        gangs: Gangs,
    }

    #[test]
    fn gangs_are_enabled_by_either_flag_and_volcano_is_the_default() {
        let rows = [
            (&[][..], ""),
            (&["--enable-gang-scheduling"], "volcano"),
            (&["--enable-gang-scheduling=true"], "volcano"),
            (&["--enable-gang-scheduling=false"], ""),
            (&["--gang-scheduler-name", "kube-batch"], "kube-batch"),
            (
                &[
                    "--enable-gang-scheduling=true",
                    "--gang-scheduler-name=kube-batch",
                ],
                "kube-batch",
            ),
            (
                &["--enable-gang-scheduling=false", "--gang-scheduler-name=volcano"],
                "",
            ),
            (&["--enable-gang-scheduling", "--gang-scheduler-name=none"], ""),
            (&["--gang", "volcano,native"], "volcano,native"),
        ];
        for (words, expected) in rows {
            let typed = Typed::try_parse_from([&["operator"][..], words].concat());
            let typed = typed.unwrap_or_else(|error| panic!("{words:?}: {error}"));
            assert_eq!(typed.gangs.schedulers().to_string(), expected, "{words:?}");
        }
    }
}
