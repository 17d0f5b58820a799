//! Reads and prepares git repositories; knows nothing of ensembles.
