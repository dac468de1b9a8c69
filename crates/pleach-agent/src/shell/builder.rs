//! [`ShellAgentBuilder`]: builds the agents that run other agents in a fixed way.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use pleach_context::{AgentSpec, Node, NodeKind, NodeSpec, ShellKind};
use pleach_workflow::{BuildError, Fault};
use smol_str::SmolStr;

use super::Shell;
use crate::llm_agent::callbacks::{AgentCallback, Callbacks};
use crate::names::name_faults;

/// Builds a [`SequentialAgent`](super::SequentialAgent), [`ParallelAgent`](super::ParallelAgent) or
/// [`LoopAgent`](super::LoopAgent).
#[must_use]
pub struct ShellAgentBuilder<A> {
    agent: AgentSpec,
    callbacks: Callbacks,
    pub(super) max_iterations: Option<u32>,
    kind: PhantomData<fn() -> A>,
}

impl<A> ShellAgentBuilder<A> {
    pub(super) fn new(name: impl Into<SmolStr>, kind: ShellKind) -> Self {
        let mut agent = AgentSpec::new(name);
        agent.shell = Some(kind);
        Self { agent, callbacks: Callbacks::default(), max_iterations: None, kind: PhantomData }
    }

    /// Sets the description of the agent's purpose. The models of other agents use it to decide whether to transfer
    /// to this agent.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.agent.description = description.into();
        self
    }

    /// Adds an agent that this one runs.
    pub fn sub_agent(mut self, agent: impl Node) -> Self {
        self.agent.sub_agents.push(Arc::new(agent));
        self
    }

    /// Adds a callback that is called before the agent runs. If it returns a content, this content is the answer, and
    /// the sub-agents do not run.
    #[doc(alias = "before_agent_callback")]
    pub fn before_agent(mut self, callback: impl for<'a> AgentCallback<'a>) -> Self {
        self.callbacks.before_agent.push(Arc::new(callback));
        self
    }

    /// Adds a callback that is called after the agent has run. If it returns a content, this content is stored as an
    /// event.
    #[doc(alias = "after_agent_callback")]
    pub fn after_agent(mut self, callback: impl for<'a> AgentCallback<'a>) -> Self {
        self.callbacks.after_agent.push(Arc::new(callback));
        self
    }

    pub(super) fn shell(self) -> Result<Arc<Shell>, BuildError> {
        let name = self.agent.name.clone();
        let mut spec = NodeSpec::new(name.clone()).kind(NodeKind::Agent).rerun_on_resume(true);
        let mut faults = name_faults(&spec);
        for sub in self.agent.sub_agents.iter().filter(|sub| sub.agent().is_none()) {
            let message = format!("sub-agent '{}' of '{name}' is not an agent: run it in a workflow", sub.spec().name);
            faults.push(Fault::value("no_agent", message));
        }
        if !faults.is_empty() {
            return Err(BuildError { name: name.to_string(), faults });
        }
        for sub in self.agent.sub_agents.iter().filter(|sub| sub.spec().retry.is_some() || sub.spec().timeout.is_some())
        {
            let sub = &sub.spec().name;
            tracing::warn!(agent = %name, %sub, "a sub-agent runs as a part of its shell agent, so its retries and its time limit have no effect");
        }
        spec.description.clone_from(&self.agent.description);
        spec.always_gives = true;
        let mut agent = self.agent;
        agent.settings.extend(self.max_iterations.map(|rounds| ("max_iterations".to_owned(), rounds.into())));
        let agent = agent.share().map_err(|second| BuildError {
            name: name.to_string(),
            faults: vec![Fault::value("agent_has_parent", second.to_string())],
        })?;
        Ok(Arc::new(Shell { spec, agent, callbacks: self.callbacks, max_iterations: self.max_iterations }))
    }
}

impl<A> fmt::Debug for ShellAgentBuilder<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShellAgentBuilder").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Implements the parts that the three kinds of shell agents have in common.
macro_rules! shell_agent {
    ($name:ident, $kind:ident) => {
        impl $name {
            /// Returns a builder for an agent of this name.
            pub fn builder(name: impl Into<smol_str::SmolStr>) -> crate::shell::builder::ShellAgentBuilder<Self> {
                crate::shell::builder::ShellAgentBuilder::new(name, pleach_context::ShellKind::$kind)
            }
        }

        impl crate::shell::builder::ShellAgentBuilder<$name> {
            /// Builds the agent.
            ///
            /// # Errors
            /// The name is not an identifier, or a sub-agent is not an agent or already has a parent.
            pub fn build(self) -> Result<$name, pleach_workflow::BuildError> {
                self.shell().map($name)
            }
        }

        impl pleach_context::Node for $name {
            fn spec(&self) -> &pleach_context::NodeSpec {
                &self.0.spec
            }

            fn run<'a>(
                &'a self,
                ctx: pleach_context::Context,
                input: pleach_context::NodeInput,
            ) -> pleach_core::BoxFuture<'a, Result<pleach_context::Flow, NodeError>> {
                Box::pin(self.0.run(pleach_context::engine::RunHandle::of(ctx), input, self))
            }

            fn spec_at(&self, path: &[&str]) -> Option<&pleach_context::NodeSpec> {
                self.0.spec_at(path)
            }

            fn child(&self, name: &str) -> Option<&dyn pleach_context::Node> {
                self.0.agent.sub_agent(name).map(|sub| &**sub)
            }

            fn needs(&self, needs: &mut Vec<pleach_context::Need>) {
                self.0.needs(needs);
            }

            fn has_completed(&self, ctx: &pleach_context::Context) -> bool {
                self.0.has_completed(&pleach_context::engine::RunHandle::of(ctx.clone()))
            }

            fn agent(&self) -> Option<&Arc<pleach_context::AgentSpec>> {
                Some(&self.0.agent)
            }
        }

        impl pleach_context::TypedNode for $name {
            type In = pleach_context::Dynamic;
            type Out = pleach_context::Dynamic;
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("agent", &self.0.agent).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use shell_agent;
