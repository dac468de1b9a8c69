//! Finds the credentials of calls. The program configures them, or a client is asked for them.

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
