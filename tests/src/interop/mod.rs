//! The program `interop`. Other programs use it to compare pleach's session databases with google-adk's.
//!
//! It uses a database as any program does, through [`pleach::connect`]. The only exception is the list of apps and
//! users: no service returns it, so it is read with plain SQL. The program does not judge its output. Callers do, such
//! as the tests in `tests/interop/`.

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
