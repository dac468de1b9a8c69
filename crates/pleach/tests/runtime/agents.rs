//! LLM agents through the public API: what scenarios cannot say.

use pleach::model::LlmRequest;
use pleach::prelude::*;
use pleach::{CallbackContext, NodeError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::support::{runner, stored, trace};

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Name of the city.
    city: String,
}

async fn weather(Args(City { city }): Args<City>, ctx: ToolContext) -> Result<String> {
    ctx.state().set("last_city", &city)?;
    Ok(format!("sun in {city}"))
}

/// Issue 12: "How it should read".
#[tokio::test]
async fn an_agent_calls_a_tool_and_answers() {
    let model = ScriptedModel::calling("weather", json!({"city": "Oslo"})).then_text("Sun in Oslo.");
    let helper = LlmAgent::builder("helper")
        .model(model.clone())
        .instruction("Answer in {user:language?}. Last city: {last_city?}.")
        .tool(tool("weather", "The weather in a city.", weather))
        .output_key("answer")
        .build()
        .unwrap();
    let (runner, sessions) = runner(helper);
    let lines = trace(runner.run("ana", "s1", "Oslo?")).await;
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert_eq!(lines[1], r#"helper@1: state {"last_city":"Oslo"}"#);
    assert_eq!(lines[2], r#"helper@1: state {"answer":"Sun in Oslo."}"#);
    assert_eq!(stored(&sessions).await.len(), 3);
    let instructions: Vec<_> = model.requests().into_iter().map(|request| request.config.system_instruction).collect();
    assert!(instructions[0].as_ref().unwrap().starts_with("Answer in . Last city: ."), "{instructions:?}");
    assert!(instructions[1].as_ref().unwrap().starts_with("Answer in . Last city: Oslo."), "{instructions:?}");
}

/// L84, L130: closures are callbacks without boxes.
#[tokio::test]
async fn l84_a_callback_before_the_model_changes_the_request() {
    let model = ScriptedModel::saying("yes");
    let agent = LlmAgent::builder("helper").model(model.clone()).before_model(
        async |_: CallbackContext, request: &mut LlmRequest| {
            request.append_instructions(["Be brief."]);
            Ok::<_, NodeError>(None)
        },
    );
    let (runner, _) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let instruction = model.requests().remove(0).config.system_instruction.unwrap();
    assert!(instruction.ends_with("Be brief."), "{instruction}");
}
