//! Shared parts of pleach's black-box tests.
//!
//! Owns the conformance corpus (the scenarios, the list of known failures, and running all of them), the interpreter that plays
//! one scenario with pleach, random scenarios, the rules by which two traces are compared, the program that reads and writes
//! session databases for a comparison with google-adk, and the work of a process that shares a database with others.

pub mod corpus;
pub mod dice;
pub mod interop;
pub mod normalise;
pub mod redactions;
pub mod runs;
pub mod scenario;
pub mod trees;
pub mod worker;
