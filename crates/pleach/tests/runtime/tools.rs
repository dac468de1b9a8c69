//! Tools as nodes: arguments, results, failures, hooks of plugins. They are sections 8b and 13.4 of the runtime's rules.
//!
//! Unless a comment gives another source, google-adk 2.13.0 printed the expected values for the same tools.

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pleach::prelude::*;
use pleach::{BoxFuture, Hook, InMemorySessionService, Map, Plugin, ToolResult};
use pleach_contract::CountedIds;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{runner, stored, trace};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Add {
    pub(crate) x: i64,
    #[serde(default = "two")]
    y: i64,
}

fn two() -> i64 {
    2
}

#[derive(Deserialize, JsonSchema)]
struct Both {
    x: i64,
    y: i64,
}

pub(crate) fn add() -> FunctionTool {
    tool("add", "Adds.", async |Args(a): Args<Add>| json!({"sum": a.x + a.y}))
}

fn add_both() -> FunctionTool {
    tool("add2", "Adds.", async |Args(a): Args<Both>| json!({"sum": a.x + a.y}))
}

/// A workflow that passes `input` to the tool.
pub(crate) fn fed(input: Value, tool: impl Tool) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let src = wf.node("src", move || std::future::ready(input.clone()));
    let tool = wf.tool(tool);
    wf.edge(START, src).edge(src.dynamic(), tool);
    wf.build().unwrap()
}

/// A workflow whose first node is the tool.
pub(crate) fn first(tool: impl Tool) -> Workflow {
    let mut wf = Workflow::builder("wf");
    let tool = wf.tool(tool);
    wf.edge(START, tool);
    wf.build().unwrap()
}

/// The last line of the trace of a run of `workflow`.
async fn last(workflow: Workflow, message: &str) -> String {
    let lines = trace(runner(workflow).0.run("ana", "s1", message)).await;
    lines.last().unwrap().clone()
}

#[tokio::test]
async fn e144_e147_r851_arguments_are_made_of_any_input() {
    let check = async |input: Value, tool: FunctionTool, expected: &str| {
        assert_eq!(last(fed(input.clone(), tool), "go").await, expected, "{input}");
    };
    let refused = |kind: &str| {
        format!(
            "! TypeError: The input to ToolNode must be a dictionary of tool arguments or None, but got <class '{kind}'>."
        )
    };
    check(json!({"x": 5}), add(), "wf@1/add@1: {\"sum\":7}").await;
    check(json!({"x": 5, "y": 1, "z": 0}), add(), "wf@1/add@1: {\"sum\":6}").await;
    // A single required parameter gets the input, whatever other parameters there are.
    check(json!(5), add(), "wf@1/add@1: {\"sum\":7}").await;
    check(json!("5"), add(), "wf@1/add@1: {\"sum\":7}").await;
    check(json!(" {\"x\": 4} "), add(), "wf@1/add@1: {\"sum\":6}").await;
    check(json!(5), add_both(), &refused("int")).await;
    check(json!(5.5), add_both(), &refused("float")).await;
    check(json!([1]), add_both(), &refused("list")).await;
    check(json!(true), add_both(), &refused("bool")).await;
    assert_eq!(last(first(add()), "{\"x\": 4}").await, "wf@1/add@1: {\"sum\":6}");
}

#[tokio::test]
async fn e146_a_tool_without_parameters_takes_nothing() {
    let none = || tool("none", "", async || json!({"ok": 1}));
    assert_eq!(last(fed(Value::Null, none()), "go").await, "wf@1/none@1: {\"ok\":1}");
    assert_eq!(last(first(none()), "  ").await, "wf@1/none@1: {\"ok\":1}");
    assert_eq!(last(first(none()), "{}").await, "wf@1/none@1: {\"ok\":1}");
    let refused = "The input to ToolNode must be a dictionary of tool arguments or None, but got <class 'str'>.";
    assert_eq!(last(first(none()), "hi").await, format!("! TypeError: {refused}"));
}

#[tokio::test]
async fn e145_required_parameters_come_from_the_state() {
    let mut wf = Workflow::builder("wf");
    let src = wf.node("src", async || pleach::Output::of(json!({"x": 1})).state("y", 7));
    let (both, maybe) = (wf.tool(add_both()), wf.tool(add()));
    wf.edge(START, src).edge(src.dynamic(), (both, maybe));
    let lines = trace(runner(wf.build().unwrap()).0.run("ana", "s1", "go")).await;
    // `y` of the other tool has a default, so the state is not searched for it.
    assert_eq!(lines[1..3], ["wf@1/add2@1 [add2@1]: {\"sum\":8}", "wf@1/add@1 [add@1]: {\"sum\":3}"]);
}

#[tokio::test]
async fn l107_missing_and_bad_arguments_are_reported_in_the_result() {
    let missing = "wf@1/add2@1: {\"error\":\"Invoking `add2()` failed as the following mandatory input parameters are not present:\\ny\\nYou could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.\"}";
    assert_eq!(last(fed(json!({"x": 1}), add_both()), "go").await, missing);
    // All bad arguments are named. No value is shown, because results are stored.
    let bad = "wf@1/add2@1: {\"error\":\"Invoking `add2()` failed due to argument validation errors:\\nParameter 'x': invalid type: string, expected i64\\nParameter 'y': invalid type: sequence, expected i64\\nYou could retry calling this tool with corrected argument types.\"}";
    assert_eq!(last(fed(json!({"x": "secret", "y": []}), add_both()), "go").await, bad);
    assert_eq!(last(fed(json!({"x": "1", "y": 2.0}), add_both()), "go").await, "wf@1/add2@1: {\"sum\":3}");
}

#[tokio::test]
async fn e136_a_tool_can_be_run_by_a_node() {
    let caller = FunctionNode::new("caller", async |ctx: Context| -> Result<Value, NodeError> {
        ctx.run(&ToolNode::new(add()), json!({"x": 1, "y": 2})).await
    });
    let (runner, _) = runner(caller.rerun_on_resume(true));
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["caller@1/add@1: {\"sum\":3}", "caller@1: {\"sum\":3}"]);
}

#[tokio::test]
async fn r853_no_result_is_an_event_and_null_downstream() {
    let mut wf = Workflow::builder("wf");
    let quiet = wf.tool(tool("quiet", "", async |ctx: ToolContext| ctx.state().set("did", true)));
    let after = wf.node("after", async |Input(given): Input<Dynamic>| json!({"got": given.0}));
    wf.edge(START, quiet).edge(quiet, after);
    let (runner, sessions) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "{}")).await;
    assert_eq!(stored(&sessions).await, ["wf@1/quiet@1: state {\"did\":true}", "wf@1/after@1: {\"got\":null}"]);
}

#[tokio::test]
async fn r850_every_attempt_is_the_same_call() {
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    let flaky = tool("flaky", "", move |ctx: ToolContext| {
        let seen = Arc::clone(&seen);
        async move {
            let mut ids = seen.lock().unwrap();
            ids.push(ctx.function_call_id().unwrap());
            if ids.len() < 3 { Err(NodeError::value("no")) } else { Ok(ctx.attempt_count()) }
        }
    });
    let mut wf = Workflow::builder("wf");
    let flaky = wf.add(ToolNode::new(flaky).name("renamed").retry(RetryConfig::default()));
    wf.edge(START, flaky);
    let lines = trace(runner(wf.build().unwrap()).0.run("ana", "s1", "{}")).await;
    assert_eq!(lines, ["wf@1/renamed@1: ValueError: no", "wf@1/renamed@1: ValueError: no", "wf@1/renamed@1: 3"]);
    let mut ids = ids.lock().unwrap().clone();
    assert_eq!(ids.len(), 3);
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn r410_an_attempt_has_a_time_limit() {
    let stuck = tool("stuck", "", async || std::future::pending::<i64>().await);
    let mut wf = Workflow::builder("wf");
    let stuck = wf.add(ToolNode::new(stuck).timeout(Duration::from_millis(50)));
    wf.edge(START, stuck);
    assert_eq!(last(wf.build().unwrap(), "{}").await, "! NodeTimeoutError: Node 'stuck' timed out after 0.05 seconds.");
}

#[tokio::test]
async fn r301_a_tool_whose_name_is_not_an_identifier_needs_another_name_as_a_node() {
    let dashed = || tool("get-weather", "", async || "sun");
    let mut wf = Workflow::builder("wf");
    let node = wf.tool(dashed());
    wf.edge(START, node);
    assert_eq!(wf.build().unwrap_err().rule(), "invalid_name");
    let mut wf = Workflow::builder("wf");
    let node = wf.add(ToolNode::new(dashed()).name("weather"));
    wf.edge(START, node);
    assert_eq!(last(wf.build().unwrap(), "{}").await, "wf@1/weather@1: \"sun\"");
}

#[tokio::test]
async fn r415_a_tool_fails_with_the_class_of_its_error() {
    async fn parse(Args(a): Args<Add>, _: ToolContext) -> Result<i64> {
        Ok("x".repeat(usize::try_from(a.x)?).parse()?)
    }
    assert_eq!(
        last(fed(json!(1), tool("parse", "", parse)), "go").await,
        "! ParseIntError: invalid digit found in string"
    );
    assert!(last(fed(json!(-1), tool("parse", "", parse)), "go").await.starts_with("! TryFromIntError: "));
}

struct Factor(i64);

#[tokio::test]
async fn tools_get_state_and_values_of_the_app() {
    #[derive(Deserialize)]
    struct Prefs {
        offset: Option<i64>,
    }
    let scaled = tool(
        "scaled",
        "",
        async |Args(a): Args<Add>, FromState(prefs): FromState<Prefs>, Shared(factor): Shared<Factor>| {
            a.x * factor.0 + prefs.offset.unwrap_or(1)
        },
    );
    let without = Runner::builder("t").root(first(scaled.clone())).build().unwrap_err();
    assert!(without.to_string().contains("Factor"), "{without}");
    let runner = Runner::builder("t").root(first(scaled)).provide(Factor(10)).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "4").output::<i64>().await.unwrap(), 41);
}

#[tokio::test]
async fn a_tool_can_ask_in_the_middle_and_run_nodes() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let priced = tool("priced", "", move |Args(a): Args<Add>, ctx: ToolContext| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            let price = FunctionNode::new("price", async |Input(x): Input<i64>| x * 100);
            let price: i64 = ctx.run(&price, a.x).await?;
            let off: i64 = ctx.ask("off", format!("How much off {price}?")).await?;
            Ok::<_, NodeError>(price - off)
        }
    });
    let (runner, sessions) = runner(first(priced));
    trace(runner.run("ana", "s1", "4")).await;
    assert_eq!(trace(runner.answer("s1", "off", 50).unwrap()).await, ["wf@1/priced@1: 350"]);
    let all = ["wf@1/priced@1/price@1: 400", "wf@1/priced@1: asks off", "wf@1/priced@1: 350"];
    assert_eq!(
        (stored(&sessions).await.as_slice(), calls.load(Ordering::Relaxed)),
        (all.map(String::from).as_slice(), 2)
    );
}

/// The action of a [`Spy`]'s hook on the arguments, the result or the error.
type Answer = fn(&mut Value) -> Option<Value>;

/// A plugin that records what its tool hooks see and answers as the test sets.
#[derive(Clone)]
pub(crate) struct Spy {
    name: &'static str,
    notes: Arc<Mutex<Vec<String>>>,
    before: Answer,
    after: Answer,
    error: Answer,
}

impl Spy {
    pub(crate) fn new(name: &'static str, notes: &Arc<Mutex<Vec<String>>>) -> Self {
        Self { name, notes: Arc::clone(notes), before: |_| None, after: |_| None, error: |_| None }
    }

    fn note(&self, hook: &str, what: impl fmt::Display) {
        self.notes.lock().unwrap().push(format!("{hook} {} {what}", self.name));
    }
}

impl Debug for Spy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Plugin for Spy {
    fn name(&self) -> &str {
        self.name
    }

    fn before_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        args: &'a mut Map,
        ctx: &'a ToolContext,
    ) -> Hook<'a, Option<Value>> {
        let answer = ctx.tool_confirmation().map(|answer| format!(" confirmed {}", answer.confirmed));
        let answer = answer.unwrap_or_default();
        self.note("before", format!("{} {}{answer}", tool.name(), Value::from(args.clone())));
        Some(Box::pin(async move {
            let mut value = Value::from(std::mem::take(args));
            let answer = (self.before)(&mut value);
            *args = value.as_object().cloned().ok_or("no arguments")?;
            Ok(answer)
        }))
    }

    fn after_tool<'a>(
        &'a self,
        _: &'a dyn Tool,
        args: &'a Map,
        _: &'a ToolContext,
        result: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        self.note("after", format!("{} {result}", Value::from(args.clone())));
        Some(Box::pin(async move { Ok((self.after)(&mut result.clone())) }))
    }

    fn on_tool_error<'a>(
        &'a self,
        _: &'a dyn Tool,
        _: &'a Map,
        _: &'a ToolContext,
        error: &'a NodeError,
    ) -> Hook<'a, Option<Value>> {
        self.note("error", format!("{}: {error}", error.class()));
        Some(Box::pin(async move { Ok((self.error)(&mut error.message().into())) }))
    }
}

pub(crate) fn spied(root: Workflow, spies: impl IntoIterator<Item = Spy>) -> (Runner, Arc<InMemorySessionService>) {
    let sessions = Arc::new(InMemorySessionService::new());
    let mut builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).ids(CountedIds::new());
    for spy in spies {
        builder = builder.plugin(spy);
    }
    (builder.build().unwrap(), sessions)
}

/// Runs `root` with two spies and returns the calls that they saw and the last event.
async fn played(root: Workflow, change: impl FnOnce(&mut Spy)) -> (Vec<String>, String) {
    let notes = Arc::default();
    let (mut a, b) = (Spy::new("a", &notes), Spy::new("b", &notes));
    change(&mut a);
    let lines = trace(spied(root, [a, b]).0.run("ana", "s1", "{}")).await;
    let seen = notes.lock().unwrap().clone();
    (seen, lines.last().unwrap().clone())
}

#[tokio::test]
async fn r852_plugins_see_a_call_answer_it_and_change_its_arguments() {
    let (seen, end) = played(fed(json!(5), add()), |_| {}).await;
    let after = |sum: i64, x: i64| ["a", "b"].map(|name| format!("after {name} {{\"x\":{x}}} {{\"sum\":{sum}}}"));
    assert_eq!(seen[..2], ["before a add {\"x\":5}", "before b add {\"x\":5}"]);
    assert_eq!((&seen[2..], end.as_str()), (after(7, 5).as_slice(), "wf@1/add@1: {\"sum\":7}"));

    // An empty object is an answer. The other plugin's hook before the tool is not called, but its hook after the tool is.
    let (seen, end) = played(fed(json!(5), add()), |a| a.before = |_| Some(json!({}))).await;
    assert_eq!(seen, ["before a add {\"x\":5}", "after a {\"x\":5} {}", "after b {\"x\":5} {}"]);
    assert_eq!(end, "wf@1/add@1: {}");

    // L101: later plugins and the tool see changed arguments. Null is not an answer.
    let change: Answer = |args| {
        args["x"] = json!(40);
        Some(Value::Null)
    };
    let (seen, end) = played(fed(json!(5), add()), |a| a.before = change).await;
    assert_eq!(seen[1], "before b add {\"x\":40}");
    assert_eq!((&seen[2..], end.as_str()), (after(42, 40).as_slice(), "wf@1/add@1: {\"sum\":42}"));

    let (seen, end) = played(fed(json!(5), add()), |a| a.after = |result| Some(json!({"r": result}))).await;
    assert_eq!((seen.len(), end.as_str()), (3, "wf@1/add@1: {\"r\":{\"sum\":7}}"));
}

#[tokio::test]
async fn r852_plugins_answer_failures() {
    let boom = || tool("boom", "", async || Err::<i64, _>(NodeError::new("KeyError", "'k'")));
    let (seen, end) = played(first(boom()), |_| {}).await;
    assert_eq!(seen[2..], ["error a KeyError: 'k'", "error b KeyError: 'k'"]);
    assert_eq!(end, "! KeyError: 'k'");

    let sorry: fn(&mut Spy) = |a| a.error = |error| Some(json!({"sorry": error}));
    let (seen, end) = played(first(boom()), sorry).await;
    let after = ["a", "b"].map(|name| format!("after {name} {{}} {{\"sorry\":\"'k'\"}}"));
    assert_eq!((seen[2].as_str(), &seen[3..]), ("error a KeyError: 'k'", after.as_slice()));
    assert_eq!(end, "wf@1/boom@1: {\"sorry\":\"'k'\"}");

    // A panic is a failure like any other.
    let panics = tool("panics", "", async || -> i64 { panic!("oh") });
    let (seen, end) = played(first(panics), sorry).await;
    assert_eq!(seen[2], "error a PanicError: the tool panicked: oh");
    assert_eq!(end, "wf@1/panics@1: {\"sorry\":\"the tool panicked: oh\"}");
}

#[tokio::test]
async fn l132_a_failing_hook_fails_the_node() {
    let (_, end) = played(fed(json!(5), add()), |a| {
        a.before = |args| {
            *args = Value::Null;
            None
        }
    })
    .await;
    assert_eq!(end, "! RuntimeError: Error in plugin 'a' during 'before_tool_callback' callback: no arguments");
}

/// A hand-written tool. Without a declaration it only takes objects.
struct Echo;

impl Tool for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn run<'a>(
        &'a self,
        args: &'a Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, std::result::Result<ToolResult, NodeError>> {
        Box::pin(async move { Ok(Value::from(args.clone()).into()) })
    }
}

#[tokio::test]
async fn a_tool_can_be_written_by_hand() {
    assert_eq!(last(fed(json!({"a": 1}), Echo), "go").await, "wf@1/echo@1: {\"a\":1}");
    assert!(last(fed(json!(1), Echo), "go").await.starts_with("! TypeError: The input to ToolNode"));
}
