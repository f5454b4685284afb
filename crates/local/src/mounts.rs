//! What a program finds at which path: a private mount namespace a program.
