//! `ReflectAndRetryToolPlugin`: the responses that models get in place of failures. The texts and errors were recorded from google-adk
//! 2.13.0 in a run of the same calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::plugins::{ReflectAndRetryToolPlugin, TrackingScope};
use pleach::prelude::*;
use serde_json::{Value, json};

use crate::support::trace;

fn pay() -> FunctionTool {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Payment {
        #[expect(dead_code, reason = "only the arguments of the call matter")]
        amount: i64,
    }
    tool("pay", "Pays.", async |Args(_): Args<Payment>| -> Result<String> { Err(NodeError::value("too much").into()) })
}

async fn run(model: &ScriptedModel, tool: FunctionTool, plugin: ReflectAndRetryToolPlugin) -> String {
    let agent = LlmAgent::builder("a").model(model.clone()).tool(tool).build().unwrap();
    let runner = Runner::builder("t").root(agent).plugin(plugin).build().unwrap();
    trace(runner.run("ana", "s1", "hi")).await.pop().unwrap()
}

/// The response in the model's request with this number.
fn read(model: &ScriptedModel, request: usize) -> Value {
    let requests = model.requests();
    let part = &requests[request].contents.last().unwrap().parts()[0];
    part.function_response.as_ref().unwrap().response.clone().unwrap().into()
}

const REFLECTION: &str = "The call to tool `pay` failed.\n\n**Error Details:**\n```\nValueError: too much\n```\n\n**Tool Arguments Used:**\n```json\n{\n  \"amount\": 5\n}\n```\n\n**Reflection Guidance:**\nThis is retry attempt **1 of 1**. Analyze the error and the arguments you provided. Do not repeat the exact same call. Consider the following before your next attempt:\n\n1.  **Invalid Parameters**: Does the error suggest that one or more arguments are incorrect, badly formatted, or missing? Review the tool's schema and your arguments.\n2.  **State or Preconditions**: Did a previous step fail or not produce the necessary state/resource for this tool to succeed?\n3.  **Alternative Approach**: Is this the right tool for the job? Could another tool or a different sequence of steps achieve the goal?\n4.  **Simplify the Task**: Can you break the problem down into smaller, simpler steps?\n5.  **Wrong Function Name**: Does the error indicates the tool is not found? Please check again and only use available tools.\n\nFormulate a new plan based on your analysis and try a corrected or different approach.";

const SURRENDER: &str = "The tool `pay` has failed consecutively 1 times and the retry limit has been exceeded.\n\n**Last Error:**\n```\nValueError: too much\n```\n\n**Last Arguments Used:**\n```json\n{\n  \"amount\": 6\n}\n```\n\n**Final Instruction:**\n**Do not attempt to use the `pay` tool again for this task.** You must now try a different approach. Acknowledge the failure and devise a new strategy, potentially using other available tools or informing the user that the task cannot be completed.";

fn handled(error: &str, details: &str, retries: u32, guidance: &str) -> Value {
    json!({
        "response_type": "ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN",
        "error_type": error,
        "error_details": details,
        "retry_count": retries,
        "reflection_guidance": guidance,
    })
}

fn twice() -> ScriptedModel {
    ScriptedModel::calling("pay", json!({"amount": 5})).then_call("pay", json!({"amount": 6})).then_text("done")
}

#[tokio::test]
async fn a_failure_is_explained_and_one_beyond_the_limit_ends_the_run() {
    let model = twice();
    let last = run(&model, pay(), ReflectAndRetryToolPlugin::new(1)).await;
    assert_eq!(read(&model, 1), handled("ValueError", "too much", 1, REFLECTION));
    let expected = "! RuntimeError: Error in plugin 'reflect_retry_tool_plugin' during 'on_tool_error_callback' callback: \
                    too much";
    assert_eq!(last, expected);

    let model = twice();
    let last = run(&model, pay(), ReflectAndRetryToolPlugin::new(0)).await;
    assert_eq!((last.as_str(), model.replies_left()), (expected, 2));
}

#[tokio::test]
async fn without_an_exception_the_model_is_asked_to_do_without_the_tool() {
    let model = twice();
    let plugin = ReflectAndRetryToolPlugin::new(1).throw_exception_if_retry_exceeded(false);
    assert_eq!(run(&model, pay(), plugin).await, "a@1: says done");
    assert_eq!(read(&model, 2), handled("ValueError", "too much", 1, SURRENDER));
}

#[tokio::test]
async fn a_tool_that_is_unknown_is_explained_as_well() {
    let model = ScriptedModel::calling("nope", json!({})).then_text("done");
    assert_eq!(run(&model, pay(), ReflectAndRetryToolPlugin::new(1)).await, "a@1: says done");
    let given = read(&model, 1);
    assert_eq!((&given["error_type"], &given["retry_count"]), (&json!("ValueError"), &json!(1)));
    assert!(given["error_details"].as_str().unwrap().starts_with("Tool 'nope' not found.\nAvailable tools: pay"));
}

#[tokio::test]
async fn an_error_in_a_result_is_treated_as_a_failure() {
    let check = || tool("check", "Checks.", async || json!({"status": "error", "n": [1, null, true]}));
    let twice = || ScriptedModel::calling("check", json!({})).then_call("check", json!({})).then_text("done");
    let plugin = || {
        ReflectAndRetryToolPlugin::new(1)
            .extract_error_from_result(|_, _, _, result| (result["status"] == "error").then(|| result.clone()))
    };
    let model = twice();
    let last = run(&model, check(), plugin()).await;
    // The values are written as Python prints them, because google-adk sends them to models in this form.
    let details = "{'n': [1, None, True], 'status': 'error'}";
    let given = read(&model, 1);
    assert_eq!((&given["error_type"], &given["error_details"]), (&json!("ToolError"), &json!(details)));
    let expected =
        "! RuntimeError: Error in plugin 'reflect_retry_tool_plugin' during 'after_tool_callback' callback: ";
    assert_eq!(last, format!("{expected}{details}"));

    let model = twice();
    let without = ReflectAndRetryToolPlugin::new(1).extract_error_from_result(|_, _, _, _| Some(json!({})));
    assert_eq!(run(&model, check(), without).await, "a@1: says done", "an empty value is not an error");
}

/// A tool that fails in each call except those in `good`.
fn flaky(good: &'static [u32]) -> FunctionTool {
    let calls = Arc::new(AtomicU32::new(0));
    tool("pay", "Pays.", move || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move { if good.contains(&call) { Ok("paid") } else { Err(NodeError::value("no")) } }
    })
}

#[tokio::test]
async fn a_success_resets_the_count_and_scopes_are_separate() {
    let calls = |count: usize| (0..count).fold(ScriptedModel::new(), |model, _| model.then_call("pay", json!({})));
    let model = calls(4).then_text("done");
    run(&model, flaky(&[1]), ReflectAndRetryToolPlugin::new(2)).await;
    let counts: Vec<Value> = [1, 3, 4].map(|request| read(&model, request)["retry_count"].clone()).to_vec();
    assert_eq!(counts, [1, 1, 2]);

    for (scope, expected) in [(TrackingScope::Invocation, [1, 1]), (TrackingScope::Global, [1, 2])] {
        let model = calls(1).then_text("done").then_call("pay", json!({})).then_text("done");
        let agent = LlmAgent::builder("a").model(model.clone()).tool(flaky(&[])).build().unwrap();
        let plugin = ReflectAndRetryToolPlugin::new(5).tracking_scope(scope);
        let runner = Runner::builder("t").root(agent).plugin(plugin).build().unwrap();
        trace(runner.run("ana", "s1", "hi")).await;
        trace(runner.run("ana", "s1", "hi")).await;
        assert_eq!(
            [&read(&model, 1)["retry_count"], &read(&model, 3)["retry_count"]],
            expected.map(|n| json!(n)).each_ref()
        );
    }
}

#[tokio::test]
async fn calls_at_once_are_counted_one_by_one() {
    let batch: Vec<(&str, Value)> = (0..8).map(|n| ("pay", json!({"n": n}))).collect();
    let model = ScriptedModel::new().then_calls(batch).then_text("done");
    run(&model, flaky(&[]), ReflectAndRetryToolPlugin::new(10)).await;
    let requests = model.requests();
    let parts = requests[1].contents.last().unwrap().parts();
    let mut counts: Vec<u64> = parts
        .iter()
        .filter_map(|part| part.function_response.as_ref()?.response.as_ref()?["retry_count"].as_u64())
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, (1..=8).collect::<Vec<_>>());
}
