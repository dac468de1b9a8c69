//! [`OutputFor`]: the runs to which an event's output belongs.

use crate::NodePath;

/// The runs whose output an event carries.
// R105
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputFor {
    /// No run; the field is absent.
    #[default]
    None,
    /// Only the run that wrote the event. This is the usual case, and takes no memory.
    Own,
    /// These runs. The output of a terminal node is also the output of the enclosing workflows.
    Paths(Box<[NodePath]>),
}
