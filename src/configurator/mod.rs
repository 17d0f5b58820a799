//! Ways to implement an operation: shell, template, delegate.
