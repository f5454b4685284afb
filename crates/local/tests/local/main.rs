//! Local runs on real processes.

#[cfg(test)]
mod bench;

#[cfg(test)]
mod logs;
#[cfg(test)]
mod mounts;
#[cfg(test)]
mod ports;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod survival;
