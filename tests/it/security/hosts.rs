//! Security against hosts: S7, S9 and S13, names that reach a shell, modes and names of fetched files.
