//! A launch as processes: start, stop, end.
