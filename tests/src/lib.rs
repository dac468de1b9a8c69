//! Shared parts of pleach's black-box tests.
//!
//! Owns the conformance corpus (which scenarios there are, which are known to fail, how all of them are run), the
//! interpreter that plays one scenario with pleach, the rules by which two traces are compared, and the program that
//! reads and writes session databases for a comparison with google-adk.

pub mod corpus;
pub mod interop;
pub mod normalise;
pub mod scenario;
pub mod schema;
