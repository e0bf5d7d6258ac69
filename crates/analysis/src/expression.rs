//! The language of success and failure conditions.
