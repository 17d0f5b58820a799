//! Turns types into text; writes only to the writer it is given.
