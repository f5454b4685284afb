//! The program as users meet it: real files in, standard output, standard error and exit code out.

#![expect(clippy::expect_used, reason = "a test that cannot go on says why and stops")]

mod background;
mod check;
mod convert;
mod expand;
mod frame;
mod install;
mod kept;
mod logs;
mod orders;
mod plan;
mod ps;
mod render;
mod rm;
mod run;
mod simulate;
