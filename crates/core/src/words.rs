//! Rules and policies in plain words.
