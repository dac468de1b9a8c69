//! Models and tools that return texts, depths and numbers that no store accepts. A single character must never make a
//! tool's result get lost.

use std::sync::Arc;
use std::sync::Mutex;

use pleach::model::{LlmResponse, ScriptedReply};
use pleach::prelude::*;
use pleach::{
    AgentTool, BoxFuture, CallbackContext, CodeExecutor, CodeOutput, Content, FunctionCall, Hook,
    InMemoryArtifactService, InvocationContext, Map, Node, NodeTool, OutputFile, Part, Plugin, Session, SessionService,
    StateOp, ToolResult, UiWidget,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Number, Value, json};

use crate::agents::Count;
use crate::backends::{Backend, on_backends};
use crate::support::{key, runner, trace};

const NUL: &str = "a\0b";
const MENDED: &str = "a\u{fffd}b";

/// A value with one more level. It is not made with `json!`, which would copy and drop the inner value: dropping a deep
/// value overflows the stack.
fn within(is_list: bool, key: &str, inner: Value) -> Value {
    if is_list { Value::Array(vec![inner]) } else { Value::Object(Map::from_iter([(key.to_owned(), inner)])) }
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("x"), |inner, level| within(level % 2 == 1, "a", inner))
}

/// Runs a session to its end and returns the events as they were shown.
async fn shown(runner: &Runner, session: &str) -> Vec<Event> {
    let mut run = runner.run("ana", session, "go");
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if !event.is_partial() {
            events.push(Event::clone(&event));
        }
    }
    events
}

/// The events of a session as a new process loads them, without the user's events.
async fn loaded(sessions: &dyn SessionService, session: &str) -> Vec<Event> {
    let key = pleach::SessionKey::new("t", "ana", session);
    let Session { events, .. } = sessions.get_session(&key, Default::default()).await.unwrap().unwrap();
    events.iter().filter(|event| event.author() != "user").map(|event| Event::clone(event)).collect()
}

fn responses(events: &[Event]) -> Vec<Value> {
    let responses = events.iter().flat_map(Event::function_responses);
    responses.map(|response| response.response.clone().unwrap().into()).collect()
}

fn agent(model: ScriptedModel) -> pleach::LlmAgentBuilder {
    LlmAgent::builder("helper").model(model)
}

/// A response with a thought, a text and calls.
fn says(text: &str, calls: &[(&str, Value)]) -> LlmResponse {
    let thought = Part { thought: Some(true), ..Part::text(text) };
    let calls = calls.iter().enumerate().map(|(index, (name, args))| {
        let args = args.as_object().unwrap().clone();
        Part::function_call(FunctionCall::new(format!("{text}{index}"), *name, args))
    });
    LlmResponse::of(Content::new("model", [thought, Part::text(text)].into_iter().chain(calls)))
}

const LEVELS: std::ops::RangeInclusive<usize> = 118..=130;

/// A tool that returns a value with as many levels as its argument says.
fn deep(runs: &Count) -> FunctionTool {
    #[derive(Deserialize, JsonSchema)]
    struct Levels {
        levels: usize,
    }
    let runs = runs.clone();
    tool("deep", "Gives a deep value.", move |Args(Levels { levels }): Args<Levels>| {
        runs.add();
        async move { nested(levels) }
    })
}

async fn results_of_any_depth_leave_the_run_and_the_store_whole(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let levels: Vec<usize> = LEVELS.chain([10_000]).collect();
    let script =
        levels.iter().fold(ScriptedModel::new(), |model, levels| model.then_call("deep", json!({"levels": levels})));
    let runs = Count::default();
    let runner = place.builder().await.root(agent(script.then_text("done")).tool(deep(&runs)).build().unwrap());
    let events = shown(&runner.build().unwrap(), "s1").await;
    assert_eq!(events.last().unwrap().text(), "done");
    assert_eq!(runs.get() as usize, levels.len());
    for (levels, response) in levels.iter().zip(responses(&events)) {
        match *levels {
            // The model gets an object unchanged, and any other value as `{"result": …}`.
            ..=121 if levels % 2 == 1 => assert_eq!(response, nested(*levels)),
            ..=121 => assert_eq!(response, json!({"result": nested(*levels)})),
            _ => assert!(response["error"].as_str().unwrap().contains("nested more than 1"), "{levels}: {response}"),
        }
    }
    assert_eq!(loaded(&*place.open().await, "s1").await, events);
}

async fn nul_is_replaced_in_all_that_models_and_tools_say(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let runs = Count::default();
    let (counted, lookups) = (runs.clone(), runs.clone());
    let read = tool("read", "Reads.", move |ctx: ToolContext| {
        counted.add();
        async move {
            ctx.state().set(NUL, NUL)?;
            ctx.state().push("list", NUL)?;
            ctx.state().update(Map::from_iter([("many".to_owned(), json!([NUL]))]))?;
            ctx.state().modify("changed", |value| *value = json!({ NUL: NUL }))?;
            ctx.with_actions(|actions| actions.set_state("acted", NUL))?;
            assert_eq!(ctx.state().value(MENDED), Some(json!(MENDED)));
            assert_eq!(ctx.state().value("list"), Some(json!([MENDED])));
            Ok::<_, NodeError>(ToolResult::from(json!({ NUL: [NUL] })).with_bytes("text/\0plain", &b"\0"[..]))
        }
    });
    let look = tool("look", "Looks.", move || {
        lookups.add();
        async { NUL }
    });
    let script = ScriptedModel::new()
        .then(says(NUL, &[("read", json!({ NUL: NUL })), ("look", json!({})), ("none\0", json!({}))]))
        .then(ScriptedReply::responses([LlmResponse::error("CODE\0", NUL)]));
    let after_model = async |ctx: CallbackContext, response: &LlmResponse| {
        let text = response.content.as_ref().map(|content| content.text()).unwrap_or_default();
        ctx.state().set("said", text)?;
        Ok::<_, NodeError>(None)
    };
    let after_agent = async |_: CallbackContext| Ok::<_, NodeError>(Some(Content::model(NUL)));
    let root = agent(script).tool(read).tool(look).output_key("answer");
    let root = root.after_model(after_model).after_agent(after_agent).build().unwrap();
    let events = shown(&place.builder().await.root(root).build().unwrap(), "s1").await;
    assert_eq!(runs.get(), 2);
    let found = responses(&events);
    assert_eq!(found[..2], [json!({ MENDED: [MENDED] }), json!({ "result": MENDED })]);
    assert!(found[2]["error"].as_str().unwrap().contains("`none\u{fffd}()`"), "{found:?}");
    assert_eq!(events[events.len() - 2].error_message(), Some(MENDED));
    assert_eq!(events.last().unwrap().text(), MENDED);
    assert_eq!(events[0].content().unwrap().parts()[0].text.as_deref(), Some(MENDED));

    let sessions = place.open().await;
    assert_eq!(loaded(&*sessions, "s1").await, events);
    let state = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state;
    let expected = json!({
        MENDED: MENDED, "list": [MENDED], "many": [MENDED], "changed": {MENDED: MENDED}, "acted": MENDED,
        "said": "", "answer": MENDED,
    });
    assert_eq!(Value::from(state), expected);
}

async fn a_failure_whose_text_has_nul_is_stored(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let fails = tool("fails", "Fails.", async || Err::<(), _>(NodeError::new("Bad\0", NUL)));
    let root = agent(ScriptedModel::calling("fails", json!({}))).tool(fails).build().unwrap();
    let runner = place.builder().await.root(root).build().unwrap();
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().ends_with(MENDED), "{lines:?}");
    let last = loaded(&*place.open().await, "s1").await.pop().unwrap();
    assert_eq!(last.error_message(), Some(MENDED));
}

on_backends! {
    #[tokio::test]
    results_of_any_depth_leave_the_run_and_the_store_whole,
    nul_is_replaced_in_all_that_models_and_tools_say,
    a_failure_whose_text_has_nul_is_stored,
    texts_of_models_and_tools_are_loaded_as_they_were_shown,
}

/// Runs a root with sessions in memory and returns the events.
async fn events_of(root: impl Node) -> Vec<Event> {
    let (runner, sessions) = runner(root);
    let events = shown(&runner, "s1").await;
    assert_eq!(loaded(&*sessions, "s1").await, events);
    events
}

#[tokio::test]
async fn a_tool_node_outputs_the_result_of_its_tool() {
    let read = tool("read", "Reads.", async || NUL);
    let runs = Count::default();
    let mut wf = Workflow::builder("wf");
    let levels = wf.node("levels", async || json!({"levels": 122}));
    let (deep, read) = (wf.tool(deep(&runs)), wf.tool(read));
    wf.edge(START, levels).edge(levels, deep).edge(deep, read);
    let events = events_of(wf.build().unwrap()).await;
    let outputs: Vec<&Value> = events.iter().filter_map(|event| event.output()).collect();
    assert!(outputs[1]["error"].is_string(), "{outputs:?}");
    assert_eq!(outputs[2], MENDED);
    assert_eq!(runs.get(), 1);
}

#[tokio::test]
async fn agents_and_nodes_as_tools_return_their_replies() {
    let expert = LlmAgent::builder("expert").model(ScriptedModel::new().then(says(NUL, &[]))).build().unwrap();
    let node = FunctionNode::new("node", async |ctx: Context| {
        ctx.step("read", async || Ok(json!({ NUL: [NUL] }))).await as pleach::Result<Value, NodeError>
    });
    let script = ScriptedModel::new()
        .then_calls([("expert", json!({"request": "?"})), ("node", json!({"request": "?"}))])
        .then_text("done");
    let root = agent(script).tool(AgentTool::new(expert)).tool(NodeTool::new(node.rerun_on_resume(true)));
    let events = events_of(root.build().unwrap()).await;
    let expected = [json!({ "result": MENDED }), json!({ MENDED: [MENDED] })];
    assert_eq!(responses(&events), expected);
}

/// A code executor that prints text which no store accepts and saves a file whose name no store accepts.
struct Printer;

impl CodeExecutor for Printer {
    fn execute<'a>(&'a self, _: &'a CallbackContext, _: &'a str) -> BoxFuture<'a, Result<CodeOutput, NodeError>> {
        Box::pin(async { Ok(CodeOutput::printed(NUL).with_file(OutputFile::new("f\0.txt", Part::text("saved")))) })
    }
}

#[tokio::test]
async fn the_output_and_files_of_code_are_kept() {
    let script = ScriptedModel::saying("```python\nprint\n```").then_text("done");
    let root = agent(script).code_executor(Printer).build().unwrap();
    let sessions = Arc::new(pleach::InMemorySessionService::new());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions));
    let runner = builder.artifacts(InMemoryArtifactService::with_clock(Arc::new(pleach::SystemClock))).build().unwrap();
    let events = shown(&runner, "s1").await;
    assert_eq!(loaded(&*sessions, "s1").await, events);
    let result = events[1].content().unwrap().parts()[0].code_execution_result.as_ref().unwrap();
    assert!(result.output.as_ref().unwrap().contains(MENDED), "{result:?}");
    assert_eq!(events[1].actions().artifact_delta()["f\u{fffd}.txt"], 0);
    assert_eq!(events.last().unwrap().text(), "done");
}

/// A plugin that replaces results and texts with values that no store accepts.
#[derive(Debug)]
struct ReplacingPlugin;

impl Plugin for ReplacingPlugin {
    fn name(&self) -> &str {
        "spoiler"
    }

    fn after_tool<'a>(
        &'a self,
        tool: &'a dyn Tool,
        _: &'a Map,
        _: &'a ToolContext,
        _: &'a Value,
    ) -> Hook<'a, Option<Value>> {
        let other = if tool.name() == "deep" { nested(10_000) } else { json!(NUL) };
        Some(Box::pin(async { Ok(Some(other)) }))
    }

    fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
        let says = event.text() == "done";
        Some(Box::pin(async move { Ok(says.then(|| Event::message(Content::model(NUL)).with_state("k\0", NUL))) }))
    }
}

#[tokio::test]
async fn replacements_by_plugins_for_results_and_events_are_kept() {
    let runs = Count::default();
    let read = tool("read", "Reads.", async || "fine");
    let script =
        ScriptedModel::new().then_calls([("deep", json!({"levels": 1})), ("read", json!({}))]).then_text("done");
    let root = agent(script).tool(deep(&runs)).tool(read).build().unwrap();
    let sessions = Arc::new(pleach::InMemorySessionService::new());
    let builder = Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).plugin(ReplacingPlugin);
    let events = shown(&builder.build().unwrap(), "s1").await;
    assert_eq!(loaded(&*sessions, "s1").await, events);
    let found = responses(&events);
    assert!(found[0]["error"].is_string() && found[1] == json!({ "result": MENDED }), "{found:?}");
    let last = events.last().unwrap();
    assert_eq!((last.text().as_str(), &last.actions().state_delta()["k\u{fffd}"]), (MENDED, &json!(MENDED)));
}

#[tokio::test]
async fn questions_of_tools_are_kept() {
    let asks = tool("asks", "Asks.", async |ctx: ToolContext| {
        let deep: Vec<bool> =
            LEVELS.map(|levels| ctx.request_confirmation("?", Some(nested(levels))).is_err()).collect();
        assert_eq!(deep, LEVELS.map(|levels| levels > 119).collect::<Vec<_>>());
        ctx.request_confirmation(NUL, Some(json!({ NUL: [NUL] })))
    });
    let events = events_of(agent(ScriptedModel::calling("asks", json!({}))).tool(asks).build().unwrap()).await;
    let question = events.iter().flat_map(Event::questions).next().unwrap();
    let shown = serde_json::to_string(&question.payload).unwrap();
    assert!(shown.contains(&format!("\"hint\":\"{MENDED}\"")), "{shown}");
}

/// No tool has run then, and the error names the argument that does not fit.
#[tokio::test]
async fn arguments_that_nest_too_deep_call_nothing() {
    for levels in LEVELS.chain([400]) {
        let runs = Count::default();
        let args =
            Value::Object(Map::from_iter([("levels".to_owned(), json!(1)), ("more".to_owned(), nested(levels))]));
        let script = ScriptedModel::new().then(says("?", &[("deep", args)])).then_text("done");
        let (runner, sessions) = runner(agent(script).tool(deep(&runs)).build().unwrap());
        let lines = trace(runner.run("ana", "s1", "go")).await;
        let last = lines.last().unwrap();
        let expected =
            if levels > 121 { "! ValueError: the response of the model: content.parts" } else { "helper@1: says done" };
        assert!(last.starts_with(expected), "{levels}: {last}");
        assert_eq!(runs.get(), u32::from(levels <= 121));
        loaded(&*sessions, "s1").await;
    }
}

/// A result without a JSON form does not make the tool run again.
#[tokio::test]
async fn a_result_without_json_form_is_an_error_for_the_model() {
    let nan = tool("nan", "Divides.", async || f64::NAN);
    let events =
        events_of(agent(ScriptedModel::calling("nan", json!({})).then_text("done")).tool(nan).build().unwrap()).await;
    assert!(responses(&events)[0]["error"].as_str().unwrap().contains("no JSON form"));
    assert_eq!(events.last().unwrap().text(), "done");
}

/// State that is nested too deep is refused when it is set, and not later when the event is stored. So the tool can
/// handle the error.
#[tokio::test]
async fn state_of_any_depth_leaves_the_run_whole() {
    let sets = tool("sets", "Sets.", async |ctx: ToolContext| {
        let mut refused = Vec::new();
        for levels in LEVELS {
            let state = ctx.state();
            let set = state.set(format!("set{levels}"), nested(levels)).is_err();
            let push = state.apply("list", StateOp::Push(vec![nested(levels)])).is_err();
            let modify = state.modify("changed", |value| *value = nested(levels)).is_err();
            let payload = Map::from_iter([("p".to_owned(), nested(levels))]);
            let widget = UiWidget { id: format!("w{levels}"), provider: "mcp".to_owned(), payload };
            refused.push((levels, set, push, modify, ctx.render_ui_widget(widget).is_err()));
        }
        refused
    });
    let events =
        events_of(agent(ScriptedModel::calling("sets", json!({})).then_text("done")).tool(sets).build().unwrap()).await;
    let expected: Vec<_> =
        LEVELS.map(|levels| (levels, levels > 124, levels > 123, levels > 124, levels > 122)).collect();
    assert_eq!(responses(&events)[0], json!({ "result": expected }));
}

/// A model writes JSON with escapes that Rust strings cannot hold.
#[tokio::test]
async fn a_structured_answer_is_read_with_its_repairs() {
    #[derive(serde::Serialize, Deserialize, JsonSchema)]
    struct Answer {
        text: String,
        id: i128,
    }
    let said = "{\"text\": \"a\\u0000\\ud83d\nb\", \"id\": 1234567890123456789012345}";
    let root = agent(ScriptedModel::saying(said)).output_schema::<Answer>().output_key("answer").build().unwrap();
    let events = events_of(root).await;
    let expected = json!({"text": "a\u{fffd}\u{fffd}\nb", "id": "1234567890123456789012345"});
    assert_eq!(events[0].actions().state_delta()["answer"], expected);
}

#[tokio::test]
async fn integers_beyond_64_bits_reach_the_parameters_that_hold_them() {
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Big {
        text: String,
        exact: i128,
        float: f64,
        #[schemars(with = "Value")]
        any: Number,
        value: Value,
    }
    #[derive(Deserialize, JsonSchema)]
    struct Small {
        #[expect(dead_code, reason = "no answer ever fits")]
        id: i64,
    }
    const DIGITS: &str = "1234567890123456789012345";
    let got = Arc::new(Mutex::new(Vec::new()));
    let keeps = Arc::clone(&got);
    let big = tool("big", "Takes big numbers.", move |Args(big): Args<Big>| {
        keeps.lock().unwrap().push(format!("{} {} {} {} {}", big.text, big.exact, big.float, big.any, big.value));
        async {}
    });
    let small = tool("small", "Takes small numbers.", async |Args(_): Args<Small>| "ran");
    let node = FunctionNode::new("node", async |Input(id): Input<u128>| id);
    let args = json!({"text": DIGITS, "exact": DIGITS, "float": DIGITS, "any": DIGITS, "value": DIGITS});
    let calls = [("big", args), ("small", json!({"id": DIGITS})), ("node", json!({"request": DIGITS}))];
    let root = agent(ScriptedModel::new().then_calls(calls).then_text("done")).tool(big).tool(small);
    let events = events_of(root.tool(NodeTool::new(node)).build().unwrap()).await;
    let expected = format!("{DIGITS} {DIGITS} 1234567890123456800000000 1.2345678901234568e+24 \"{DIGITS}\"");
    assert_eq!(*got.lock().unwrap(), [expected]);
    let found = responses(&events);
    let error = found[1]["error"].as_str().unwrap();
    assert!(
        error.contains(
            "Parameter 'id': invalid value: integer, expected i64 from -9223372036854775808 to 9223372036854775807"
        ),
        "{error}"
    );
    assert_eq!(found[2], json!({ "result": DIGITS }));
}

/// The results of tools and the texts of models in one run.
#[derive(Clone, Debug)]
struct ScriptedRun {
    results: Vec<Value>,
    text: String,
    thought: String,
    state: Value,
}

fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\0",
        "\u{1}",
        "\u{1f}",
        "\u{7f}",
        "\\ud83d",
        "\\u0000",
        "\u{fffd}",
        "\u{ffff}",
        "\u{1f600}",
        "\"",
        "\\",
        "\n",
        "a",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn values() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| json!(f64::from(eighths) / 8.0 + 0.0625)),
        "-?[1-9][0-9]{18,40}".prop_map(Value::from),
    ];
    let leaf =
        prop_oneof![texts().prop_map(Value::from), number, Just(Value::Null), any::<bool>().prop_map(Value::from)];
    let flat = leaf.prop_recursive(3, 12, 3, |inner| {
        let members =
            prop::collection::vec((texts(), inner.clone()), 0..3).prop_map(|members| members.into_iter().collect());
        prop_oneof![prop::collection::vec(inner, 0..3).prop_map(Value::from), members.prop_map(Value::Object)]
    });
    let levels = prop_oneof![3 => Just(0), 2 => 114_usize..130, 1 => Just(400)];
    (flat, levels, any::<bool>())
        .prop_map(|(flat, levels, lists)| (0..levels).fold(flat, |inner, _| within(lists, "a\0", inner)))
}

fn said() -> impl Strategy<Value = ScriptedRun> {
    (prop::collection::vec(values(), 1..4), texts(), texts(), values())
        .prop_map(|(results, text, thought, state)| ScriptedRun { results, text, thought, state })
}

/// Plays `said` and returns the number of calls of the tool and the events as they were shown.
async fn play(said: &ScriptedRun, runner: pleach::RunnerBuilder, session: &str) -> (u32, Vec<Event>) {
    let runs = Count::default();
    let (counted, results, state) = (runs.clone(), said.results.clone(), said.state.clone());
    let give = tool("give", "Gives.", move |ctx: ToolContext| {
        let result = results[counted.get() as usize].clone();
        counted.add();
        // State that is nested too deep is refused here with its key.
        let set = ctx.state().set("given\0", state.clone());
        assert!(set.is_ok() || set.unwrap_err().message().contains("nested more than 1"));
        async move { ToolResult::from(result) }
    });
    let mut script = ScriptedModel::new();
    for _ in &said.results {
        let thought = Part { thought: Some(true), ..Part::text(&*said.thought) };
        let call = FunctionCall::new("", "give", Map::from_iter([(said.text.clone(), json!(said.thought))]));
        let parts = [thought, Part::text(&*said.text), Part::function_call(call)];
        script = script.then(LlmResponse::of(Content::new("model", parts)));
    }
    let root = agent(script.then_text("done")).tool(give).output_key("answer").build().unwrap();
    let events = shown(&runner.root(root).build().unwrap(), session).await;
    (runs.get(), events)
}

async fn texts_of_models_and_tools_are_loaded_as_they_were_shown(backend: Backend) {
    let Some(place) = backend.place().await else { return };
    let cases = match backend {
        Backend::Memory => 150,
        Backend::SqliteLite | Backend::SqliteV1 => 30,
        Backend::Postgres => 15,
    };
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for case in 0..cases {
        let said = said().new_tree(&mut runner).unwrap().current();
        let session = format!("s{case}");
        let (runs, events) = play(&said, place.builder().await, &session).await;
        assert_eq!(runs as usize, said.results.len(), "every call runs once: {said:?}");
        assert_eq!(events.last().unwrap().text(), "done", "{said:?}");
        assert_eq!(loaded(&*place.open().await, &session).await, events, "{said:?}");
    }
}
