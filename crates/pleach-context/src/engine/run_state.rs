//! What a run has given so far.

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
    /// An output event on its way whose emit was dropped.
    pub(crate) abandoned: Option<SentEvent>,
    /// A stored message is the output, which no other event carries.
    pub(crate) output_in_message: bool,
    /// The body has sent an event.
    pub(crate) sent: bool,
    /// An event that another run sent, or will send, is this run's output event.
    // R706, R411
    pub(crate) delegated: bool,
    /// The child that was asked to give this run's output.
    pub(crate) delegate: Option<Box<Delegate>>,
    pub(crate) route: Option<Box<Route>>,
    /// No event carries the route yet.
    pub(crate) route_pending: bool,
    /// A failure leaves no event of the run.
    pub(crate) fails_silently: bool,
    /// The ids of the questions that the run waits for, in the order in which they were asked.
    pub(crate) interrupts: Option<Box<IndexSet<String>>>,
    pub(crate) lane: Lane,
    pub(crate) error: Option<Box<ChildFailure>>,
    /// The run, or a run below it, is executed and not only answered from history.
    pub(crate) executes: bool,
    /// The waker of the task that polls the body, while the body is pending: calls in other tasks wake it when they wait.
    pub(crate) body: Option<Waker>,
    pub(crate) parking: Parking,
    pub(crate) replay_order: Option<Box<ReplayOrder>>,
    pub(crate) children: Option<Box<ChildCounters>>,
    /// How many steps of each name this attempt has begun.
    pub(crate) steps: Option<Box<HashMap<SmolStr, u32>>>,
    /// How many waits without an id of their own this attempt has begun, such as sleeps.
    pub(crate) waits: u32,
    /// The calls that agents have made which share the run.
    pub(crate) calls: Option<Box<SharedCalls>>,
    /// `None` unless this is the run of a workflow that has not ended.
    pub(crate) workflow: Option<Box<WorkflowPart>>,
    /// The failures of children that the body has got.
    pub(crate) failures: Option<Box<Failures>>,
    /// This attempt, or a run below it that did not complete, has gone past failures, and no error event ends that yet.
    pub(crate) has_caught: bool,
}

/// What a call within a run has for itself; the body of the run is the first one.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// What rides on the next event.
    pub(crate) actions: EventActions,
    pub(crate) branch: Option<Branch>,
    pub(crate) isolation_scope: Option<Arc<str>>,
    /// The author on its events, if it is not the run's.
    pub(crate) author: Option<SmolStr>,
    /// One of its events asks the loop around it to end.
    pub(crate) escalated: bool,
    /// It waits for an answer.
    pub(crate) waits: bool,
    pub(crate) agent: Option<Box<AgentPart>>,
    pub(crate) tool: Option<Box<ToolPart>>,
    /// What the call is waiting for, if it counts as a call of its run.
    pub(crate) work: Option<LaneWork>,
    /// The call is over: what it changes now would be lost.
    pub(crate) ended: bool,
}

/// A child that was asked to give the output of the run that has started it.
#[derive(Debug, Default)]
pub(crate) struct Delegate {
    /// What it gave; the run's output unless the body gives another.
    pub(crate) output: Option<NodeInput>,
    /// It is recorded that the run has completed behind it.
    pub(crate) is_recorded: bool,
}

/// What only the runs of workflows have.
#[derive(Debug, Default)]
pub(crate) struct WorkflowPart {
    /// Background children that the workflow has not taken yet.
    pub(crate) background: Vec<BackgroundChild>,
    /// The children that have begun to be executed since the workflow last asked.
    pub(crate) executing: Vec<NodePath>,
}

/// What only the calls of agents have.
#[derive(Debug, Default)]
pub(crate) struct AgentPart {
    /// The path on the events of the call, if it is not the run's.
    pub(crate) event_path: Option<NodePath>,
    /// The transfer on the last event of the call.
    pub(crate) transfer: Option<Transfer>,
    /// From which event of the session on the events of the call are.
    pub(crate) since: usize,
    /// The loops around the call with their rounds, until an event notes them.
    pub(crate) rounds: Option<Arc<[(SmolStr, u32)]>>,
}

/// How many children of each name a run has started.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChildCounters {
    pub(crate) counts: HashMap<SmolStr, u32>,
    /// For the texts of their paths, so that a child allocates only the final one.
    pub(crate) path_buffer: String,
}

/// Which of the agents that share a run has made a call. Models of different agents give equal ids, some of them numbers.
#[derive(Debug, Default)]
pub(crate) struct SharedCalls {
    /// The agent that has made the first call.
    pub(crate) first: Option<SmolStr>,
    /// The agents that have made the first call of each id.
    pub(crate) agents: HashMap<String, SmolStr>,
}

/// The lane of a call, and the agent that the call is of.
pub(crate) struct OwnLane {
    pub(crate) author: Option<SmolStr>,
    pub(crate) lane: Mutex<Lane>,
}

/// A transfer to another agent.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) agent: SmolStr,
    /// From which event of the session on the agent runs, if that is known.
    pub(crate) since: Option<usize>,
}

/// A call that counts as one of its run, whatever it awaits: it is parked when all that it has begun is parked.
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

    /// Returns the path on the events of the call; `None` for the run's.
    pub(crate) fn event_path(&self) -> Option<&NodePath> {
        self.agent.as_ref()?.event_path.as_ref()
    }
}

impl LaneWork {
    pub(crate) fn is_parked(self) -> bool {
        self.parked > 0 && self.parked == self.in_flight
    }
}

/// The failures of children that a body has got.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// Those that it has done nothing after yet.
    pub(crate) received: Vec<(NodePath, ChildFailure)>,
    /// The runs of those that it has gone past: it sent an event, or started another child.
    passed_runs: HashSet<NodePath>,
    /// The same failures, by the run that failed.
    passed: HashMap<NodePath, Vec<ChildFailure>>,
}

impl Failures {
    /// Records that the body has gone past the failure of its child that ran at `run`.
    pub(crate) fn pass(&mut self, run: NodePath, failure: ChildFailure) {
        self.passed_runs.insert(run);
        self.passed.entry(failure.path.clone()).or_default().push(failure);
    }

    /// Returns whether the body has gone past any failure.
    pub(crate) fn has_passed_any(&self) -> bool {
        !self.passed_runs.is_empty()
    }

    /// Returns whether the body has gone past a failure of its child that ran at `run`.
    pub(crate) fn has_passed_run(&self, run: &NodePath) -> bool {
        self.passed_runs.contains(run)
    }

    /// Returns whether the body has gone past this failure.
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
    /// Set on the context; sent when the body ends.
    Pending(Value),
    /// On an event that is on its way to the store.
    Sending,
    /// On a stored event, or given without one.
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

/// How many calls of the body are under way, and how many of them wait for the outside world.
#[derive(Debug, Default)]
pub(crate) struct Parking {
    pub(crate) in_flight: u32,
    pub(crate) parked: u32,
    /// The body is gone: parked calls that outlived it in a task of their own must not wait for ever.
    pub(crate) ended: bool,
    pub(crate) wakers: Vec<Waker>,
}

/// What only tool calls have.
#[derive(Debug, Default)]
pub(crate) struct ToolPart {
    pub(crate) function_call_id: Option<String>,
    pub(crate) confirmation: Option<ToolConfirmation>,
    /// The options of the tool's request for a confirmation.
    pub(crate) terms: Option<Box<ConfirmationTerms>>,
    /// How many calls of the tool its agent has made, this one included.
    pub(crate) ordinal: u32,
    /// A name for what the call runs, unique among the calls of its agent's run; empty in a call that is no agent's.
    pub(crate) key: String,
    /// No call of its agent's run came before.
    pub(crate) is_first: bool,
    /// Its first child has the number of the call.
    pub(crate) is_run_of_child: bool,
    /// How many children of each name the call has started.
    children: HashMap<SmolStr, u32>,
    /// How many steps of each name the call has begun.
    pub(crate) steps: HashMap<SmolStr, u32>,
    /// The tool's caller takes the tool's requests, and no event carries them.
    pub(crate) keeps_requests: bool,
}

impl ToolPart {
    /// Returns the run id of the next child of this name; `None` when the run counts its children.
    ///
    /// It follows from the call, so that a resume, which makes only the calls that have no response, finds the same runs.
    pub(crate) fn next_run_id(&mut self, name: &SmolStr) -> Option<SmolStr> {
        let id = self.peek_run_id(name)?;
        *self.children.entry(name.clone()).or_default() += 1;
        Some(id)
    }

    /// Returns what [`next_run_id`](Self::next_run_id) would return, and counts nothing.
    pub(crate) fn peek_run_id(&self, name: &str) -> Option<SmolStr> {
        if self.key.is_empty() {
            return None;
        }
        let started = match self.is_run_of_child {
            // The agents to which the called child transfers come after it.
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
    // Made where it is kept, and without a default whose parts are dropped at once: a run begins with it, and it is large.
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

    /// Whether what a tool asks for rides on events.
    pub(crate) fn sends_requests(&self) -> bool {
        self.lane.tool.as_ref().is_none_or(|tool| !tool.keeps_requests)
    }

    /// Whether another call of the body, or of the tool call that this is the lane of, is under way.
    pub(crate) fn has_calls_under_way(&self) -> bool {
        self.lane.work.map_or(self.parking.in_flight, |work| work.in_flight) > 0
    }

    /// Whether changes on the context come too late for any event.
    pub(crate) fn has_ended(&self) -> bool {
        self.parking.ended || self.lane.ended
    }
}

/// A second output in one run.
// R210
pub(crate) fn output_twice() -> NodeError {
    NodeError::value("Output already set. A node can produce at most one output.")
        .with_hint("return it, emit it or call `set_output`, but only one of them")
}
