//! What the engine and a configurator promise each other.
