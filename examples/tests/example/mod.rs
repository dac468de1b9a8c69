//! Finds the examples' programs, and provides an empty folder for each test.

use std::path::PathBuf;

/// Returns the path of an example, which cargo builds with the tests of its package.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests lie in a folder of the target folder");
    let program = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is not built: `cargo test -p pleach-examples` builds it", program.display());
    program
}

/// Creates an empty folder. Each test passes its own name, so that tests can run at the same time.
pub(crate) fn empty_folder(example: &str, test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(example).join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier test run can be removed");
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}
