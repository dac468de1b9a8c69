//! Shared parts of pleach's black-box tests.
//!
//! - `corpus` finds and runs the conformance scenarios, and reads the list of known failures.
//! - `scenario` is the interpreter that plays one scenario with pleach, and `trees` makes random scenarios.
//! - `normalise` has the rules by which two traces are compared.
//! - `interop` reads and writes session databases, for comparisons with google-adk.
//! - `worker`, `runs` and `redactions` have the work of processes that share a database with others.

pub mod corpus;
pub mod dice;
pub mod interop;
pub mod normalise;
pub mod redactions;
pub mod runs;
pub mod scenario;
pub mod trees;
pub mod worker;
