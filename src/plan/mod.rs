//! Decides what to do and why; touches nothing.
