//! Runs every conformance scenario and compares the traces.
fn main() {}
