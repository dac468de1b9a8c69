//! Rows of docs/rules.md that the format of scenarios cannot express. The expected values are from google-adk 2.13.0.

use std::sync::{Arc, Mutex};

use pleach::model::ModelCapabilities;
use pleach::prelude::*;
use pleach::{
    AbortSignal, AgentMode, CreateSession, FunctionResponse, LlmAgentBuilder, Part, Run, RunRequest, Schema, to_camel,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{key, runner, trace};

fn agent(model: &Arc<ScriptedModel>) -> LlmAgentBuilder {
    LlmAgent::builder("helper").model(Arc::clone(model))
}

fn script(model: ScriptedModel) -> Arc<ScriptedModel> {
    Arc::new(model)
}

/// The responses in the last content of the last request.
fn last_responses(model: &ScriptedModel) -> Vec<Value> {
    let last = model.requests().pop().unwrap();
    let content = to_camel(&last.contents.last().unwrap()).unwrap();
    let parts = content["parts"].as_array().unwrap().iter();
    parts.map(|part| part["functionResponse"]["response"].clone()).collect()
}

/// The names of the functions that the request with this number declares.
fn declared(model: &ScriptedModel, nth: usize) -> Vec<String> {
    model.requests()[nth].declarations().map(|one| one.name.clone().unwrap()).collect()
}

// A18, S40
#[tokio::test]
async fn l17_a_temporary_key_of_a_new_session_is_absent() {
    let model = script(ScriptedModel::saying("Hello."));
    let (runner, sessions) = runner(agent(&model).instruction("Speak {temp:t}.").build().unwrap());
    let state = json!({"temp:t": "softly"}).as_object().unwrap().clone();
    sessions.create_session(CreateSession::new("t", "ana").with_session_id("s1").with_state(state)).await.unwrap();
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert!(lines.last().unwrap().starts_with("! KeyError: "), "{lines:?}");
    assert!(model.requests().is_empty());
}

// A32
#[tokio::test]
async fn l151_json_without_a_declared_shape_is_stored_as_it_is() {
    for (text, value) in [("[1, \"two\"]", json!([1, "two"])), ("{\"a\": {\"b\": null}}", json!({"a": {"b": null}}))] {
        let model = script(ScriptedModel::saying(text));
        let helper = agent(&model).output_json_schema(Schema::json(json!({}))).output_key("answer");
        let (runner, _) = runner(helper.build().unwrap());
        trace(runner.run("ana", "s1", "go")).await;
        let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(session.state["answer"], value);
    }
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Sum {
    total: i64,
}

fn adds() -> FunctionTool {
    tool("add", "Adds.", async || 5)
}

// A35
#[tokio::test]
async fn l151_bad_arguments_of_the_answer_come_back_to_the_model() {
    let script = script(
        ScriptedModel::calling("set_model_response", json!({"total": "many"}))
            .then_call("set_model_response", json!({"total": 5})),
    );
    let helper = agent(&script).tool(adds()).output_schema::<Sum>().output_key("sum");
    let (runner, _) = runner(helper.build().unwrap());
    let reply = runner.run("ana", "s1", "go").reply().await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&reply).unwrap(), json!({"total": 5}));
    let error = last_responses(&script)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("total"), "{error}");
    assert_eq!(script.requests().len(), 2);
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(session.state["sum"], json!({"total": 5}));
}

// A37
#[tokio::test]
async fn l27_a_model_that_combines_tools_and_a_schema_gets_the_schema() {
    let able = ModelCapabilities::default().output_schema_and_tools(true);
    let model = script(ScriptedModel::saying("{\"total\": 5}").with_capabilities(able));
    let (runner, _) = runner(agent(&model).tool(adds()).output_schema::<Sum>().build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(declared(&model, 0), ["add"]);
    let config = to_camel(&model.requests()[0].config).unwrap();
    assert_eq!(config["responseMimeType"], "application/json");
    assert!(config.get("responseSchema").or(config.get("responseJsonSchema")).is_some(), "{config}");
}

/// Answers the open confirmation with `response`, as a client does that knows only the protocol.
async fn confirm(runner: &Runner, response: Value) -> Run {
    let question = runner.questions(key()).await.unwrap().remove(0);
    let response = response.as_object().unwrap().clone();
    let part = Part::function_response(FunctionResponse::new(question.id, "adk_request_confirmation", response));
    runner.start(RunRequest::new(key()).message(vec![part]))
}

// A52: web pages send the answer as text.
#[tokio::test]
async fn l117_an_answer_may_be_json_in_a_text() {
    for (text, expected) in [
        ("{\"confirmed\": true}", json!({"result": 5})),
        ("{\"confirmed\": false}", json!({"error": "This tool call is rejected."})),
    ] {
        let model = script(ScriptedModel::calling("add", json!({})).then_text("done"));
        let (runner, _) = runner(agent(&model).tool(adds().require_confirmation()).build().unwrap());
        trace(runner.run("ana", "s1", "go")).await;
        trace(confirm(&runner, json!({"response": text})).await).await;
        assert_eq!(last_responses(&model), [expected]);
    }
}

// A54
#[tokio::test]
async fn l114_a_tool_asks_for_its_own_confirmation() {
    let asks = || {
        tool("pay", "Pays.", async |ctx: ToolContext| -> Result<Value, NodeError> {
            let Some(answer) = ctx.tool_confirmation() else {
                ctx.request_confirmation("sure?", Some(json!({"euros": 5})))?;
                return Ok(json!("asked"));
            };
            Ok(json!({"paid": answer.confirmed, "payload": answer.payload}))
        })
    };
    let model = script(ScriptedModel::calling("pay", json!({})).then_text("done"));
    let (runner, _) = runner(agent(&model).tool(asks()).build().unwrap());
    let lines = trace(runner.run("ana", "s1", "go")).await;
    assert_eq!((lines.len(), model.requests().len()), (3, 1), "{lines:#?}");
    trace(confirm(&runner, json!({"confirmed": true, "payload": {"euros": 4}})).await).await;
    assert_eq!(last_responses(&model), [json!({"paid": true, "payload": {"euros": 4}})]);
}

#[derive(Deserialize, JsonSchema)]
struct Amount {
    euros: i64,
}

// A56
#[tokio::test]
async fn l114_a_condition_picks_the_calls_that_are_confirmed() {
    let paid = Arc::new(Mutex::new(Vec::new()));
    let record = Arc::clone(&paid);
    let pay = tool("pay", "Pays.", move |Args(Amount { euros }): Args<Amount>| {
        record.lock().unwrap().push(euros);
        async move { euros }
    });
    let model = script(
        ScriptedModel::new().then_calls([("pay", json!({"euros": 3})), ("pay", json!({"euros": 300}))]).then_text("ok"),
    );
    let helper = agent(&model).tool(pay.confirm_if(|_, amount: &Amount| amount.euros > 100));
    let (runner, _) = runner(helper.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(*paid.lock().unwrap(), [3]);
    assert_eq!(runner.questions(key()).await.unwrap().len(), 1);
    trace(confirm(&runner, json!({"confirmed": true})).await).await;
    assert_eq!(*paid.lock().unwrap(), [3, 300]);
    assert_eq!(last_responses(&model), [json!({"result": 3}), json!({"result": 300})]);
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Found {
    price: i64,
}

// A95
#[tokio::test]
async fn l192_a_task_that_ends_with_a_bad_result_gets_an_error() {
    let model = script(
        ScriptedModel::calling("finish_task", json!({"price": "cheap"})).then_call("finish_task", json!({"price": 7})),
    );
    let task = LlmAgent::builder("search").model(Arc::clone(&model)).mode(AgentMode::Task).output_schema::<Found>();
    let boss = script(ScriptedModel::calling("search", json!({"request": "a flight"})).then_text("Found one."));
    let (runner, _) = runner(agent(&boss).sub_agent(task.build().unwrap()).build().unwrap());
    let reply = runner.run("ana", "s1", "go").reply().await.unwrap();
    assert_eq!(reply, "Found one.");
    let error = last_responses(&model)[0]["error"].as_str().unwrap().to_owned();
    assert!(error.contains("price"), "{error}");
    assert_eq!(last_responses(&boss), [json!({"price": 7})]);
}

// A96
#[test]
fn l180_a_root_that_answers_once_is_refused() {
    let root = agent(&script(ScriptedModel::saying("x"))).mode(AgentMode::SingleTurn).build().unwrap();
    let error = Runner::builder("t").root(root).build().unwrap_err();
    assert_eq!(error.rule(), "single_turn_root");
    assert!(error.to_string().contains("'helper'"), "{error}");
}

// A116: the response of the tool is kept, and the model is not asked again.
#[tokio::test]
async fn r1130_an_abort_while_a_tool_runs_keeps_its_response() {
    let signal = AbortSignal::new();
    let aborts = signal.clone();
    let stop = tool("stop", "Stops.", move || {
        aborts.abort();
        async { "stopped" }
    });
    let model = script(ScriptedModel::calling("stop", json!({})).then_text("never"));
    let (runner, sessions) = runner(agent(&model).tool(stop).build().unwrap());
    trace(runner.start(RunRequest::new(key()).message("go").abort_signal(signal))).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let stored = session.events.iter().map(|event| {
        let results = event.function_responses().map(|one| json!(one.response).to_string());
        results.chain(event.function_calls().map(|one| one.name.clone().unwrap())).collect::<String>()
            + event.error_code().unwrap_or_default()
    });
    assert_eq!(stored.collect::<Vec<_>>(), ["", "stop", "{\"result\":\"stopped\"}", "INVOCATION_ABORTED"]);
    assert_eq!(model.requests().len(), 1);
}

// L106: a result that a client sends has the name of the function, which models need to pair the result with its call.
#[tokio::test]
async fn l106_a_late_result_has_the_name_of_its_function() {
    let job = tool("visa", "Applies.", async || json!({"status": "pending"})).long_running();
    let model = script(ScriptedModel::calling("visa", json!({})).then_text("Pending.").then_text("Granted."));
    let (runner, _) = runner(agent(&model).tool(job).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let question = runner.questions(key()).await.unwrap().remove(0);
    trace(runner.answer(key(), &question, json!({"status": "granted"})).unwrap()).await;
    let names: Vec<_> = model.requests()[2]
        .contents
        .iter()
        .flat_map(|content| content.parts().iter())
        .filter_map(|part| part.function_response.as_ref()?.name.clone())
        .collect();
    assert_eq!(names, ["visa"]);
}
