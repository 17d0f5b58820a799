//! Runs a plan: order, limits, transitions; the only writer of a topology.
