//! Creating files and folders that only their owner may read.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a file that only its owner may read. An existing file keeps its permissions.
///
/// SQLite gives its companion files the same permissions. Errors are ignored here, because SQLite reports them when it
/// opens the file.
pub(crate) fn make_file(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Creates a folder and its parents, which only their owner may read. Existing folders keep their permissions.
pub(crate) fn make_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
