//! The program `interop`, with which other programs compare session databases with google-adk's.
//!
//! It sees a database as any user of pleach does, through [`pleach::connect`]. The only exception is the list of apps and users:
//! no service returns it, so it is read with plain SQL. The callers, among them the tests in `tests/interop/`, decide whether
//! the output is right.

mod append;
mod call;
mod database;
mod dump;
mod load;
mod operation;

pub use append::{NewEvent, append};
pub use call::{Call, USAGE};
pub use dump::dump;
pub use load::load;
pub use operation::{Operation, read_operations};
