//! `docs`: the pages and their book, and rustdoc of every crate with warnings as errors.

use crate::cargo::{cargo, succeeds};
use crate::pages;

pub(crate) fn run() -> anyhow::Result<bool> {
    let pages = pages::check()?;
    let book = pages::build()?;
    let mut command = cargo(["doc", "--workspace", "--all-features", "--no-deps"]);
    let rustdoc = succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(pages && book && rustdoc)
}
