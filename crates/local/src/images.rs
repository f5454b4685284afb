//! Container images: which Python environment stands for which.
