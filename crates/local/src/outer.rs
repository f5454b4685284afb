//! What the user started: it enters the namespaces, starts the supervisor and passes signals on.
