//! Where namespaces are forbidden: a process that ends what a killed run has left behind.
