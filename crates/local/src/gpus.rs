//! The GPUs of this machine, split over the tasks.
