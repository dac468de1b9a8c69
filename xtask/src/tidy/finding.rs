//! What a check reports.

use std::path::PathBuf;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) message: String,
}
