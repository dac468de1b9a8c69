//! `docs`: checks the pages, builds their book, and runs rustdoc for every crate with warnings as errors.

use std::path::Path;

use crate::cargo::{cargo, succeeds};
use crate::pages;
use crate::tools::MDBOOK;
use crate::workspace::Workspace;

/// Runs `cargo xtask docs`. The book is built only if mdBook is on the machine.
pub(crate) fn run() -> anyhow::Result<bool> {
    let mdbook = MDBOOK.find(&Workspace::load()?.target_directory);
    if mdbook.is_none() {
        println!("book: SKIPPED, mdbook is not on this machine; `cargo xtask test-all --only docs` installs it");
    }
    check(mdbook.as_deref())
}

/// Checks the pages and rustdoc, and builds the book if there is a program for it.
pub(crate) fn check(mdbook: Option<&Path>) -> anyhow::Result<bool> {
    let pages = pages::check()?;
    let book = mdbook.map_or(Ok(true), pages::build)?;
    let mut command = cargo(["doc", "--workspace", "--all-features", "--no-deps"]);
    let rustdoc = succeeds(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(pages && book && rustdoc)
}
