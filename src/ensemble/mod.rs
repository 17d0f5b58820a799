//! An ensemble on disk: manifest, lock, journal, folders, records.
