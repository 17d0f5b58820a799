//! Security of expressions: S3 and S9, no write and no foreign read while loading and planning.
