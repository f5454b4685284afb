//! A network of the job's own: loopback and nothing else.
