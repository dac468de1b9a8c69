//! The content of spans, values that spans never contain, and the spans of agents and model calls.

use std::future::pending;
use std::time::Duration;

use pleach::model::{Model, ModelError, ModelErrorKind, ResponseStream};
use pleach::prelude::*;
use pleach::telemetry::{ModelCall, ModelUsage, end_model_call, fail_span, generate_content, invoke_agent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::recorder::Recorder;
use crate::support::{finish, runner};

const SECRET: &str = "s3cret";

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

#[tokio::test]
async fn no_message_argument_output_or_error_text_is_on_a_span() {
    let (recorder, _guard) = Recorder::start();
    let echo = || tool("echo", "Echoes.", async |Args(a): Args<Text>| json!({"echo": a.text}));
    let broken = tool("broken", "Fails.", async |Args(a): Args<Text>| -> Result<String, NodeError> {
        Err(NodeError::value(a.text))
    });
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async |Input(text): Input<String>| json!({"text": text}));
    let (first, second) = (wf.tool(echo()), wf.tool(broken));
    let note = wf.node("note", async |ctx: Context| {
        ctx.state().set("note", SECRET)?;
        Ok::<_, NodeError>(json!({"text": SECRET}))
    });
    wf.edge(START, read).edge(read.dynamic(), first).edge(first, note.dynamic()).edge(note.dynamic(), second);
    finish(runner(wf.build().unwrap()).run("ana", "s1", SECRET)).await;
    let expected = "\
invoke_workflow wf failed ValueError ERROR
  invoke_node read completed
  invoke_node echo completed
    execute_tool echo completed
  invoke_node note completed
  invoke_node broken failed ValueError ERROR
    execute_tool broken failed ValueError ERROR
";
    assert_eq!(recorder.tree(), expected);
    for span in recorder.spans() {
        assert!(span.fields.values().all(|value| !value.contains(SECRET)), "{span:?}");
    }
}

#[tokio::test]
async fn a_tool_that_asks_is_interrupted() {
    let (recorder, _guard) = Recorder::start();
    let tool = tool("pay", "Pays.", async |Args(a): Args<Text>| a.text).require_confirmation();
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"text": SECRET}));
    let pay = wf.tool(tool);
    wf.edge(START, read.dynamic()).edge(read.dynamic(), pay);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow wf interrupted
  invoke_node read completed
  invoke_node pay interrupted
    execute_tool pay interrupted
";
    assert_eq!(recorder.tree(), expected);
}

#[tokio::test]
async fn a_tool_that_is_cut_off_is_cancelled() {
    let (recorder, _guard) = Recorder::start();
    let tool = tool("slow", "Waits.", async |Args(_): Args<Text>| pending::<String>().await);
    let mut wf = Workflow::builder("wf");
    let read = wf.node("read", async || json!({"text": "a"}));
    let slow = wf.add(ToolNode::new(tool).timeout(Duration::from_secs(1)));
    wf.edge(START, read.dynamic()).edge(read.dynamic(), slow);
    finish(runner(wf.build().unwrap()).run("ana", "s1", "go")).await;
    let expected = "\
invoke_workflow wf failed NodeTimeoutError ERROR
  invoke_node read completed
  invoke_node slow failed NodeTimeoutError ERROR
    execute_tool slow cancelled
";
    assert_eq!(recorder.tree(), expected);
    recorder.assert_over();
}

#[tokio::test]
async fn nodes_that_call_models_have_spans_for_it() {
    let (recorder, _guard) = Recorder::start();
    let body = async |ctx: Context| {
        let agent = invoke_agent("helper", "Helps.", &ctx);
        let call = ModelCall {
            model: "m-1",
            agent: "helper",
            provider: Some("openai"),
            max_tokens: Some(100),
            ..ModelCall::default()
        };
        let span = agent.in_scope(|| generate_content(&call, &ctx));
        let usage = ModelUsage {
            finish_reason: Some("stop"),
            input_tokens: Some(12),
            output_tokens: Some(3),
            ..ModelUsage::default()
        };
        end_model_call(&span, &usage);
        let failing = agent.in_scope(|| generate_content(&call, &ctx));
        fail_span(&failing, "429");
        1
    };
    finish(runner(FunctionNode::new("node", body)).run("ana", "s1", SECRET)).await;
    let expected = "\
invoke_workflow node completed
  invoke_node node completed
    invoke_agent helper
      generate_content m-1 completed
      generate_content m-1 failed 429 ERROR
";
    assert_eq!(recorder.tree(), expected);
    let mut fields = recorder.named("generate_content m-1").remove(0).fields;
    fields.remove("gcp.vertex.agent.invocation_id");
    let expected = json!({
        "otel.name": "generate_content m-1", "otel.kind": "client", "gen_ai.operation.name": "generate_content",
        "gen_ai.provider.name": "openai", "gen_ai.request.model": "m-1", "gen_ai.request.max_tokens": "100",
        "gen_ai.agent.name": "helper", "gen_ai.conversation.id": "s1", "gen_ai.response.finish_reasons": "stop",
        "gen_ai.usage.input_tokens": "12", "gen_ai.usage.output_tokens": "3", "pleach.outcome": "completed",
    });
    assert_eq!(serde_json::to_value(fields).unwrap(), expected);
}

/// A model whose client names its provider.
struct NamedProvider(ScriptedModel);

impl Model for NamedProvider {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn provider(&self) -> Option<&str> {
        Some("openai")
    }

    fn generate<'a>(&'a self, call: pleach::model::ModelCall<'a>) -> ResponseStream<'a> {
        self.0.generate(call)
    }
}

#[tokio::test]
async fn a_model_call_of_an_agent_names_the_provider() {
    let (recorder, _guard) = Recorder::start();
    let agent = LlmAgent::builder("helper").model(NamedProvider(ScriptedModel::saying("hi"))).build().unwrap();
    finish(runner(agent).run("ana", "s1", "hello")).await;
    let fields = recorder.named("generate_content scripted").remove(0).fields;
    assert_eq!(fields.get("gen_ai.provider.name").map(String::as_str), Some("openai"));
}

#[tokio::test]
async fn the_model_calls_of_an_agent_have_spans_up_to_their_answers() {
    let (recorder, _guard) = Recorder::start();
    let echo = tool("echo", "Echoes.", async |Args(a): Args<Text>| a.text);
    let failed = ModelError::new("m", ModelErrorKind::RateLimited);
    let model = ScriptedModel::calling("echo", json!({"text": SECRET})).then_error(failed);
    let agent = LlmAgent::builder("helper").model(model).tool(echo).build().unwrap();
    finish(runner(agent).run("ana", "s1", SECRET)).await;
    // The span of the tool call is not within the span of the model that made the call.
    let expected = "\
invoke_workflow helper failed ModelError ERROR
  invoke_node helper failed ModelError ERROR
    invoke_agent helper failed ModelError ERROR
      generate_content scripted completed
      execute_tool echo completed
      generate_content scripted failed ModelError ERROR
";
    assert_eq!(recorder.tree(), expected);
    for span in recorder.spans() {
        assert!(span.fields.values().all(|value| !value.contains(SECRET)), "{span:?}");
    }
}
