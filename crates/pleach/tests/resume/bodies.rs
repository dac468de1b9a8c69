//! The nodes of random workflows. The output of a node depends only on its name and its input.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures::future::try_join_all;
use pleach::prelude::*;
use pleach::{
    FunctionNode, FunctionResponse, Map, Node, NodeInput, ParallelWorker, Question, QuestionKind, REQUEST_CONFIRMATION,
    REQUEST_INPUT, RunOptions, Yield,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cast::{Around, agent};
use crate::flow::{Asks, Due, ParentEnd, Part as Child, PartKind, Task, Trouble, Work, Writes};
use crate::steps::steps;
use crate::world::World;

/// The output of a node for an input: short, and different for different inputs.
pub(crate) fn label(name: &str, input: &Value) -> String {
    let text: String = match input {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text: String = text.chars().filter(|c| !"\"\\ ".contains(*c)).collect();
    if text.len() <= 48 {
        return format!("{name}({text})");
    }
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{name}#{hash:x}")
}

/// Replaces the ids that the runtime made, which differ in every run, by equal ones.
pub(crate) fn stable(text: &str) -> String {
    const ID: &str = "adk-00000000-0000-4000-8000-";
    const DIGITS: usize = 12;
    let mut pieces = text.split(ID);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + "adk" + &piece[DIGITS.min(piece.len())..])
}

/// The subject of a question, which is the same in every run although the id may differ.
pub(crate) fn topic(question: &Question) -> String {
    let payload = question.payload.as_ref();
    let key = |args: Option<&Value>| args.and_then(|args| args["key"].as_str()).unwrap_or_default().to_owned();
    match question.function.as_str() {
        REQUEST_CONFIRMATION => format!("confirm {}", key(payload.map(|asked| &asked["originalFunctionCall"]["args"]))),
        REQUEST_INPUT => stable(&question.id),
        _ => format!("result of {}", key(payload)),
    }
}

/// The answer to a question, given by the person or at the deadline.
pub(crate) fn answer(question: &Question) -> Part {
    let topic = topic(question);
    let answer = if is_due(question) {
        ("result", question.default.clone().unwrap_or_default())
    } else if question.kind == QuestionKind::Confirmation {
        // The person refuses some calls of agents.
        let refused = question.function == REQUEST_CONFIRMATION && topic.len().is_multiple_of(3);
        ("confirmed", Value::from(!refused))
    } else {
        ("result", Value::from(format!("to {topic}")))
    };
    let answer = Map::from_iter([(answer.0.to_owned(), answer.1)]);
    Part::function_response(FunctionResponse::new(&*question.id, &*question.function, answer))
}

pub(crate) fn question(ctx: &Context, number: u8) -> String {
    format!("{}#{number}", ctx.node_path())
}

/// A time less than a minute after the times of all processes' clocks.
const SOON: u64 = 1_800_000_060;
const LATE: u64 = 4_000_000_000;

/// The suffix of the ids of questions that the person leaves open until their deadline.
pub(crate) const OPEN: &str = "~open";

/// Returns true if the deadline of a question comes before the person answers.
pub(crate) fn is_due(question: &Question) -> bool {
    question.deadline.is_some_and(|deadline| deadline < LATE as f64)
}

fn id(ctx: &Context, number: u8, due: Due) -> String {
    let id = question(ctx, number);
    if matches!(due, Due::Soon { .. }) { id + OPEN } else { id }
}

/// A question with the same id each time. The deadline of the first question is the latest one.
fn asked(ctx: &Context, number: u8, due: Due) -> RequestInput<Option<String>> {
    let asked = RequestInput::ask(id(ctx, number, due), "?");
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    match due {
        Due::Never => asked,
        Due::Soon { has_default } => {
            let asked = asked.with_deadline(at(SOON - u64::from(number)));
            if has_default { asked.with_default(format!("default of {number}")) } else { asked }
        }
        Due::Late => asked.with_deadline(at(LATE)).with_default("too late"),
    }
}

pub(crate) fn again() -> RetryConfig {
    RetryConfig::attempts(6).initial_delay(0.1).jitter(0.0)
}

impl Trouble {
    pub(crate) async fn begin(&self, ctx: &Context, world: &World) -> Result<(), NodeError> {
        world.enter(ctx);
        for _ in 0..self.pauses {
            tokio::task::yield_now().await;
        }
        if self.late { Ok(()) } else { world.fail(ctx, self.fails) }
    }

    pub(crate) fn end(&self, ctx: &Context, world: &World) -> Result<(), NodeError> {
        if self.late { world.fail(ctx, self.fails) } else { Ok(()) }
    }
}

/// The node of a task, which may be in a nested workflow. A task that takes a list of items gets it from [`feeder`].
pub(crate) fn node(name: &str, task: &Task, world: &World, is_nested: bool) -> Arc<dyn Node> {
    let (trouble, world) = (task.trouble.clone(), world.clone());
    match &task.work {
        Work::Value { messages, writes } => retried(value(name, trouble, *messages, *writes, world), task.retry),
        Work::State => retried(quiet(name, trouble, true, world), task.retry),
        Work::Silent => retried(quiet(name, trouble, false, world), task.retry),
        Work::Tool => called(name, trouble, task.retry, world),
        Work::Gated => retried(value(name, trouble, 0, Writes::Nothing, world).require_confirmation(), task.retry),
        Work::Question { due } => retried(returned(name, trouble, *due, world), task.retry),
        Work::Questions { count, how: Asks::Returned, due } => {
            retried(returns(name, trouble, (*count, *due), world), task.retry)
        }
        Work::Questions { count, how, due } => retried(asks(name, trouble, (*count, *due), *how, world), task.retry),
        Work::Steps { .. } => retried(steps(name, task, &world), task.retry),
        Work::Worker { at_once, item, .. } => worker(name, item, *at_once, task.retry, &world),
        Work::Agent(plan) => agent(&format!("a_{name}"), plan, Around::node(&world, is_nested)).0,
        Work::Parent { end: ParentEnd::HandsOver, .. } => retried(hands_over(name, task, &world), task.retry),
        Work::Parent { .. } => retried(parent(name, task, &world), task.retry),
    }
}

fn retried<In: 'static, Out: 'static>(node: FunctionNode<In, Out>, retry: bool) -> Arc<dyn Node> {
    Arc::new(if retry { node.retry(again()) } else { node })
}

#[derive(Deserialize, JsonSchema)]
struct Call {
    input: String,
}

fn called(name: &str, trouble: Trouble, retry: bool, world: World) -> Arc<dyn Node> {
    let call = tool(name, "Says what it was given.", move |Args(call): Args<Call>, ctx: ToolContext| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            trouble.end(&ctx, &world)?;
            Ok::<_, NodeError>(label(ctx.node_name(), &call.input.into()))
        }
    });
    let node = ToolNode::new(call);
    Arc::new(if retry { node.retry(again()) } else { node })
}

/// A node whose output is a text made from its input.
pub(crate) fn plain(name: &str) -> Arc<dyn Node> {
    Arc::new(FunctionNode::new(name, |ctx: Context, Input(input): Input<Dynamic>| async move {
        label(ctx.node_name(), &input.0)
    }))
}

/// A node whose output is the list of items for a parallel worker.
pub(crate) fn feeder(name: &str, items: u8) -> Arc<dyn Node> {
    let own = name.to_owned();
    Arc::new(FunctionNode::new(name, move |Input(input): Input<Dynamic>| {
        let items: Vec<String> = (0..items).map(|item| label(&format!("{own}.{item}"), &input.0)).collect();
        async move { items }
    }))
}

fn value(name: &str, trouble: Trouble, messages: u8, writes: Writes, world: World) -> FunctionNode<Dynamic, String> {
    FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            let text = label(ctx.node_name(), &input.0);
            let key = format!("k_{}", ctx.node_name());
            if matches!(writes, Writes::Context) {
                ctx.state().set(key.as_str(), text.clone())?;
            }
            trouble.begin(&ctx, &world).await?;
            for _ in 0..messages {
                ctx.emit(Event::message("working")).await?;
            }
            trouble.end(&ctx, &world)?;
            let output = Output::of(text.clone());
            Ok::<_, NodeError>(match writes {
                Writes::Result => output.state(key, text),
                Writes::User => output.state(format!("user:{key}"), text),
                Writes::Nothing | Writes::Context => output,
            })
        }
    })
}

fn quiet(name: &str, trouble: Trouble, state: bool, world: World) -> FunctionNode<Dynamic, Dynamic> {
    FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            trouble.end(&ctx, &world)?;
            if state {
                ctx.state().set(format!("q_{}", ctx.node_name()), label("", &input.0))?;
            }
            Ok::<_, NodeError>(Dynamic(Value::Null))
        }
    })
}

fn returned(name: &str, trouble: Trouble, due: Due, world: World) -> FunctionNode<Dynamic, Dynamic> {
    FunctionNode::new(name, move |ctx: Context, Input(_): Input<Dynamic>| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            trouble.end(&ctx, &world)?;
            Ok::<_, NodeError>(Yield::from(asked(&ctx, 0, due)))
        }
    })
}

fn returns(name: &str, trouble: Trouble, (count, due): (u8, Due), world: World) -> FunctionNode<Dynamic, Dynamic> {
    let node = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            let ids: Vec<String> = (0..count).map(|number| id(&ctx, number, due)).collect();
            let is_open = |number: &u8| !ctx.resume_inputs().contains_key(&ids[usize::from(*number)]);
            let mut open: Vec<u8> = (0..count).filter(is_open).collect();
            let last = open.pop();
            for number in open {
                ctx.emit(asked(&ctx, number, due)).await?;
            }
            if let Some(number) = last {
                return Ok(Yield::from(asked(&ctx, number, due)));
            }
            trouble.end(&ctx, &world)?;
            let answers: Vec<&Value> = ids.iter().map(|id| &ctx.resume_inputs()[id]).collect();
            Ok::<_, NodeError>(Yield::Output(label(ctx.node_name(), &json!([input.0, answers])).into()))
        }
    });
    node.rerun_on_resume(true)
}

fn asks(
    name: &str,
    trouble: Trouble,
    (count, due): (u8, Due),
    how: Asks,
    world: World,
) -> FunctionNode<Dynamic, String> {
    let node = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (trouble, world) = (trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            let mut answers = Vec::new();
            let questions = (0..count).map(|number| ctx.ask_with(asked(&ctx, number, due)));
            if matches!(how, Asks::Together) {
                answers = try_join_all(questions).await?;
            } else {
                for question in questions {
                    answers.push(question.await?);
                }
            }
            trouble.end(&ctx, &world)?;
            Ok::<_, NodeError>(label(ctx.node_name(), &json!([input.0, answers])))
        }
    });
    node.rerun_on_resume(true)
}

fn worker(name: &str, item: &Child, at_once: usize, retry: bool, world: &World) -> Arc<dyn Node> {
    fn wrap<N: Node>(node: N, at_once: usize, retry: bool) -> Arc<dyn Node> {
        let worker = ParallelWorker::new(node);
        let worker = if at_once > 0 { worker.max_workers(at_once) } else { worker };
        Arc::new(if retry { worker.retry(again()) } else { worker })
    }
    let (trouble, world) = (item.trouble.clone(), world.clone());
    match item.kind {
        PartKind::Value => wrap(value(name, trouble, 1, Writes::Nothing, world), at_once, retry),
        PartKind::Silent => wrap(quiet(name, trouble, false, world), at_once, retry),
        PartKind::Question { due } => wrap(returned(name, trouble, due, world), at_once, retry),
        PartKind::Asks { due } => wrap(asks(name, trouble, (1, due), Asks::Together, world), at_once, retry),
        PartKind::Workflow { asks } => wrap(small(name, trouble, asks, &world), at_once, retry),
    }
}

fn small(name: &str, trouble: Trouble, asks: bool, world: &World) -> Workflow {
    let mut wf = Workflow::builder(name);
    let calm = Trouble { pauses: 0, fails: 0, late: false };
    let first = wf.add(value("first", trouble, 0, Writes::Nothing, world.clone()));
    wf.edge(START, first);
    if asks {
        let asks = wf.add(returned("asks", calm.clone(), Due::Never, world.clone()));
        let last = wf.add(value("last", calm, 0, Writes::Nothing, world.clone()));
        wf.edge(first, asks).edge(asks, last);
    }
    wf.build().unwrap()
}

pub(crate) fn child(name: &str, part: &Child, world: &World) -> Arc<dyn Node> {
    let (trouble, world) = (part.trouble.clone(), world.clone());
    match part.kind {
        PartKind::Value => Arc::new(value(name, trouble, 1, Writes::Nothing, world)),
        PartKind::Silent => Arc::new(quiet(name, trouble, false, world)),
        PartKind::Question { due } => Arc::new(returned(name, trouble, due, world)),
        PartKind::Asks { due } => Arc::new(asks(name, trouble, (1, due), Asks::Together, world)),
        PartKind::Workflow { asks } => Arc::new(small(name, trouble, asks, &world)),
    }
}

/// The children of a parent and the options for running them.
#[derive(Clone)]
struct Family {
    children: Vec<Arc<dyn Node>>,
    together: bool,
    named: bool,
    sub_branch: bool,
    hands_over: bool,
}

impl Family {
    fn new(task: &Task, world: &World) -> Self {
        let Work::Parent { children, together, named, sub_branch, end } = &task.work else { unreachable!() };
        // Two children share a name, so their run ids are counted.
        let nodes = children.iter().enumerate();
        let nodes = nodes.map(|(index, part)| child(["c", "c", "d"][index % 3], part, world));
        // The delegate's output completes the parent, so nothing may run in parallel with the delegate.
        let hands_over = *end == ParentEnd::HandsOver;
        Self {
            children: nodes.collect(),
            together: *together && !hands_over,
            named: *named,
            sub_branch: *sub_branch,
            hands_over,
        }
    }

    fn options(&self, index: usize) -> RunOptions {
        let options = RunOptions::default().use_sub_branch(self.sub_branch);
        let options = options.use_as_output(self.hands_over && index + 1 == self.children.len());
        if self.named { options.run_id(format!("r{index}")).name(format!("x{index}")) } else { options }
    }

    /// Runs a child that fails, catches the failure and runs the other children instead.
    async fn plan_b(&self, ctx: &Context, world: &World, input: &Value) -> Result<Vec<Value>, NodeError> {
        let trouble = Trouble { pauses: 1, fails: u8::MAX, late: false };
        let plan_a = value("plan_a", trouble, 0, Writes::Nothing, world.clone());
        match ctx.run_node(&plan_a, input.clone(), RunOptions::default()).await {
            Ok(output) => Ok(vec![output.into_value()]),
            Err(_) => {
                ctx.emit(Event::message("plan B")).await?;
                self.run(ctx, input).await
            }
        }
    }

    async fn run(&self, ctx: &Context, input: &Value) -> Result<Vec<Value>, NodeError> {
        let calls = self.children.iter().enumerate().map(|(index, child)| {
            let input = NodeInput::json(label(&index.to_string(), input));
            (child, input, self.options(index))
        });
        if self.together {
            let calls: Vec<_> = calls.map(|(child, input, options)| ctx.run_node(&**child, input, options)).collect();
            return Ok(try_join_all(calls).await?.into_iter().map(NodeInput::into_value).collect());
        }
        let mut outputs = Vec::new();
        for (child, input, options) in calls {
            outputs.push(ctx.run_node(&**child, input, options).await?.into_value());
        }
        Ok(outputs)
    }
}

fn parent(name: &str, task: &Task, world: &World) -> FunctionNode<Dynamic, String> {
    // If a parent itself failed, its next attempt runs new children (R404), but a resume finds the old ones.
    let trouble = Trouble { late: task.trouble.late && !task.retry, ..task.trouble.clone() };
    let (family, world) = (Family::new(task, world), world.clone());
    let asks = matches!(task.work, Work::Parent { end: ParentEnd::Asks, .. });
    let catches = matches!(task.work, Work::Parent { end: ParentEnd::Catches, .. });
    let node = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (family, trouble, world) = (family.clone(), trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            let mut outputs =
                if catches { family.plan_b(&ctx, &world, &input.0).await? } else { family.run(&ctx, &input.0).await? };
            if asks {
                outputs.push(ctx.ask::<String>(&question(&ctx, 0), "?").await?.into());
            }
            trouble.end(&ctx, &world)?;
            Ok::<_, NodeError>(label(ctx.node_name(), &Value::Array(outputs)))
        }
    });
    node.rerun_on_resume(true)
}

fn hands_over(name: &str, task: &Task, world: &World) -> FunctionNode<Dynamic, Dynamic> {
    let trouble = Trouble { late: task.trouble.late && !task.retry, ..task.trouble.clone() };
    let (family, world) = (Family::new(task, world), world.clone());
    let node = FunctionNode::new(name, move |ctx: Context, Input(input): Input<Dynamic>| {
        let (family, trouble, world) = (family.clone(), trouble.clone(), world.clone());
        async move {
            trouble.begin(&ctx, &world).await?;
            family.run(&ctx, &input.0).await?;
            trouble.end(&ctx, &world)?;
            ctx.state().set(format!("h_{}", ctx.node_name()), label("", &input.0))?;
            Ok::<_, NodeError>(Dynamic(Value::Null))
        }
    });
    node.rerun_on_resume(true)
}
