//! [`OutputFor`]: the runs that an event's output belongs to.

use crate::NodePath;

/// The runs whose output an event carries.
// R105
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OutputFor {
    /// None; the field is absent.
    #[default]
    None,
    /// The run that wrote the event, which is the usual case and takes no memory.
    Own,
    /// These runs: the output of a terminal node is also that of the workflows around it.
    Paths(Box<[NodePath]>),
}
