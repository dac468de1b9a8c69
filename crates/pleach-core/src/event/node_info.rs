//! [`NodeInfo`]: the node run that an event belongs to.

use serde_json::Value;

use super::OutputFor;
use crate::json::json_object;
use crate::{Event, NodePath};

/// A view of an event's workflow metadata. ADK: `NodeInfo`
#[derive(Clone, Copy, Debug)]
pub struct NodeInfo<'a> {
    event: &'a Event,
}

impl Event {
    /// Returns a view of the workflow metadata.
    pub fn node_info(&self) -> NodeInfo<'_> {
        NodeInfo { event: self }
    }
}

impl<'a> NodeInfo<'a> {
    /// Returns the path of the run; empty outside workflows.
    pub fn path(&self) -> &'a NodePath {
        self.event.path()
    }

    /// Returns the paths of the runs whose output the event carries; `None` if the field is absent.
    pub fn output_for(&self) -> Option<&'a [NodePath]> {
        match self.event.output_for() {
            OutputFor::None => None,
            OutputFor::Own => Some(std::slice::from_ref(self.event.path())),
            OutputFor::Paths(paths) => Some(paths),
        }
    }

    /// Returns `Some(true)` if the event's content is the node's output.
    pub fn message_as_output(&self) -> Option<bool> {
        self.event.message_as_output()
    }

    /// Returns the node's name, without its run id.
    pub fn name(&self) -> &'a str {
        self.path().name()
    }

    /// Returns the run id; empty if there is none.
    pub fn run_id(&self) -> &'a str {
        self.path().run_id()
    }

    /// Returns the run id of the parent run, if there is one.
    pub fn parent_run_id(&self) -> Option<&'a str> {
        self.path().parent_run_id()
    }
}

json_object! {
    /// The node metadata as stored. Older writers stored the run id in a field of its own, next to a path without run ids.
    pub(super) struct NodeInfoDocument keep {
        /// See [`NodeInfo::path`].
        path: NodePath = "path",
        /// See [`NodeInfo::output_for`].
        output_for: Option<Vec<NodePath>> = "output_for" | "outputFor",
        /// See [`NodeInfo::message_as_output`].
        message_as_output: Option<bool> = "message_as_output" | "messageAsOutput",
        /// The run id that older writers stored.
        run_id: Option<Value> = "run_id" | "runId",
        /// The run id that still older writers stored.
        execution_id: Option<Value> = "execution_id" | "executionId",
    }
}

impl NodeInfoDocument {
    pub(super) fn put_into(mut self, event: &mut Event) {
        let path = self.combine_path();
        event.output_for = match self.output_for {
            None => OutputFor::None,
            Some(paths) if paths == [path.clone()] => OutputFor::Own,
            Some(paths) => OutputFor::Paths(paths.into()),
        };
        event.path = path;
        event.message_as_output = self.message_as_output;
        let legacy = [("run_id", self.run_id), ("execution_id", self.execution_id)];
        for (name, value) in legacy {
            if let Some(value) = value {
                self.extra.get_or_insert_default().insert(name.to_owned(), value);
            }
        }
        if let Some(extra) = self.extra {
            event.uncommon_mut().node_extra = *extra;
        }
    }

    /// Moves a run id of an older writer into the path, unless the path already has one.
    // R105
    fn combine_path(&mut self) -> NodePath {
        if self.path.is_root() || !self.path.run_id().is_empty() {
            return self.path.clone();
        }
        for legacy in [&mut self.run_id, &mut self.execution_id] {
            let run_id = match legacy {
                Some(Value::String(text)) if !text.is_empty() => text.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            *legacy = None;
            let parent = self.path.parent().unwrap_or_default();
            return parent.child(self.path.name(), &run_id);
        }
        self.path.clone()
    }
}
