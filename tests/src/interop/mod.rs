//! The program `interop`: what other programs need to compare session databases with google-adk's.
//!
//! It sees a database as any user of pleach does, through [`pleach::connect`]. The one exception is which apps and users
//! there are: no service lists them, so they are read with plain SQL. Whether what it prints is right is decided by its
//! callers, among them the tests in `tests/interop/`.

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
