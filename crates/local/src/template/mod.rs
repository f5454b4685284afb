//! From a pod template to a `Launch`.
