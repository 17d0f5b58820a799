//! Security of the Python cache, the merge driver, executors, `sudo`, `shell`, `forward` and shared ensembles.
