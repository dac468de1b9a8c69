//! The calls that a model makes: their ids, the nodes that they run, and calls that fail or are cut off.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::model::{LlmRequest, LlmResponse};
use pleach::prelude::*;
use pleach::{
    AgentMode, AgentTool, AuthConfig, Content, FunctionCall, FunctionResponse, Hook, InvocationContext,
    LlmAgentBuilder, Map, NodeError, NodeTool, Plugin, RunOptions, RunRequest, SessionServiceExt as _, to_camel,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents::{Count, cut_everywhere, left};
use crate::support::{key, runner, runner_of_app, trace};

/// A response that calls functions under ids of the provider.
fn calling(calls: &[(&str, &str, Value)]) -> LlmResponse {
    LlmResponse::calls(calls.iter().map(|(id, name, args)| {
        let Value::Object(args) = args.clone() else { panic!("arguments are an object") };
        FunctionCall::new(*id, *name, args)
    }))
}

fn agent(model: &Arc<ScriptedModel>) -> LlmAgentBuilder {
    LlmAgent::builder("helper").model(Arc::clone(model))
}

/// The function calls and responses of a request, each as id and arguments or result.
fn exchanged(request: &LlmRequest) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for content in &request.contents {
        for part in content.parts() {
            if let Some(call) = &part.function_call {
                all.push((call.id.clone().unwrap(), json!(call.args)));
            }
            if let Some(response) = &part.function_response {
                all.push((response.id.clone().unwrap(), json!(response.response)));
            }
        }
    }
    all
}

#[derive(Deserialize, JsonSchema)]
struct Number {
    x: i64,
}

/// A tool that runs a node twice.
fn runs_a_node() -> FunctionTool {
    let double = FunctionNode::new("double", async |Input(x): Input<i64>| 2 * x);
    tool("twice", "Doubles twice.", move |Args(Number { x }): Args<Number>, ctx: ToolContext| {
        let double = double.clone();
        async move {
            let once: i64 = ctx.run(&double, x).await?;
            ctx.run(&double, once).await
        }
    })
}

// The path of a node that a tool runs follows from the call, so a resume finds the runs of the same call.
#[tokio::test]
async fn nodes_that_a_tool_runs_are_found_again_by_its_call() {
    let script = || {
        let twice = |id: &'static str, x: i64| (id, "twice", json!({"x": x}));
        ScriptedModel::new()
            .then(calling(&[twice("c1", 1), twice("c2", 10)]))
            .then(calling(&[twice("c3", 100)]))
            .then_text("done")
    };
    // A run that was cut off before its event was stored is repeated, so the runs are not counted.
    cut_everywhere(|_| agent(&Arc::new(script())).tool(runs_a_node()).build().unwrap()).await;
    let model = Arc::new(script());
    let tools = agent(&model).tool(runs_a_node());
    trace(runner(tools.build().unwrap()).0.run("ana", "s1", "go")).await;
    let results: Vec<Value> = exchanged(&model.requests()[2]).into_iter().map(|(_, value)| value).collect();
    assert_eq!(
        (&results[2], &results[3], &results[5]),
        (&json!({"result": 4}), &json!({"result": 40}), &json!({"result": 400}))
    );
}

// Call ids that providers repeat or number are sent back unchanged, and each call gets its own result.
#[tokio::test]
async fn repeated_and_numbered_call_ids_are_safe() {
    let negate = || FunctionNode::new("negate", async |Input(x): Input<i64>| -x);
    let square = || tool("square", "Squares.", async |Args(Number { x }): Args<Number>| x * x);
    for id in ["1", "functions.worker:0", "a/b@c"] {
        let script = || {
            let both = |x: i64| calling(&[(id, "negate", json!({"request": x})), (id, "square", json!({"x": x}))]);
            ScriptedModel::new().then(both(2)).then(both(3)).then_text("done")
        };
        let model = Arc::new(script());
        let root = agent(&model).tool(NodeTool::new(negate())).tool(square()).build().unwrap();
        let lines = trace(runner(root).0.run("ana", "s1", "go")).await;
        assert!(lines.last().unwrap().contains("done"), "{id}: {lines:#?}");
        let expected: Vec<(String, Value)> = [
            json!({"request": 2}),
            json!({"x": 2}),
            json!({"result": -2}),
            json!({"result": 4}),
            json!({"request": 3}),
            json!({"x": 3}),
            json!({"result": -3}),
            json!({"result": 9}),
        ]
        .map(|value| (id.to_owned(), value))
        .into();
        assert_eq!(exchanged(&model.requests()[2]), expected, "{id}");
        cut_everywhere(|_| agent(&Arc::new(script())).tool(NodeTool::new(negate())).tool(square()).build().unwrap())
            .await;
    }
}

// L41, L185: events of a sub-agent or a node on the branch of a call are hidden from the calling agent, whatever the id looks
// like.
#[tokio::test]
async fn l41_events_on_the_branch_of_a_call_are_hidden_for_any_id() {
    for id in ["c1", "1", "functions.worker:0"] {
        let child = LlmAgent::builder("child").mode(AgentMode::SingleTurn).model(ScriptedModel::saying("whispered"));
        let talks = FunctionNode::new("talks", async || Event::message("whispered"));
        let calls = calling(&[(id, "child", json!({"request": "go"})), (id, "talks", json!({"request": "go"}))]);
        let model = Arc::new(ScriptedModel::new().then(calls).then_text("done").then_text("later"));
        let root = agent(&model).sub_agent(child.build().unwrap()).tool(NodeTool::new(talks)).build().unwrap();
        let (runner, _) = runner(root);
        let lines = trace(runner.run("ana", "s1", "go")).await;
        assert!(lines.last().unwrap().contains("done"), "{id}: {lines:#?}");
        trace(runner.run("ana", "s1", "more")).await;
        let texts = |request: &LlmRequest| -> Vec<String> {
            let parts = request.contents.iter().flat_map(|content| content.parts());
            parts.filter_map(|part| part.text.clone()).collect()
        };
        let requests = model.requests();
        assert_eq!(
            (texts(&requests[1]), texts(&requests[2])),
            (vec!["go".into()], vec!["go".into(), "done".into(), "more".into()]),
            "{id}"
        );
    }
}

fn last_response(model: &ScriptedModel) -> Value {
    let last = model.requests().pop().unwrap();
    to_camel(&last.contents.last().unwrap()).unwrap()["parts"][0]["functionResponse"]["response"].clone()
}

// L102, L107: the model gets its mistakes back as errors, and the run continues.
#[tokio::test]
async fn l102_l107_wrong_calls_are_answered_as_errors() {
    for (name, args, expected) in [
        ("square", json!({"x": {"y": 1}}), "x"),
        ("square", json!({}), "x"),
        ("nothing", json!({"x": 1}), "square"),
        ("", json!({}), "square"),
    ] {
        let count = Count::default();
        let counted = count.clone();
        let square = tool("square", "Squares.", move |Args(Number { x }): Args<Number>| {
            counted.add();
            async move { x * x }
        });
        let model = Arc::new(ScriptedModel::new().then(calling(&[("c1", name, args)])).then_text("done"));
        let lines = trace(runner(agent(&model).tool(square).build().unwrap()).0.run("ana", "s1", "go")).await;
        assert!(lines.last().unwrap().contains("done"), "{name}: {lines:#?}");
        let error = last_response(&model)["error"].as_str().unwrap().to_owned();
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(count.get(), 0);
    }
    // A call without arguments and without a name, as a faulty provider sends it.
    let response = LlmResponse::calls([FunctionCall { id: Some("c1".into()), ..FunctionCall::default() }]);
    let model = Arc::new(ScriptedModel::new().then(response).then_text("done"));
    let lines = trace(runner(agent(&model).build().unwrap()).0.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().contains("done"), "{lines:#?}");
}

// L103: a tool that panics fails the run like a tool that returns an error, and hooks can answer in its place.
#[tokio::test]
async fn l103_a_tool_that_panics_fails_or_is_answered_for() {
    let panics = || tool("panics", "Panics.", async || -> i64 { panic!("oh") });
    let model = || Arc::new(ScriptedModel::calling("panics", json!({})).then_text("done"));
    let (fails, sessions) = runner(agent(&model()).tool(panics()).build().unwrap());
    let lines = trace(fails.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().starts_with("! PanicError: the tool panicked: oh"), "{lines:#?}");
    assert!(left(&sessions).await.0.last().unwrap().starts_with("helper helper@1"), "{:#?}", left(&sessions).await.0);

    let model = model();
    let answered =
        agent(&model).tool(panics()).on_tool_error(async |_: &dyn Tool, _: &Map, _: ToolContext, error: &NodeError| {
            Ok::<_, NodeError>(Some(json!({"sorry": error.message()})))
        });
    trace(runner(answered.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert_eq!(last_response(&model), json!({"sorry": "the tool panicked: oh"}));
}

/// A tool that hangs for the first `times` calls and records the ids of its calls.
fn hanging(times: u32, seen: &Arc<std::sync::Mutex<Vec<String>>>) -> FunctionTool {
    let (calls, seen) = (Arc::new(AtomicU32::new(0)), Arc::clone(seen));
    tool("slow", "Is slow.", move |ctx: ToolContext| {
        let nth = calls.fetch_add(1, Ordering::Relaxed);
        seen.lock().unwrap().push(ctx.function_call_id().unwrap());
        async move {
            if nth < times {
                std::future::pending::<()>().await;
            }
            "slow at last"
        }
    })
}

// A resume repeats a call that was cancelled with its run, under the same id. It does not repeat a call that has its response.
#[tokio::test]
async fn a_tool_that_is_cancelled_is_called_again_on_resume() {
    let (seen, count) = (Arc::default(), Count::default());
    let script = ScriptedModel::calling("quick", json!({})).then_calls([("slow", json!({}))]).then_text("done");
    let (model, counted) = (Arc::new(script), count.clone());
    let quick = tool("quick", "Is quick.", move || {
        counted.add();
        async { 1 }
    });
    let (runner, _) = runner(agent(&model).tool(quick).tool(hanging(1, &seen)).build().unwrap());
    let mut run = runner.run("ana", "s1", "go");
    let mut invocation = None;
    for _ in 0..3 {
        invocation = Some(run.next().await.unwrap().unwrap().invocation_id().clone());
    }
    // The tool hangs, so the caller gives up.
    assert!(futures::FutureExt::now_or_never(run.next()).is_none());
    drop(run);
    let lines = trace(runner.start(RunRequest::new(key()).invocation_id(invocation.unwrap()))).await;
    assert!(lines.last().unwrap().contains("done"), "{lines:#?}");
    let seen = seen.lock().unwrap();
    assert_eq!((seen.len(), seen[0] == seen[1], count.get(), model.requests().len()), (2, true, 1, 3));
}

/// A tool that needs an API key and returns it.
fn keyed(name: &str) -> FunctionTool {
    let config = AuthConfig::new(json!({
        "authScheme": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "rawAuthCredential": {"authType": "apiKey"},
    }));
    tool(name, "Needs a key.", move |ctx: ToolContext| {
        let config = config.clone();
        async move {
            match ctx.get_auth_response(&config) {
                Some(credential) => Ok(json!(credential)),
                None => ctx.request_credential(config).map(|()| json!("no key yet")),
            }
        }
    })
}

// L118: calls that need the same credential ask for it once, and each call is made again when the credential has come.
#[tokio::test]
async fn l118_calls_that_need_one_credential_all_get_it() {
    let calls = calling(&[("c1", "first", json!({})), ("c2", "second", json!({}))]);
    let model = Arc::new(ScriptedModel::new().then(calls).then_text("done"));
    let (runner, _) = runner(agent(&model).tool(keyed("first")).tool(keyed("second")).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let open = runner.questions(key()).await.unwrap();
    assert_eq!(open.len(), 1);
    let lines = trace(runner.answer(key(), &open[0], "hush").unwrap()).await;
    assert!(lines.last().unwrap().contains("done"), "{lines:#?}");
    assert_eq!(model.requests().len(), 2);
    let given: Vec<Value> = exchanged(&model.requests()[1]).into_iter().map(|(_, value)| value).skip(2).collect();
    assert_eq!(given.len(), 2);
    assert!(given.iter().all(|given| given["apiKey"] == "hush" || given["api_key"] == "hush"), "{given:?}");
}

// L118: a call may ask for several things one after the other. In the end it has all of them, and asks for none of them
// twice.
#[tokio::test]
async fn l118_a_call_keeps_the_answers_to_its_earlier_requests() {
    let model = Arc::new(ScriptedModel::calling("needs", json!({})).then_text("done"));
    let needs = keyed("needs").require_confirmation();
    let (runner, sessions) = runner(agent(&model).tool(needs).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    for answer in [json!({"confirmed": true}), json!("hush")] {
        let open = runner.questions(key()).await.unwrap();
        assert_eq!(open.len(), 1);
        trace(runner.answer(key(), &open[0], answer).unwrap()).await;
    }
    assert!(runner.questions(key()).await.unwrap().is_empty());
    assert_eq!(model.requests().len(), 2);
    let stored = left(&sessions).await.0.concat();
    assert_eq!(stored.matches("adk_request_confirmation").count(), 1, "{stored}");
}

// L196: the events of an agent tool pass the `on_event` hooks, and the changes of the hooks apply.
#[tokio::test]
async fn l196_plugins_see_and_change_the_events_of_an_agent_tool() {
    #[derive(Debug, Default)]
    struct Shouts(Arc<std::sync::Mutex<Vec<String>>>);

    impl Plugin for Shouts {
        fn name(&self) -> &str {
            "shouts"
        }

        fn on_event<'a>(&'a self, _: &'a InvocationContext, event: &'a Event) -> Hook<'a, Option<Event>> {
            self.0.lock().unwrap().push(format!("{}: {}", event.author(), event.text()));
            let shouted = (event.author() == "expert").then(|| Event::message(event.text().to_uppercase()));
            Some(Box::pin(async move { Ok(shouted) }))
        }
    }

    let expert = LlmAgent::builder("expert").model(ScriptedModel::saying("forty-two")).build().unwrap();
    let model = Arc::new(ScriptedModel::calling("expert", json!({"request": "?"})).then_text("done"));
    let root = agent(&model).tool(AgentTool::new(expert)).build().unwrap();
    let seen = Arc::default();
    let runner = Runner::builder("app").root(root).plugin(Shouts(Arc::clone(&seen))).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    let seen = seen.lock().unwrap();
    assert!(seen.contains(&"expert: forty-two".to_owned()), "{seen:?}");
    assert_eq!(last_response(&model), json!({"result": "FORTY-TWO"}));
}

// The id of a tool node's call follows from its path and invocation, so a retry and a resume use the same id.
#[tokio::test]
async fn the_call_id_of_a_tool_node_is_stable() {
    let seen: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let flaky = tool("flaky", "Fails at first.", move |ctx: ToolContext| {
        let mut seen = noted.lock().unwrap();
        seen.push(ctx.function_call_id().unwrap());
        let fails = seen.len() == 1;
        async move { if fails { Err(NodeError::value("not yet")) } else { Ok(1) } }
    });
    let node = ToolNode::new(flaky).retry(pleach::RetryConfig::default());
    let mut wf = Workflow::builder("wf");
    let node = wf.add(node);
    wf.edge(START, node);
    let (runner, _) = runner(wf.build().unwrap());
    let mut run = runner.run("ana", "s1", "");
    let invocation = run.next().await.unwrap().unwrap().invocation_id().clone();
    while run.next().await.is_some() {}
    drop(run);
    trace(runner.run("ana", "s1", "")).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[..2], [format!("{invocation}:wf@1/flaky@1"), format!("{invocation}:wf@1/flaky@1")]);
    assert_ne!(seen[1], seen[2]);
}

/// The agent of a task. It calls `look` with the call id `id` and then asks the user.
fn asking_worker(id: &str, model_says: &[&str]) -> (Arc<ScriptedModel>, pleach::LlmAgent) {
    let looks = ScriptedModel::new().then(calling(&[(id, "look", json!({}))]));
    let model = model_says.iter().fold(looks, |model, text| model.then_text(*text));
    let model = Arc::new(model.then_call("finish_task", json!({"result": "large"})));
    let worker = LlmAgent::builder("worker").mode(AgentMode::Task).model(Arc::clone(&model));
    (model, worker.tool(tool("look", "Looks.", async || 1)).build().unwrap())
}

// R1210: if a provider numbers the calls of each response, a call of the task has the same id as the task.
#[tokio::test]
async fn r1210_a_task_is_not_ended_by_a_call_of_its_own_with_its_id() {
    let (_, worker) = asking_worker("call_0", &["Which size?"]);
    let script = ScriptedModel::new()
        .then(calling(&[("call_0", "look", json!({}))]))
        .then(calling(&[("call_0", "worker", json!({"request": "paint"}))]))
        .then_text("Painted.")
        .then_text("You are welcome.");
    let model = Arc::new(script);
    let root = agent(&model).tool(tool("look", "Looks.", async || 1)).sub_agent(worker).build().unwrap();
    let (runner, _) = runner(root);
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Which size?");
    assert_eq!(runner.run("ana", "s1", "the large one").reply().await.unwrap(), "Painted.");
    // If the client repeats a response, this opens no task.
    let late = FunctionResponse::new("call_0", "look", Map::new());
    let mut session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    let scope = session.events.iter().find_map(|event| event.isolation_scope().map(str::to_owned));
    let mut event = Event::from_author("user").with_content(Content::new("user", [Part::function_response(late)]));
    event.set_isolation_scope(scope.as_deref().map(Into::into));
    runner.sessions().append_event(&mut session, event).await.unwrap();
    trace(runner.run("ana", "s1", "thanks")).await;
    assert_eq!(model.requests().len(), 4);
    let (id, result) = exchanged(&model.requests()[2]).pop().unwrap();
    assert_eq!((id.as_str(), result), ("call_0", json!({"result": "large"})));
}

// R1210: even if a run loads only the newest events, it finds the invocation of an open task.
#[tokio::test]
async fn r1210_a_task_continues_though_the_run_loads_few_events() {
    let (_, worker) = asking_worker("w1", &["Which size?"]);
    let model = Arc::new(ScriptedModel::calling("worker", json!({"request": "paint"})).then_text("Painted."));
    let (runner, _) = runner(agent(&model).sub_agent(worker).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Which size?");
    let mut config = pleach::RunConfig::default();
    config.get_session_config.num_recent_events = Some(1);
    let request = RunRequest::new(key()).message("the large one").config(config);
    assert_eq!(runner.start(request).reply().await.unwrap(), "Painted.");
}

// L55: a task belongs to its own call, even if an earlier call had the same id.
#[tokio::test]
async fn l55_a_task_belongs_to_the_latest_call_with_its_id() {
    let worker_model = Arc::new(ScriptedModel::calling("finish_task", json!({"result": "ok"})).repeating());
    let worker = LlmAgent::builder("worker").mode(AgentMode::Task).model(Arc::clone(&worker_model)).build().unwrap();
    let delegate = |what: &str| calling(&[("call_0", "worker", json!({"request": what}))]);
    let script = ScriptedModel::new().then(delegate("A")).then_text("a").then(delegate("B")).then_text("b");
    let (runner, _) = runner(agent(&Arc::new(script)).sub_agent(worker).build().unwrap());
    for message in ["one", "two"] {
        trace(runner.run("ana", "s1", message)).await;
    }
    let first = |request: &LlmRequest| request.contents[0].text();
    let tasks: Vec<String> = worker_model.requests().iter().map(first).collect();
    assert_eq!(tasks, ["{\"request\": \"A\"}", "{\"request\": \"B\"}"]);
}

// L120: after the task of a batch has its result, the model still reads the status of the job.
#[tokio::test]
async fn l120_a_task_in_a_batch_with_a_job_has_the_same_result_wherever_it_is_cut_off() {
    cut_everywhere(|_: &Count| {
        let worker_model = ScriptedModel::calling("finish_task", json!({"result": "ok"})).repeating();
        let worker = LlmAgent::builder("worker").mode(AgentMode::Task).model(worker_model).build().unwrap();
        let both = calling(&[("w1", "worker", json!({"request": "paint"})), ("j1", "job", json!({}))]);
        let model = Arc::new(ScriptedModel::new().then(both).then_text("Began."));
        let job = tool("job", "Begins.", async || json!({"status": "began"})).long_running();
        agent(&model).tool(job).sub_agent(worker).build().unwrap()
    })
    .await;
}

// R1210: the agents of a graph see the message with which the interrupted turn began.
#[tokio::test]
async fn r1210_a_turn_of_a_task_that_was_cut_keeps_its_message() {
    for cut in 1..=3 {
        let (_, worker) = asking_worker("look_1", &["Which size?"]);
        let script = ScriptedModel::calling("worker", json!({"request": "paint"}));
        let model = Arc::new(script.then_call("finish_task", json!({"result": "painted"})));
        let mut wf = Workflow::builder("wf");
        let boss = wf.add(agent(&model).mode(AgentMode::Task).sub_agent(worker).build().unwrap());
        wf.edge(START, boss);
        let (runner, _) = runner(wf.build().unwrap());
        assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Which size?");
        let mut run = runner.run("ana", "s1", "the large one");
        let mut invocation = None;
        for _ in 0..cut {
            invocation = Some(run.next().await.unwrap().unwrap().invocation_id().clone());
        }
        drop(run);
        trace(runner.start(RunRequest::new(key()).invocation_id(invocation.unwrap()))).await;
        let seen: Vec<String> = model.requests().iter().map(|request| request.contents[0].text()).collect();
        assert_eq!(seen, ["go", "the large one"], "cut {cut}");
    }
}

// R1010, R1210: a resumable workflow records its end while a task waits for the user. Even so, the work after the
// user's message can be resumed.
#[tokio::test]
async fn r1210_a_node_after_a_task_is_resumed_after_the_output_of_its_child() {
    let (_, worker) = asking_worker("look_1", &["Which size?"]);
    let child = FunctionNode::new("child", async || 1);
    let parent = FunctionNode::new("parent", move |ctx: Context| {
        let child = child.clone();
        async move {
            ctx.run_node(&child, json!(null), RunOptions::default().use_as_output(true)).await?;
            ctx.state().set("behind", true)?;
            Ok::<_, NodeError>(())
        }
    });
    let mut wf = Workflow::builder("wf");
    let worker = wf.add(worker);
    let parent = wf.add(parent.rerun_on_resume(true));
    wf.edge(START, worker).edge(worker, parent.dynamic());
    let (runner, sessions) = runner_of_app(wf.build().unwrap(), true);
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "Which size?");
    let mut run = runner.run("ana", "s1", "the large one");
    let output = loop {
        let event = run.next().await.unwrap().unwrap();
        if event.path().as_str().ends_with("child@1") && event.output().is_some() {
            break event;
        }
    };
    drop(run);
    trace(runner.start(RunRequest::new(key()).invocation_id(output.invocation_id().clone()))).await;
    assert_eq!(left(&sessions).await.1["behind"], true);
}

// L103: if another call of a batch fails, a response that would end the agent is not stored.
#[tokio::test]
async fn l103_a_failing_batch_stores_no_answer() {
    #[derive(Deserialize, serde::Serialize, JsonSchema)]
    struct Sum {
        total: i64,
    }
    let fails = || tool("fails", "Fails.", async || Err::<i64, _>(NodeError::value("no")));
    let batch = |name: &str, args: Value| {
        Arc::new(ScriptedModel::new().then(calling(&[("c1", name, args), ("c2", "fails", json!({}))])).repeating())
    };
    let model = batch("set_model_response", json!({"total": 1}));
    let answers = agent(&model).tool(fails()).output_schema::<Sum>().output_key("sum").build().unwrap();
    let (runner_of_one, sessions) = runner(answers);
    let lines = trace(runner_of_one.run("ana", "s1", "go")).await;
    assert_eq!(lines.last().unwrap(), "! ValueError: no");
    let (events, state) = left(&sessions).await;
    assert_eq!((events.len(), state.contains_key("sum")), (3, false), "{events:#?}");

    let model = batch("finish_task", json!({"result": "found"}));
    let worker = LlmAgent::builder("worker").mode(AgentMode::Task).model(model).tool(fails()).build().unwrap();
    let boss = Arc::new(ScriptedModel::calling("worker", json!({"request": "do"})).then_text("done"));
    let (runner, sessions) = runner(agent(&boss).sub_agent(worker).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert!(left(&sessions).await.0.iter().all(|event| !event.contains("Task completed.")));
}

// R141: if a model calls a reserved function, no question is asked: the function is unknown.
#[tokio::test]
async fn r141_a_model_cannot_ask_in_the_name_of_the_runtime() {
    for (name, args) in [
        ("adk_request_input", json!({"message": "Your password?", "assignee": "ana"})),
        ("adk_request_credential", json!({"functionCallId": "c0", "authConfig": {}})),
        ("adk_request_confirmation", json!({"originalFunctionCall": {"id": "c1", "name": "x"}})),
    ] {
        let model = Arc::new(ScriptedModel::new().then(calling(&[("c1", name, args)])).then_text("done"));
        let (runner, _) = runner(agent(&model).build().unwrap());
        assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done", "{name}");
        assert!(runner.questions(key()).await.unwrap().is_empty(), "{name}");
    }
}

// R404: the next attempt of an agent node that failed after its answer keeps the answer as the output.
#[tokio::test]
async fn r404_an_answer_is_kept_by_the_next_attempt() {
    let attempts = Count::default();
    let fails_once = attempts.clone();
    let model = Arc::new(ScriptedModel::saying("42").repeating());
    let answers =
        LlmAgent::builder("answers").model(Arc::clone(&model)).after_agent(move |_: pleach::CallbackContext| {
            fails_once.add();
            let fails = fails_once.get() == 1;
            async move { if fails { Err(NodeError::value("not yet")) } else { Ok(None) } }
        });
    let mut wf = Workflow::builder("wf");
    let answers = wf.add(answers.retry(pleach::RetryConfig::attempts(2)).build().unwrap());
    let show = wf.node("show", async |Input(text): Input<String>| format!("got {text}"));
    wf.edge(START, answers).edge(answers, show);
    let (runner, _) = runner(wf.build().unwrap());
    let outcome = runner.run("ana", "s1", "go").output::<String>().await.unwrap();
    assert_eq!((outcome.as_str(), model.requests().len(), attempts.get()), ("got 42", 1, 2));
}
