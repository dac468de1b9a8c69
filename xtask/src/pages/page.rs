//! What the checks of pages share: the prose of a page, and its faults.

use std::path::PathBuf;

/// What is wrong in a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    pub(super) message: String,
}

/// The lines of a page with their numbers, without its blocks of code.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((index + 1, line))
    })
}
