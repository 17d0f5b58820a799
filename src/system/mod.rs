//! The door to this machine: files, processes, environment, clock.
