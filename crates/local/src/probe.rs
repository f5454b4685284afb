//! Which walls this machine allows, found out by putting them up in a process that is thrown away.
