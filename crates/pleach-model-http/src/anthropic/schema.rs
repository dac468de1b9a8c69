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
    // With an output schema, the answer comes as a call of `OutputTool`, whose arguments are always an object.
    wraps_answers: false,
};
