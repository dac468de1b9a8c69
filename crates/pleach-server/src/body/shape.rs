//! Shapes: which members an object of a request has, and of which kind they are.

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Any JSON.
    Any,
    Text,
    Flag,
    Number,
    /// Base64 of either alphabet.
    Bytes,
    /// An object whose members are user data.
    Object,
    List(&'static Kind),
    /// A list without an order.
    Set(&'static Kind),
    Model(&'static Shape),
}

/// The members of an object.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) fields: &'static [Field],
    /// Whether members without a field are a fault. They are dropped otherwise.
    pub(super) is_closed: bool,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Field {
    /// The camelCase name; the snake_case spelling is read, too.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
}

/// Whether a member must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// It must be there.
    Required,
    /// It may be absent, and not null.
    Defaulted,
    /// It may be absent or null.
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
