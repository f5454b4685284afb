//! The loop: observe, decide, persist, act, report.
