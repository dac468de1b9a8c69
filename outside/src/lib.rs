//! A user's package, for its tests only.
