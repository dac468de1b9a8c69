//! [`SchemaFault`]: the reasons why a schema cannot be sent.

/// The reason why a schema cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaFault {
    /// The schema nests deeper than this.
    #[error("its schema nests more than {0} levels deep")]
    TooDeep(usize),
    /// The schema is larger than this many bytes, or its conversion would be.
    #[error("its schema has more than {0} bytes")]
    TooLarge(usize),
    /// The root has too many alternatives to become one object.
    #[error("its schema has more than {0} alternatives at its root")]
    TooManyAlternatives(usize),
    /// The schema allows no object, although the arguments of a function are an object.
    #[error("its schema describes no object")]
    NoObject,
}
