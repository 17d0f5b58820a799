//! Actions on machines, as data; performs none of them.
