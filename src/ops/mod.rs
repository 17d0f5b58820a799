//! One file per use case; wires the layers below and holds no rules of its own.
