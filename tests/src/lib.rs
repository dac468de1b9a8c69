//! Shared parts of pleach's black-box tests.
//!
//! Owns the conformance corpus (which scenarios there are, which are known to fail, how all of them are run), the
//! interpreter that plays one scenario with pleach, and the rules by which two traces are compared.

pub mod corpus;
pub mod normalise;
pub mod scenario;
