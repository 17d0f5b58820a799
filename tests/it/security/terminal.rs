//! Security of the terminal: S17, control characters from outside do not reach the terminal.
