//! Shared parts of pleach's black-box tests.
//!
//! Owns the rules by which two conformance traces are compared. It does not run
//! pleach: the programs and test binaries of this package do.

#![forbid(unsafe_code)]
