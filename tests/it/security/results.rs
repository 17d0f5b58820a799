//! Security of results: output of commands, facts and records are data and are never evaluated.
