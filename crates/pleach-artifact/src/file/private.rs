//! Files and folders for their owner alone, and no file behind a link.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a folder, and those it lies in; those that are there keep their permissions.
pub(super) fn make_folders(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

fn builder() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "permissions are Unix's"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a file that is not there yet.
pub(super) fn make_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Reads a file that is one itself.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    match fs::symlink_metadata(path)?.is_file() {
        true => fs::read(path),
        false => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "it is a symbolic link or another thing that is no file"))
        }
    }
}
