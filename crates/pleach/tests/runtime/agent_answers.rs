//! Output schemas that a model cannot enforce.

use pleach::AgentMode;
use pleach::model::{Model, ModelCall, ModelCapabilities, ModelError, ModelErrorKind, ResponseStream};
use pleach::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model that accepts no schema at all.
struct Strict {
    takes_both: bool,
}

const ALONE: Strict = Strict { takes_both: false };
const BOTH: Strict = Strict { takes_both: true };

impl Model for Strict {
    fn name(&self) -> &str {
        "strict"
    }

    fn generate<'a>(&'a self, _: ModelCall<'a>) -> ResponseStream<'a> {
        Box::pin(futures::stream::empty())
    }

    fn capabilities(&self) -> ModelCapabilities {
        ModelCapabilities::default().output_schema_and_tools(self.takes_both)
    }

    fn check_output_schema(&self, schema: &Value) -> Result<(), ModelError> {
        let field = schema["properties"].as_object().and_then(|fields| fields.keys().next()).unwrap();
        Err(ModelError::new("strict", ModelErrorKind::InvalidRequest).with_message(format!("not `{field}`")))
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Scores {
    by_player: Vec<u32>,
}

fn judge() -> pleach::LlmAgentBuilder {
    LlmAgent::builder("judge").output_schema::<Scores>()
}

const FAULT: &str = "the output schema of agent 'judge' cannot be demanded: model `strict` failed: the request is not valid: not `by_player`";

#[test]
fn an_output_schema_that_the_model_refuses_is_a_fault_of_the_agent() {
    for agent in [judge().model(ALONE), judge().model(BOTH).tool(tool("look", "Looks.", async || "seen"))] {
        let error = agent.build().unwrap_err().to_string();
        assert!(error.contains(FAULT), "{error}");
    }
    // The model answers by calling a function.
    assert!(judge().model(ALONE).tool(tool("look", "Looks.", async || "seen")).build().is_ok());
    assert!(judge().model(ALONE).mode(AgentMode::Task).build().is_ok());
    assert!(LlmAgent::builder("judge").model(ALONE).build().is_ok());
}

#[test]
fn an_output_schema_that_another_model_refuses_is_a_fault_of_the_runner() {
    let of_app = Runner::builder("demo").root(judge().build().unwrap()).model(ALONE).build().unwrap_err().to_string();
    assert!(of_app.contains(FAULT), "{of_app}");
    let root = LlmAgent::builder("root").model(ALONE).sub_agent(judge().build().unwrap()).build().unwrap();
    let of_parent = Runner::builder("demo").root(root).build().unwrap_err().to_string();
    assert!(of_parent.contains(FAULT), "{of_parent}");
    let fine = ScriptedModel::saying("{}");
    assert!(Runner::builder("demo").root(judge().build().unwrap()).model(fine).build().is_ok());
}
