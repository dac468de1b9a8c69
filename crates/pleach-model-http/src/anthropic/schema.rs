//! JSON Schemas as Anthropic takes them.

use crate::schema::Dialect;

/// The provider refuses a request with a property of another name.
pub(super) static DIALECT: Dialect = Dialect {
    takes_key: |name| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
    },
    rewrite: |_| {},
    // An answer is a call, whose arguments are an object: that of `OutputTool`.
    wraps_answers: false,
};
