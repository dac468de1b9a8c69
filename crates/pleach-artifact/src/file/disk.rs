//! Making folders durable, and reading files without following links.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes the entries of a folder durable, if the system supports this.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(path)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// Reads a regular file. A symbolic link is an error.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is a symbolic link, or not a regular file"));
    }
    fs::read(path)
}
