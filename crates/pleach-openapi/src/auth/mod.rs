//! Credentials of calls: those that the program configures, and those that a client is asked for.

mod access;
mod authorize;
mod endpoints;
mod fields;
mod grant;
mod kept;
mod token;
mod tokens;

pub(crate) use access::{Access, fits};
pub(crate) use authorize::{Authorized, Authorizer};
pub(crate) use endpoints::{Endpoints, secret_url};
pub(crate) use tokens::Tokens;
