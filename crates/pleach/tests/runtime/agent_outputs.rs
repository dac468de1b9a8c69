//! The output of a run whose root is an agent.

use pleach::prelude::*;
use pleach::{LlmAgentBuilder, RunError, RunRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::runner;

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Grade {
    stars: u32,
}

fn critic(model: ScriptedModel) -> LlmAgentBuilder {
    LlmAgent::builder("critic").model(model).output_schema::<Grade>()
}

#[tokio::test]
async fn l151_the_output_of_a_root_agent_is_its_reply_read_by_its_schema() {
    let model = ScriptedModel::saying("```json\n{\"stars\": \"4\"}\n```");
    let (runner, _) = runner(critic(model).build().unwrap());
    let run = || RunRequest::new(("ana", "s1")).invocation_id("i").message("The soup.");
    assert_eq!(runner.start(run()).output::<Grade>().await.unwrap(), Grade { stars: 4 });
    // The output can be read again later from the log, and without a reader.
    assert_eq!(runner.start(run()).output::<Grade>().await.unwrap(), Grade { stars: 4 });
    assert_eq!(runner.start(run()).detach().output::<Value>().await.unwrap(), json!({"stars": 4}));
    let error = runner.start(run()).output::<Vec<u32>>().await.unwrap_err();
    assert!(matches!(error, RunError::Output(_)), "{error}");
}

#[tokio::test]
async fn l151_an_agent_that_was_transferred_to_answers_for_the_root() {
    let to = ScriptedModel::calling("transfer_to_agent", json!({"agent_name": "critic"}));
    let sub = critic(ScriptedModel::saying(r#"{"stars": 2}"#)).build().unwrap();
    let (runner, _) = runner(LlmAgent::builder("root").model(to).sub_agent(sub).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "The soup.").output::<Grade>().await.unwrap(), Grade { stars: 2 });
}

#[tokio::test]
async fn l151_the_error_of_a_root_agent_without_an_output_names_the_remedy() {
    let without = LlmAgent::builder("critic").model(ScriptedModel::saying("Four stars."));
    for (agent, reason) in [
        (without, "it has no output schema"),
        (critic(ScriptedModel::saying("Four stars.")), "its answer is not JSON"),
        (critic(ScriptedModel::saying(r#"{"stars": "many"}"#)), "stars"),
        (critic(ScriptedModel::saying(" ")), "it has not replied"),
    ] {
        let (runner, _) = runner(agent.build().unwrap());
        let error = runner.run("ana", "s1", "The soup.").output::<Grade>().await.unwrap_err();
        assert!(matches!(&error, RunError::NoReply { agent, .. } if agent == "critic"), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains("`reply()`") && text.contains("output_schema"), "{text}");
        assert_eq!(error.code(), "ValidationError");
    }
}

// L86: google-adk leaves no event.
#[tokio::test]
async fn l86_an_empty_response_of_a_model_is_stored_as_an_event() {
    let model = ScriptedModel::new().then(pleach::model::LlmResponse::default());
    let (runner, sessions) = runner(LlmAgent::builder("helper").model(model).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "Hello?").reply().await.unwrap(), "");
    let events = crate::support::stored(&sessions).await;
    assert!(events.len() == 1 && events[0].contains("MODEL_RETURNED_NO_CONTENT"), "{events:?}");
}
