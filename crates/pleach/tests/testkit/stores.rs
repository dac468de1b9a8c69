//! The testkit on databases.
