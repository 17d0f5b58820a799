//! Finds and merges projects and their environments.
