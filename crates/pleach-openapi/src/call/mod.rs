//! Pure functions that turn the arguments of calls into HTTP requests. Nothing is sent here.

mod argument_error;
mod body;
mod field;
mod multipart;
mod path;
mod prepare;
mod shape;
mod style;

pub(crate) use argument_error::ArgumentError;
pub(crate) use path::PathTemplate;
pub(crate) use prepare::{Outgoing, Prepared, prepare};
pub(crate) use shape::encoded;
