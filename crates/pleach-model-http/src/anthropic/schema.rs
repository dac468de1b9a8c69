//! Rewrites JSON Schemas for Anthropic.

use crate::schema::Dialect;

/// The provider's rules for schemas. It refuses a request if the name of a property is empty, has more than 64 bytes,
/// or has a character that `takes_key` does not accept.
pub(super) static DIALECT: Dialect = Dialect {
    takes_key: |name| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
    },
    rewrite: |_| {},
    // An answer that fits a schema is sent as a call of `OutputTool`, which makes it an object itself.
    wraps_answers: false,
};
