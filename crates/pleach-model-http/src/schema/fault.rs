//! [`SchemaFault`]: why a schema cannot be sent.

/// Why a schema cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    /// It nests deeper than this.
    #[error("its schema nests more than {0} levels deep")]
    TooDeep(usize),
    /// It is larger than this, in bytes, or becomes so.
    #[error("its schema has more than {0} bytes")]
    TooLarge(usize),
    /// Its root has too many alternatives to be one object.
    #[error("its schema has more than {0} alternatives at its root")]
    TooManyAlternatives(usize),
    /// The arguments of a function are an object, and this schema has no object among its values.
    #[error("its schema describes no object")]
    NoObject,
}
