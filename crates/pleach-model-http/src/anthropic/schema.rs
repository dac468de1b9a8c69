//! Rewrites JSON Schemas for Anthropic.

use crate::schema::Dialect;

/// Returns true if the provider takes a property of this name. It refuses a request with any other.
pub(super) static DIALECT: Dialect = Dialect {
    takes_key: |name| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
    },
    rewrite: |_| {},
    // An answer of a schema is a call of `OutputTool`, whose arguments are an object.
    wraps_answers: false,
};
