//! Artifact services of pleach: versioned files of a session or a user, in memory and on disk.
