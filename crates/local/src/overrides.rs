//! What the command line changes in a manifest before it is read.
