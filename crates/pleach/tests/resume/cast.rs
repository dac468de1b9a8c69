//! From plain data to agents, through the public API.

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

/// What surrounds an agent.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    world: &'a World,
    /// The agent with a model that it can transfer back to.
    parent: Option<&'a str>,
    /// What the agents above demand of its mode.
    modes: Modes,
    /// Whether nothing may fail: a failure is an answer there.
    is_safe: bool,
    /// Whether nothing may ask: an invocation within a tool call cannot wait.
    is_quiet: bool,
    /// Whether nothing may escalate: what agents beside it have done by then is chance.
    is_beside: bool,
    /// Whether an agent with a model is above.
    is_below: bool,
    /// Whether several runs of it may write the same state at the same time: which one is the last is chance.
    is_several: bool,
    /// Whether no task may ask the user: a nested workflow is complete when its agent does, as in google-adk.
    is_nested: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Modes {
    Any,
    /// Agents of a shell, and the root, converse.
    Chat,
    /// Nodes and the agents that tasks have are called.
    Called,
    /// Agents that answer once delegate no tasks.
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

/// Makes an agent of this name; those below get longer names.
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
                // A batch may call it twice.
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
    // A person may send the result before the model has seen the status when the run fails between them.
    let answers_once = mode != Mode::Chat || script.fails();
    let is_called = |sub: &Shared| sub.agent().and_then(|spec| spec.mode) != Some(AgentMode::Chat);
    // Whether a called agent has answered when a call beside it fails is chance: a resume has its answer at once.
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
    // What is behind a stored output is not done on a resume.
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
        // Runs that get the same words would give the same ids.
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
        // Two calls of a batch write one key: which one is the last is chance when a resume calls only the one that failed.
        ToolKind::Writes if plan.trouble.fails > 0 => &ToolKind::Plain,
        // A status makes it answer, and answer again with the result.
        ToolKind::LongRunning { .. } if answers_once => &ToolKind::LongRunning { has_status: false },
        kind => kind,
    };
    // Which jobs of a failed batch have begun is not recorded.
    let is_job = matches!(kind, ToolKind::LongRunning { .. });
    let trouble = match around.is_safe || is_job {
        true => Trouble { fails: 0, ..plan.trouble.clone() },
        false => plan.trouble.clone(),
    };
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

/// A tool that records that it was called, and gives a text made of the key of the call.
fn function(name: &str, kind: &ToolKind, trouble: Trouble, world: &World) -> FunctionTool {
    let (kind, world, own) = (kind.clone(), world.clone(), name.to_owned());
    pleach::prelude::tool(name, "Says what it was given.", move |Args(call): Args<Keyed>, ctx: ToolContext| {
        let (kind, trouble, world, own) = (kind.clone(), trouble.clone(), world.clone(), own.clone());
        async move {
            // An agent that is called twice may get the same words.
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

/// Any node, by reference.
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
