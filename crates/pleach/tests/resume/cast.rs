//! Makes agents from plain data through the public API.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    AgentMode, AgentSpec, AgentTool, BoxFuture, CallbackContext, Content, Flow as NodeFlow, LlmAgentBuilder, LoopAgent,
    Need, Node, NodeInput, NodeSpec, NodeTool, ParallelAgent, SequentialAgent, exit_loop,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bodies::{child, stable};
use crate::flow::Trouble;
use crate::model::{Callee, Player};
use crate::tree::{Agent, Hook, Kind, Mode, Script, Tool, ToolKind};
use crate::world::World;

/// The surroundings of an agent.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    world: &'a World,
    /// The agent with a model that it can transfer back to.
    parent: Option<&'a str>,
    /// The modes that the agents above allow.
    modes: Modes,
    /// Whether nothing may fail, because a failure would become an answer.
    is_safe: bool,
    /// Whether nothing may ask, because an invocation within a tool call cannot wait.
    is_quiet: bool,
    /// Whether nothing may escalate: the escalation would stop parallel agents, whose progress depends on chance.
    is_beside: bool,
    /// Whether an agent with a model is above.
    is_below: bool,
    /// Whether several runs of the agent may write the same state at the same time, so that the last one depends on chance.
    is_several: bool,
    /// Whether no task may ask the user, because a nested workflow is complete when its agent asks, as in google-adk.
    is_nested: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Modes {
    Any,
    /// Only conversations: for the root and the sub-agents of a shell.
    Chat,
    /// Only modes in which the agent is called: for nodes and the sub-agents of tasks.
    Called,
    /// Only single turns: an agent that answers once delegates no tasks.
    // L190
    Once,
}

impl<'a> Around<'a> {
    pub(crate) fn root(world: &'a World) -> Self {
        Self {
            world,
            parent: None,
            modes: Modes::Chat,
            is_safe: false,
            is_quiet: false,
            is_beside: false,
            is_below: false,
            is_several: false,
            is_nested: false,
        }
    }

    pub(crate) fn node(world: &'a World, is_nested: bool) -> Self {
        Self { modes: Modes::Called, is_nested, ..Self::root(world) }
    }
}

/// Makes an agent of this name. The names of its sub-agents are longer.
pub(crate) fn agent(name: &str, plan: &Agent, around: Around<'_>) -> Shared {
    let subs = |around: Around<'_>| -> Vec<(Shared, &Agent)> {
        let named = plan.subs.iter().enumerate();
        named.map(|(index, sub)| (agent(&format!("{name}_{index}"), sub, around), sub)).collect()
    };
    let is_beside = around.is_beside || matches!(plan.kind, Kind::Parallel);
    let shells = Around { parent: None, modes: Modes::Chat, is_beside, ..around };
    macro_rules! shell {
        ($builder:expr) => {{
            let mut builder = $builder;
            if let Some(hook) = callback("before", name, plan.before) {
                builder = builder.before_agent(hook);
            }
            if let Some(hook) = callback("after", name, plan.after) {
                builder = builder.after_agent(hook);
            }
            let builder = subs(shells).into_iter().fold(builder, |builder, (sub, _)| builder.sub_agent(sub));
            Shared(Arc::new(builder.build().unwrap()))
        }};
    }
    match &plan.kind {
        Kind::Sequential => shell!(SequentialAgent::builder(name)),
        Kind::Parallel => shell!(ParallelAgent::builder(name)),
        Kind::Loop { rounds } => shell!(LoopAgent::builder(name).max_iterations(u32::from(*rounds))),
        Kind::Model(script) => {
            let mode = mode(script, around);
            let below = Around {
                parent: (mode == Mode::Chat).then_some(name),
                modes: match mode {
                    Mode::Chat => Modes::Any,
                    Mode::Task => Modes::Called,
                    Mode::Once => Modes::Once,
                },
                is_safe: around.is_safe || mode == Mode::Once,
                is_below: true,
                // A batch may call the agent twice.
                is_several: around.is_several || (around.is_below && mode != Mode::Chat),
                ..around
            };
            with_model(name, plan, script, mode, subs(below), below, around.parent)
        }
    }
}

fn mode(script: &Script, around: Around<'_>) -> Mode {
    match (around.modes, script.mode) {
        (Modes::Chat, _) => Mode::Chat,
        (Modes::Called, Mode::Chat) | (Modes::Once, _) => Mode::Once,
        (_, mode) => mode,
    }
}

fn with_model(
    name: &str,
    plan: &Agent,
    script: &Script,
    mode: Mode,
    subs: Vec<(Shared, &Agent)>,
    below: Around<'_>,
    parent: Option<&str>,
) -> Shared {
    let mut builder: LlmAgentBuilder = LlmAgent::builder(name);
    let mut callees = Vec::new();
    // If the run fails after the status was stored, the person may send the result before the model has seen the
    // status.
    let answers_once = mode != Mode::Chat || script.fails();
    let is_called = |sub: &Shared| sub.agent().and_then(|spec| spec.mode) != Some(AgentMode::Chat);
    // If a parallel call fails, it depends on chance whether a called agent has answered. A resume has its answer at once.
    let calls_agents = subs.iter().any(|(sub, plan)| matches!(plan.kind, Kind::Model(_)) && is_called(sub));
    let below = Around { is_safe: below.is_safe || calls_agents, ..below };
    for (index, tool) in script.tools.iter().enumerate() {
        let own = format!("t_{name}_{index}");
        callees.push(if matches!(tool.kind, ToolKind::Node(_) | ToolKind::Agent(_)) {
            Callee::Asked(own.clone())
        } else if matches!(tool.kind, ToolKind::Exit) && !below.is_beside {
            Callee::Exit
        } else {
            Callee::Tool(own.clone())
        });
        builder = add_tool(builder, &own, tool, answers_once, below);
    }
    for (sub, plan) in subs {
        let called = is_called(&sub);
        let is_model = matches!(plan.kind, Kind::Model(_));
        let name = sub.spec().name.to_string();
        if is_model && called {
            callees.push(Callee::Asked(name));
        } else if mode == Mode::Chat {
            callees.push(Callee::Transfer(name));
        }
        builder = builder.sub_agent(sub);
    }
    if let Some(parent) = parent.filter(|_| mode == Mode::Chat) {
        callees.push(Callee::Transfer(parent.to_owned()));
    }
    if let Some(hook) = callback("before", name, plan.before) {
        builder = builder.before_agent(hook);
    }
    // A resume does not repeat work after a stored output.
    if let Some(hook) = callback("after", name, plan.after).filter(|_| mode == Mode::Chat) {
        builder = builder.after_agent(hook);
    }
    if script.keeps_output && !below.is_several {
        builder = builder.output_key(format!("o_{name}"));
    }
    builder = builder.mode(match mode {
        Mode::Chat => AgentMode::Chat,
        Mode::Once => AgentMode::SingleTurn,
        Mode::Task => AgentMode::Task,
    });
    let player = Player {
        agent: name.to_owned(),
        callees,
        steps: script.steps.clone(),
        // Runs with the same input would produce the same ids.
        has_ids: script.has_ids && mode != Mode::Once,
        is_task: mode == Mode::Task,
        asks: script.asks && !below.is_quiet && !below.is_nested,
        pauses: script.pauses,
        world: below.world.clone(),
    };
    Shared(Arc::new(builder.model(player).build().unwrap()))
}

#[derive(Deserialize, JsonSchema)]
struct Keyed {
    key: String,
}

fn add_tool(
    builder: LlmAgentBuilder,
    name: &str,
    plan: &Tool,
    answers_once: bool,
    around: Around<'_>,
) -> LlmAgentBuilder {
    let kind = match &plan.kind {
        ToolKind::Confirmed | ToolKind::Asks | ToolKind::LongRunning { .. } if around.is_quiet => &ToolKind::Plain,
        ToolKind::Exit if around.is_beside => &ToolKind::Plain,
        ToolKind::Writes if around.is_several => &ToolKind::Plain,
        // Two calls of a batch write one key. If a resume repeats only the call that failed, the last write depends on
        // chance.
        ToolKind::Writes if plan.trouble.fails > 0 => &ToolKind::Plain,
        // With a status the agent answers, and answers again when the result comes.
        ToolKind::LongRunning { .. } if answers_once => &ToolKind::LongRunning { has_status: false },
        kind => kind,
    };
    // The log does not record which jobs of a failed batch have begun.
    let is_job = matches!(kind, ToolKind::LongRunning { .. });
    let trouble =
        if around.is_safe || is_job { Trouble { fails: 0, ..plan.trouble.clone() } } else { plan.trouble.clone() };
    let made = || function(name, kind, trouble, around.world);
    match kind {
        ToolKind::Plain | ToolKind::Writes | ToolKind::Asks => builder.tool(made()),
        ToolKind::Confirmed => builder.tool(made().require_confirmation()),
        ToolKind::LongRunning { .. } => builder.tool(made().long_running()),
        ToolKind::Exit => builder.tool(exit_loop()),
        ToolKind::Node(part) => {
            let mut part = part.clone();
            if around.is_safe {
                part.trouble.fails = 0;
            }
            if around.is_quiet {
                part.kind = crate::flow::PartKind::Value;
            }
            builder.tool(NodeTool::new(Shared(child(name, &part, around.world))))
        }
        ToolKind::Agent(plan) => {
            let alone = Around { is_safe: true, is_quiet: true, is_several: true, ..Around::root(around.world) };
            builder.tool(AgentTool::new(agent(name, plan, alone)))
        }
    }
}

/// A tool that records its calls and returns a text made from the key of the call.
fn function(name: &str, kind: &ToolKind, trouble: Trouble, world: &World) -> FunctionTool {
    let (kind, world, own) = (kind.clone(), world.clone(), name.to_owned());
    pleach::prelude::tool(name, "Says what it was given.", move |Args(call): Args<Keyed>, ctx: ToolContext| {
        let (kind, trouble, world, own) = (kind.clone(), trouble.clone(), world.clone(), own.clone());
        async move {
            // An agent that is called twice may get the same input.
            let call = Keyed { key: format!("{}:{}", stable(ctx.node_path().as_str()), call.key) };
            if matches!(kind, ToolKind::Asks) {
                match ctx.tool_confirmation() {
                    None => {
                        ctx.request_confirmation("May I?", None)?;
                        return Ok(json!(format!("asked {}", call.key)));
                    }
                    Some(answer) if !answer.confirmed => return Ok(json!(format!("refused {}", call.key))),
                    Some(_) => {}
                }
            }
            world.call(&call.key);
            for _ in 0..trouble.pauses {
                tokio::task::yield_now().await;
            }
            world.fail_call(&call.key, trouble.fails)?;
            if matches!(kind, ToolKind::Writes) {
                ctx.state().set(format!("w_{own}"), &call.key)?;
            }
            Ok::<_, NodeError>(match kind {
                ToolKind::LongRunning { has_status: false } => Value::Null,
                ToolKind::LongRunning { .. } => json!({"status": format!("began {}", call.key)}),
                _ => json!(format!("did {}", call.key)),
            })
        }
    })
}

type Boxed = Box<dyn Fn(CallbackContext) -> BoxFuture<'static, Result<Option<Content>, NodeError>> + Send + Sync>;

fn callback(when: &'static str, name: &str, hook: Hook) -> Option<Boxed> {
    let name = name.to_owned();
    let call = move |ctx: CallbackContext| -> BoxFuture<'static, Result<Option<Content>, NodeError>> {
        let name = name.clone();
        Box::pin(async move {
            if hook == Hook::State {
                ctx.state().set(format!("{when}_{name}"), true)?;
            }
            Ok((hook == Hook::Says).then(|| Content::model(format!("{when} {name}"))))
        })
    };
    (hook != Hook::Nothing).then(|| Box::new(call) as Boxed)
}

/// Any node, shared by reference.
pub(crate) struct Shared(pub(crate) Arc<dyn Node>);

impl Node for Shared {
    fn spec(&self) -> &NodeSpec {
        self.0.spec()
    }

    fn run<'a>(&'a self, ctx: Context, input: NodeInput) -> BoxFuture<'a, Result<NodeFlow, NodeError>> {
        self.0.run(ctx, input)
    }

    fn outline(&self) -> pleach::Outline {
        self.0.outline()
    }

    fn fits(&self, path: &pleach::NodePath, history: &pleach::History) -> Result<(), NodeError> {
        self.0.fits(path, history)
    }

    fn spec_at(&self, path: &[&str]) -> Option<&NodeSpec> {
        self.0.spec_at(path)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.0.needs(needs);
    }

    fn has_completed(&self, ctx: &Context) -> bool {
        self.0.has_completed(ctx)
    }

    fn agent(&self) -> Option<&Arc<AgentSpec>> {
        self.0.agent()
    }
}
