//! Creating files and folders that only their owner may read, because sessions contain what their users have said.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates a new file.
///
/// # Errors
/// The error of the file system; `AlreadyExists` for an existing file, which keeps its permissions.
pub fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a folder.
///
/// # Errors
/// The error of the file system; `AlreadyExists` for an existing folder.
pub fn make_folder(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Creates a folder and its parents. Existing folders keep their permissions.
///
/// # Errors
/// The error of the file system.
pub fn make_folders(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are Unix's"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
