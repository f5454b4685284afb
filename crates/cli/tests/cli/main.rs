//! The program as users meet it: real files in, standard output, standard error and exit code out.

mod check;
mod frame;
mod plan;
mod run;
