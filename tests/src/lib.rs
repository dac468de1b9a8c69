//! Shared parts of pleach's black-box tests.
//!
//! Owns the conformance corpus (which scenarios there are, which are known to fail, how all
//! of them are run) and the rules by which two traces are compared. It does not run pleach
//! itself: the programs and test binaries of this package do.

pub mod corpus;
pub mod normalise;
