//! Python environments in the cache.
