//! All automation of the workspace, called as `cargo xtask COMMAND`.
fn main() {}
