//! Security of folders: S10, links and modes of the files that a job writes.
