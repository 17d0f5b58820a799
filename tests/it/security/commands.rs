//! Security of commands that only read: under strace they open, write and start nothing else (S3, S9).
