//! [`Inspection`]: whether a server has an inspector, and what that may do.

/// Whether a server has an inspector, and what that may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inspection {
    /// There is none.
    Off,
    /// It is there beside the API, and moves sessions of the apps that are served.
    Full,
    /// It is there alone, and only reads.
    ReadOnly,
}
