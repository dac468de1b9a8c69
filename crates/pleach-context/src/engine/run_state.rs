//! The mutable state of a run.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use foldhash::{HashMap, HashSet};
use indexmap::IndexSet;
use pleach_core::{Branch, EventActions, NodePath, Route, ToolConfirmation};
use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

use super::SentEvent;
use super::replay_order::ReplayOrder;
use crate::scheduler::BackgroundChild;
use crate::{ChildFailure, ConfirmationTerms, NodeError, NodeInput};

/// The changing part of a context.
#[derive(Debug)]
pub(crate) struct RunState {
    pub(crate) output: Output,
    /// An output event on its way to the store, whose emit was dropped.
    pub(crate) abandoned: Option<SentEvent>,
    /// A stored message is the output, and no other event carries the output.
    pub(crate) output_in_message: bool,
    /// The body has sent an event.
    pub(crate) sent: bool,
    /// The output event of this run is one that another run sends or has sent.
    // R706, R411
    pub(crate) delegated: bool,
    /// The child whose output is to become this run's output.
    pub(crate) delegate: Option<Box<Delegate>>,
    pub(crate) route: Option<Box<Route>>,
    /// No event carries the route yet.
    pub(crate) route_pending: bool,
    /// A failure of the run leaves no event.
    pub(crate) fails_silently: bool,
    /// The ids of the questions that the run waits for, in the order in which they were asked.
    pub(crate) interrupts: Option<Box<IndexSet<String>>>,
    pub(crate) lane: Lane,
    pub(crate) error: Option<Box<ChildFailure>>,
    /// The run, or a run below it, is executed and not replayed.
    pub(crate) executes: bool,
    /// The waker of the task that polls the body, while the body is pending. Calls in other tasks wake it when they
    /// begin to wait.
    pub(crate) body: Option<Waker>,
    pub(crate) parking: Parking,
    pub(crate) replay_order: Option<Box<ReplayOrder>>,
    pub(crate) children: Option<Box<ChildCounters>>,
    /// The number of steps of each name that this attempt has begun.
    pub(crate) steps: Option<Box<HashMap<SmolStr, u32>>>,
    /// The number of waits without an id of their own, such as sleeps, that this attempt has begun.
    pub(crate) waits: u32,
    /// The calls of the agents that share the run.
    pub(crate) calls: Option<Box<SharedCalls>>,
    /// Set only for the run of a workflow that has not ended.
    pub(crate) workflow: Option<Box<WorkflowPart>>,
    /// The failures of children that the body has received.
    pub(crate) failures: Option<Box<Failures>>,
    /// This attempt continued after a failure, or an incomplete run below it did. An error event ends the effect of the
    /// failure and clears this.
    pub(crate) has_caught: bool,
}

/// The state that each call within a run has of its own. The body of the run is the first call.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The actions that the next event carries.
    pub(crate) actions: EventActions,
    pub(crate) branch: Option<Branch>,
    pub(crate) isolation_scope: Option<Arc<str>>,
    /// The author on the lane's events, if it is not the run's author.
    pub(crate) author: Option<SmolStr>,
    /// An event of the lane asks the enclosing loop to end.
    pub(crate) escalated: bool,
    /// The lane waits for an answer.
    pub(crate) waits: bool,
    pub(crate) agent: Option<Box<AgentPart>>,
    pub(crate) tool: Option<Box<ToolPart>>,
    /// The calls in flight in this lane, if the lane is counted as a call of its run.
    pub(crate) work: Option<LaneWork>,
    /// The call is over: later changes on it would be lost.
    pub(crate) ended: bool,
}

/// A child whose output is to become the output of the run that started it.
#[derive(Debug, Default)]
pub(crate) struct Delegate {
    /// The child's output. It becomes the run's output unless the body sets its own.
    pub(crate) output: Option<NodeInput>,
    /// Whether a note already records that the run completed after this child.
    pub(crate) is_recorded: bool,
}

/// The state that only runs of workflows have.
#[derive(Debug, Default)]
pub(crate) struct WorkflowPart {
    /// Background children that the workflow has not taken yet.
    pub(crate) background: Vec<BackgroundChild>,
    /// The children that have begun to be executed since the workflow last asked.
    pub(crate) executing: Vec<NodePath>,
}

/// The state that only calls of agents have.
#[derive(Debug, Default)]
pub(crate) struct AgentPart {
    /// The path on the events of the call, if it is not the run's path.
    pub(crate) event_path: Option<NodePath>,
    /// The transfer on the last event of the call.
    pub(crate) transfer: Option<Transfer>,
    /// The index in the session at which the events of the call start.
    pub(crate) since: usize,
    /// The loops around the call with their rounds, until an event records them.
    pub(crate) rounds: Option<Arc<[(SmolStr, u32)]>>,
}

/// The number of children of each name that a run has started.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildCounters {
    pub(crate) counts: HashMap<SmolStr, u32>,
    /// A buffer for building child paths, so that a child allocates only the final path.
    pub(crate) path_buffer: String,
}

/// Records which of the agents that share a run made each call. Models of different agents may produce equal call ids,
/// for example plain numbers.
#[derive(Debug, Default)]
pub(crate) struct SharedCalls {
    /// The agent that made the first call of the run.
    pub(crate) first: Option<SmolStr>,
    /// For each call id, the agent that first made a call with it.
    pub(crate) agents: HashMap<String, SmolStr>,
}

/// The lane of a call, with the agent that makes the call.
pub(crate) struct OwnLane {
    pub(crate) author: Option<SmolStr>,
    pub(crate) lane: Mutex<Lane>,
}

/// A transfer to another agent.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) agent: SmolStr,
    /// The index in the session at which the agent's run begins, if it is known.
    pub(crate) since: Option<usize>,
}

/// A lane that is counted as one call of its run, whatever it awaits. It is parked when everything that it has begun is
/// parked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneWork {
    pub(crate) in_flight: u32,
    pub(crate) parked: u32,
}

impl Lane {
    pub(crate) fn agent_part(&mut self) -> &mut AgentPart {
        self.agent.get_or_insert_default()
    }

    pub(crate) fn take_transfer(&mut self) -> Option<Transfer> {
        self.agent.as_mut()?.transfer.take()
    }

    /// Returns the path on the events of the call; `None` for the run's path.
    pub(crate) fn event_path(&self) -> Option<&NodePath> {
        self.agent.as_ref()?.event_path.as_ref()
    }
}

impl LaneWork {
    pub(crate) fn is_parked(self) -> bool {
        self.parked > 0 && self.parked == self.in_flight
    }
}

/// The failures of children that a body has received.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// The failures after which the body has not done anything yet.
    pub(crate) received: Vec<(NodePath, ChildFailure)>,
    /// The runs of the failures after which the body continued: it sent an event, or started another child.
    passed_runs: HashSet<NodePath>,
    /// The same failures, by the run that failed.
    passed: HashMap<NodePath, Vec<ChildFailure>>,
}

impl Failures {
    /// Records that the body continued after the failure of its child that ran at `run`.
    pub(crate) fn pass(&mut self, run: NodePath, failure: ChildFailure) {
        self.passed_runs.insert(run);
        self.passed.entry(failure.path.clone()).or_default().push(failure);
    }

    /// Returns `true` if the body continued after any failure.
    pub(crate) fn has_passed_any(&self) -> bool {
        !self.passed_runs.is_empty()
    }

    /// Returns `true` if the body continued after a failure of its child that ran at `run`.
    pub(crate) fn has_passed_run(&self, run: &NodePath) -> bool {
        self.passed_runs.contains(run)
    }

    /// Returns `true` if the body continued after this failure.
    pub(crate) fn has_passed(&self, failure: &ChildFailure) -> bool {
        let is_same = |passed: &ChildFailure| {
            passed.error.code() == failure.error.code() && passed.error.message() == failure.error.message()
        };
        self.passed.get(&failure.path).is_some_and(|passed| passed.iter().any(is_same))
    }
}

/// The output of a run.
#[derive(Debug, Default)]
pub(crate) enum Output {
    #[default]
    Unset,
    /// The output is set on the context, and is sent when the body ends.
    Pending(Value),
    /// The output is on an event on its way to the store.
    Sending,
    /// The output is on a stored event, or was returned without an event.
    Stored(NodeInput),
}

impl Output {
    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Self::Unset)
    }
}

/// Which part of a stored event is its run's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputSource {
    /// No part of it.
    None,
    /// The output.
    Output,
    /// The message.
    Content,
}

/// The number of calls of the body that are in flight, and how many of them wait for an external answer.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    pub(crate) in_flight: u32,
    pub(crate) parked: u32,
    /// The body is gone. Parked calls that outlive it in a separate task must not wait forever.
    pub(crate) ended: bool,
    pub(crate) wakers: Vec<Waker>,
}

/// The state that only tool calls have.
#[derive(Debug, Default)]
pub(crate) struct ToolPart {
    pub(crate) function_call_id: Option<String>,
    pub(crate) confirmation: Option<ToolConfirmation>,
    /// The options of the tool's request for a confirmation.
    pub(crate) terms: Option<Box<ConfirmationTerms>>,
    /// The number of calls of the tool that its agent has made, including this one.
    pub(crate) ordinal: u32,
    /// The call's key: it names the runs below the call, and is unique among the calls of the agent's run. It is
    /// empty if no agent makes the call.
    pub(crate) key: String,
    /// Whether this is the first call of the agent's run.
    pub(crate) is_first: bool,
    /// The call runs a child agent, whose run id is the call's number.
    pub(crate) is_run_of_child: bool,
    /// The number of children of each name that the call has started.
    children: HashMap<SmolStr, u32>,
    /// The number of steps of each name that the call has begun.
    pub(crate) steps: HashMap<SmolStr, u32>,
    /// The tool's caller takes the tool's requests, so no event carries them.
    pub(crate) keeps_requests: bool,
}

impl ToolPart {
    /// Returns the run id of the next child of this name; `None` if the run, and not the call, numbers its children.
    ///
    /// The id is derived from the call. A resume makes only the calls without a response, and must find their runs
    /// under the same ids.
    pub(crate) fn next_run_id(&mut self, name: &SmolStr) -> Option<SmolStr> {
        let id = self.peek_run_id(name)?;
        *self.children.entry(name.clone()).or_default() += 1;
        Some(id)
    }

    /// Returns what [`next_run_id`](Self::next_run_id) would return, without counting a child.
    pub(crate) fn peek_run_id(&self, name: &str) -> Option<SmolStr> {
        if self.key.is_empty() {
            return None;
        }
        let started = match self.is_run_of_child {
            // The agents to which the called child transfers are numbered after it.
            true => self.children.values().sum(),
            false => self.children.get(name).copied().unwrap_or(0),
        };
        let nth: u32 = started + 1;
        Some(match nth {
            1 if self.is_run_of_child => format_smolstr!("{}", self.ordinal),
            nth if self.is_first && !self.is_run_of_child => format_smolstr!("{nth}"),
            1 => self.key.as_str().into(),
            nth => format_smolstr!("{}+{nth}", self.key),
        })
    }
}

impl RunState {
    /// Makes the state of a run on this branch and in this isolation scope.
    // Built in place and field by field, because every run makes one and it is large.
    #[inline(always)]
    pub(crate) fn on(branch: Option<Branch>, isolation_scope: Option<Arc<str>>) -> Self {
        Self {
            output: Output::Unset,
            abandoned: None,
            output_in_message: false,
            sent: false,
            delegated: false,
            delegate: None,
            route: None,
            route_pending: false,
            fails_silently: false,
            interrupts: None,
            lane: Lane { branch, isolation_scope, ..Lane::default() },
            error: None,
            executes: false,
            body: None,
            parking: Parking::default(),
            replay_order: None,
            children: None,
            steps: None,
            waits: 0,
            calls: None,
            workflow: None,
            failures: None,
            has_caught: false,
        }
    }

    /// Returns `true` if events carry what a tool asks for.
    pub(crate) fn sends_requests(&self) -> bool {
        self.lane.tool.as_ref().is_none_or(|tool| !tool.keeps_requests)
    }

    /// Returns `true` if another call is in flight, in the body or in the tool call whose lane this is.
    pub(crate) fn has_calls_under_way(&self) -> bool {
        self.lane.work.map_or(self.parking.in_flight, |work| work.in_flight) > 0
    }

    /// Returns `true` if changes on the context come too late for any event.
    pub(crate) fn has_ended(&self) -> bool {
        self.parking.ended || self.lane.ended
    }
}

/// Returns the error of a second output in one run.
// R210
pub(crate) fn output_twice() -> NodeError {
    NodeError::value("Output already set. A node can produce at most one output.")
        .with_hint("return it, emit it or call `set_output`, but only one of them")
}
