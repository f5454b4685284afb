//! The walls around a run, and how they are put up.
