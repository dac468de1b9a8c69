//! Views of a session's events for people: timelines, trees of node runs, changes of state, pictures.
//!
//! `docs/inspector.md` describes them. The command `pleach` and the inspector of the server show the same views.

pub use pleach_inspect::{
    Attempt, BoxKind, Fact, InvocationSummary, NodeRun, NodeSummary, Picture, PictureBox, PictureEdge, PictureError,
    RunStatus, RunSummary, RunTree, StateChange, StateKey, TimelineEntry, Turn, TurnWork, Work, invocations,
    observed_outline, state_history, timeline, timeline_at, turns,
};
