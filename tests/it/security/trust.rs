//! Security of projects: S7 and S8, only the user grants trust, and settings of a repository run nothing.
