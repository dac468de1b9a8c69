//! Files and folders that only their owner may read.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a file for its owner alone, where there is none; one that is there keeps its permissions.
///
/// SQLite gives the files beside it the permissions of the file itself. A file that cannot be made is left to SQLite, which
/// says why.
pub(crate) fn make_file(path: &Path) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Makes a folder, and those it lies in, for their owner alone; those that are there keep their permissions.
pub(crate) fn make_folders(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
