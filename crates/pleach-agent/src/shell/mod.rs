//! Shell agents: agents that run their sub-agents in a fixed way, without a decision by a model.
// L175–L179

mod builder;
mod child;
mod looping;
mod parallel;
mod recorded;
mod sequential;

use std::pin::pin;
use std::sync::Arc;

use pleach_context::engine::{LaneSetup, RunHandle};
use pleach_context::telemetry::{OpenSpan, SpanEnd, invoke_agent};
use pleach_context::{AgentSpec, Flow, Need, Node, NodeError, NodeInput, NodeSpec};
use pleach_core::{Branch, Content, Event, EventActions, Map, NodePath};
use serde_json::Value;

use crate::llm_agent::callbacks::Callbacks;
use crate::run::{Around, CallbackNote, Closing, StepEnd};
pub use builder::ShellAgentBuilder;
pub use looping::LoopAgent;
pub use parallel::ParallelAgent;
use recorded::Recorded;
pub use sequential::SequentialAgent;

/// The declaration of a shell agent.
pub(crate) struct Shell {
    spec: NodeSpec,
    agent: Arc<AgentSpec>,
    callbacks: Callbacks,
    /// The maximum number of rounds of a loop.
    max_iterations: Option<u32>,
}

/// One run of a shell agent.
struct ShellRun<'a> {
    shell: &'a Shell,
    /// The context of the agent's own events.
    handle: RunHandle,
    input: NodeInput,
    /// The session's record of this run at its start.
    recorded: Recorded,
}

/// The way in which a shell agent runs its sub-agents.
trait Conduct: Send + Sync {
    fn conduct(&self, run: &ShellRun<'_>) -> impl Future<Output = Result<StepEnd, NodeError>> + Send;
}

impl Shell {
    /// Runs the agent: its callbacks, and between them its sub-agents, as `conduct` defines.
    async fn run(&self, handle: RunHandle, input: NodeInput, conduct: &impl Conduct) -> Result<Flow, NodeError> {
        if is_first(&handle) {
            handle.fail_silently();
        }
        let run = ShellRun::new(self, &handle, input);
        let span = OpenSpan::new(invoke_agent(&self.agent.name, &self.agent.description, &run.handle));
        let ended = span.around(pin!(run.observed(conduct))).await;
        handle.merge_lane(&run.handle);
        if run.handle.has_escalated() {
            handle.escalate();
        }
        match &ended {
            Ok(StepEnd::Waiting) => {
                handle.note_waiting();
                span.end(SpanEnd::Interrupted);
            }
            Ok(_) => {
                if handle.agent_within_run().is_none() && !handle.invocation().is_resumable() {
                    // As in google-adk, the next node of a graph runs on the branch of the last event. In a resumable
                    // app the last event is the mark of the agent's end.
                    handle.set_branch(run.last_branch());
                }
                span.end(SpanEnd::Completed);
            }
            Err(error) => {
                span.fail(error.code());
                run.around().on_error(error).await;
            }
        }
        ended.map(|_| Flow::Done(None))
    }

    /// Returns `true` if the recorded events leave nothing to do.
    fn has_completed(&self, handle: &RunHandle) -> bool {
        ShellRun::new(self, handle, NodeInput::Null).recorded.closing == Closing::Closed
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        match path.split_first() {
            None => Some(&self.spec),
            Some((name, below)) => self.agent.sub_agents.iter().find(|sub| sub.spec().name == *name)?.spec_at(below),
        }
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.agent.sub_agents.iter().for_each(|sub| sub.needs(needs));
    }
}

/// Returns `true` if the agent is the root, whose events have no path. Inside another shell agent, an agent is a call
/// of that agent.
// L175
fn is_first(handle: &RunHandle) -> bool {
    let is_root = handle.parent().is_none_or(|parent| parent.node_path().is_root());
    is_root && handle.event_path() == *handle.node_path()
}

impl<'a> ShellRun<'a> {
    fn new(shell: &'a Shell, handle: &RunHandle, input: NodeInput) -> Self {
        let own = handle.lane(LaneSetup {
            author: Some(shell.agent.name.clone()),
            event_path: is_first(handle).then(NodePath::root),
            ..LaneSetup::default()
        });
        let recorded = Recorded::of(&shell.agent, &own);
        Self { shell, handle: own, input, recorded }
    }

    async fn observed(&self, conduct: &impl Conduct) -> Result<StepEnd, NodeError> {
        let around = self.around();
        if !self.recorded.has_begun
            && let Some(content) = around.before().await?
        {
            self.say(content).await?;
            return Ok(StepEnd::Done);
        }
        let closing = self.recorded.closing;
        if closing == Closing::Closed {
            return Ok(StepEnd::Done);
        }
        let end = if closing.is_marked() { StepEnd::Done } else { conduct.conduct(self).await? };
        // If a sub-agent has run in `conduct`, the callbacks are called again.
        let has_called = closing.has_called() && Recorded::of(&self.shell.agent, &self.handle).closing.has_called();
        // google-adk marks the end only after the sub-agents, so an agent without sub-agents has no mark.
        let closing = if self.children().is_empty() { Closing::EndMarked } else { closing };
        if let Some(addition) = around.finish(end, closing, !has_called).await? {
            self.handle.emit_noted(addition).await?;
        }
        Ok(end)
    }

    /// Returns the branch of the last event of the run, or the branch on which the run began if it has no event.
    fn last_branch(&self) -> Option<Branch> {
        let (ic, path) = (self.handle.invocation(), self.handle.event_path());
        let is_own = |event: &Arc<Event>| {
            event.author() != "user" && event.invocation_id() == ic.invocation_id() && *event.path() == path
        };
        let last = ic.with_events(|events| events.iter().rfind(|event| is_own(event)).cloned());
        last.map_or_else(|| self.handle.branch(), |event| event.branch().cloned())
    }

    fn around(&self) -> Around<'_> {
        Around { agent: &self.shell.agent, callbacks: &self.shell.callbacks, handle: &self.handle }
    }

    async fn say(&self, mut content: Content) -> Result<(), NodeError> {
        content.role.get_or_insert_with(|| "model".into());
        self.handle.emit_noted(CallbackNote::Before.put_on(Event::new().with_content(content))).await
    }

    /// In a resumable app, stores the position of the agent, unless the last checkpoint has the same position.
    // L179
    async fn checkpoint<const N: usize>(&self, state: [(&str, Value); N]) -> Result<(), NodeError> {
        let state: Map = state.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        if !self.handle.invocation().is_resumable() || self.is_recorded(&state) {
            return Ok(());
        }
        let mut actions = EventActions::new();
        actions.set_agent_state(Some(state));
        self.handle.emit(Event::new().with_actions(actions)).await
    }

    fn is_recorded(&self, state: &Map) -> bool {
        let Some(place) = self.recorded.checkpoint else { return false };
        let says =
            |events: &[Arc<Event>]| events.get(place).is_some_and(|event| event.actions().agent_state() == Some(state));
        self.handle.invocation().with_events(says)
    }

    fn children(&self) -> &'a [Arc<dyn Node>] {
        &self.shell.agent.sub_agents
    }
}
