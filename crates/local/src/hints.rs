//! Why a job may hang in silence.
