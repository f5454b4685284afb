//! From a program's output to its log file and to the reporter, in whole lines.
