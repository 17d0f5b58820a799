//! What exists now: instances, attributes, status, node states.
