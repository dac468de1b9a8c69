//! [`skip`]: reports that a test cannot run here.

use std::fmt::Display;
use std::io::Write as _;
use std::panic::Location;

/// The variable with the file to which skipped tests are added, one per line: name, tab, reason.
///
/// `cargo xtask test-all` sets it, because the test runner does not show the output of tests that pass.
pub const SKIPPED_VARIABLE: &str = "PLEACH_TEST_SKIPPED";

/// Prints that the calling test is skipped, and why, and adds it to the list of skipped tests, if there is one.
///
/// The test should then return, so that it passes.
///
/// # Panics
/// Panics if the list cannot be written.
#[track_caller]
pub fn skip(reason: impl Display) {
    eprintln!("SKIPPED: {reason}");
    let Some(file) = std::env::var_os(SKIPPED_VARIABLE).filter(|file| !file.is_empty()) else { return };
    let mut list = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("the list can be opened");
    // One call writes the line, so lines of several processes do not mix.
    list.write_all(line(Location::caller(), &reason.to_string()).as_bytes()).expect("the list can be written");
}

/// Returns the line for the current test. The test's thread has its name, except for tests that run one after the other
/// in the main thread.
fn line(caller: &Location<'_>, reason: &str) -> String {
    let thread = std::thread::current();
    let place = || format!("{}:{}", caller.file(), caller.line());
    let name = thread.name().filter(|name| *name != "main").map_or_else(place, str::to_owned);
    format!("{name}\t{}\n", reason.replace(['\n', '\t'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_name_of_the_test_and_the_reason() {
        let here = Location::caller();
        let expected = "own_tests::skip::tests::a_line_has_the_name_of_the_test_and_the_reason\tno server here\n";
        let alone = format!("{}:{}\tno server here\n", here.file(), here.line());
        let found = line(here, "no server\nhere");
        assert!(found == expected || found == alone, "{found}");
    }
}
