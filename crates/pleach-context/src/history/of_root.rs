//! Reads a history together with the nodes that recorded it, because they decide what completes a run.

use std::sync::Arc;

use pleach_core::{Event, NodePath};

use super::History;
use crate::{Node, NodeKind};

impl History {
    /// Reads these events like [`History::of`]. The nodes of `root` decide whether a message without an output
    /// completes a run. For runners.
    #[must_use]
    pub fn of_root(own: &[&Arc<Event>], root: &Arc<dyn Node>) -> Self {
        let root = Arc::clone(root);
        Self::with_rule(own, Some(Box::new(move |path| message_completes(&*root, path))))
    }
}

/// Returns `true` if a message without an output completes the run at `path` below this root. A replay decides it the
/// same way.
fn message_completes(root: &dyn Node, path: &NodePath) -> bool {
    let names: Vec<&str> = path.segments().map(|run| run.rsplit_once('@').map_or(run, |(name, _)| name)).collect();
    let Some((first, below)) = names.split_first() else { return false };
    let spec = (*first == root.spec().name).then(|| root.spec_at(below)).flatten();
    spec.is_some_and(|spec| spec.kind != NodeKind::Workflow && !spec.always_gives && !spec.wait_for_output)
}
