//! Shapes: the members of an object in a request, and the kind of each member.

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// JSON of any form.
    Any,
    Text,
    Flag,
    Number,
    /// Base64 in either alphabet.
    Bytes,
    /// An object whose members are user data.
    Object,
    List(&'static Kind),
    /// A list whose order has no meaning.
    Set(&'static Kind),
    Model(&'static Shape),
}

/// The members of an object.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) fields: &'static [Field],
    /// Whether unknown members are faults. Otherwise they are dropped.
    pub(super) is_closed: bool,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Field {
    /// The camelCase name; the snake_case spelling is also accepted.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
}

/// Whether a member must be present, and whether it may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// The member must be present.
    Required,
    /// The member may be absent, but not null.
    Defaulted,
    /// The member may be absent or null.
    Optional,
}

impl Shape {
    pub(super) const fn open(fields: &'static [Field]) -> Self {
        Self { fields, is_closed: false }
    }

    pub(super) const fn closed(fields: &'static [Field]) -> Self {
        Self { fields, is_closed: true }
    }
}

pub(super) const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Required }
}

pub(super) const fn defaulted(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Defaulted }
}

pub(super) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, need: Need::Optional }
}
