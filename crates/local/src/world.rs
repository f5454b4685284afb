//! Tasks as processes, shown to `step` as instances.
