//! The requests that an agent makes, and the work of its planner.

use std::sync::Arc;

use pleach::model::{GenerateConfig, LlmRequest, LlmResponse, ThinkingConfig};
use pleach::prelude::*;
use pleach::{
    BoxFuture, BuiltInPlanner, CallbackContext, Content, NodeError, Part, Planner, ProcessorPlace, ReadonlyContext,
    RequestProcessor,
};

use crate::support::{runner, stored, trace};

/// A processor that adds its name to the system instruction and to the state.
struct Named(&'static str);

impl RequestProcessor for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn process<'a>(
        &'a self,
        _: &'a CallbackContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        request.append_instructions([format!("{} sees {}", self.0, request.contents.len())]);
        Box::pin(async { Ok(()) })
    }
}

/// Runs an agent and returns the system instruction of its request.
async fn instructed(build: impl FnOnce(pleach::LlmAgentBuilder) -> pleach::LlmAgentBuilder) -> String {
    let model = Arc::new(ScriptedModel::saying("done"));
    let agent = build(LlmAgent::builder("helper").model(Arc::clone(&model)).instruction("I"));
    trace(runner(agent.build().unwrap()).0.run("ana", "s1", "go")).await;
    model.requests()[0].config.system_instruction.clone().unwrap_or_default()
}

#[tokio::test]
async fn l25_steps_of_users_take_their_places_among_those_of_the_agent() {
    let identity = "You are an agent. Your internal name is \"helper\".";
    let system = instructed(|agent| {
        agent
            .request_processor(ProcessorPlace::Before("instructions"), Named("first"))
            .request_processor(ProcessorPlace::After("instructions"), Named("second"))
            .request_processor(ProcessorPlace::Before("second"), Named("between"))
            .request_processor(ProcessorPlace::Last, Named("last"))
    });
    assert_eq!(
        system.await,
        format!("first sees 0\n\nI\n\nbetween sees 0\n\nsecond sees 0\n\n{identity}\n\nlast sees 1")
    );
    let system = instructed(|agent| {
        agent
            .request_processor(ProcessorPlace::InsteadOf("identity"), Named("me"))
            .without_request_processor("contents")
    });
    assert_eq!(system.await, "I\n\nme sees 0");
}

#[test]
fn l25_a_place_that_there_is_not_and_a_second_name_are_faults() {
    let agent = LlmAgent::builder("helper")
        .request_processor(ProcessorPlace::After("nothing"), Named("one"))
        .request_processor(ProcessorPlace::Last, Named("contents"))
        .without_request_processor("");
    let faults: Vec<String> = agent.build().unwrap_err().faults.into_iter().map(|fault| fault.message).collect();
    let names = "basic, instructions, identity, compaction, contents, nl_planning, code_execution, output_schema, \
                 agent_transfer, agent_tools, dynamic_instructions";
    assert_eq!(
        faults,
        [
            format!("there is no request processor `nothing`; the agent has {names}"),
            "two request processors have the name `contents`: give each a name of its own".to_owned(),
            format!("there is no request processor ``; the agent has {names}"),
        ]
    );
}

/// A planner that marks the text before `|` as a thought and counts its responses in the state.
struct Marks;

impl Planner for Marks {
    fn build_planning_instruction(&self, _: &ReadonlyContext, _: &LlmRequest) -> Result<Option<String>, NodeError> {
        Ok(Some("Plan first.".to_owned()))
    }

    fn process_planning_response(&self, ctx: &CallbackContext, parts: &[Part]) -> Result<Option<Vec<Part>>, NodeError> {
        let text = parts[0].text.clone().unwrap_or_default();
        let Some((plan, answer)) = text.split_once('|') else { return Ok(None) };
        ctx.state().set("plan", plan)?;
        Ok(Some(vec![Part { thought: Some(true), ..Part::text(plan) }, Part::text(answer)]))
    }
}

#[tokio::test]
async fn l70_a_planner_instructs_and_reads_the_plan_out_of_responses() {
    let model = Arc::new(ScriptedModel::saying("look up|Sunny.").then_text("Bye."));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).instruction("I").planner(Marks);
    let (runner, sessions) = runner(agent.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "bye")).await;
    assert_eq!(
        stored(&sessions).await,
        [r#"helper@1: state {"plan":"look up"}"#, "helper@1: says Sunny.", "helper@1: says Bye."]
    );
    let requests = model.requests();
    let system = requests[0].config.system_instruction.as_deref().unwrap();
    assert!(system.starts_with("I\n\n") && system.ends_with("\n\nPlan first."), "{system}");
    // When the model reads the plan again, the plan is no longer marked as a thought.
    let said = &requests[1].contents[1];
    let parts: Vec<_> = said.parts().iter().map(|part| (part.text.as_deref().unwrap(), part.thought)).collect();
    assert_eq!(parts, [("look up", None), ("Sunny.", None)]);
}

#[tokio::test]
async fn l70_the_built_in_planner_only_sets_how_the_model_thinks() {
    let model = Arc::new(ScriptedModel::new().then(LlmResponse::of(Content::model("done"))));
    let thinking = |budget| ThinkingConfig { thinking_budget: Some(budget), ..ThinkingConfig::default() };
    let agent = LlmAgent::builder("helper")
        .model(Arc::clone(&model))
        .generate_config(GenerateConfig { thinking_config: Some(thinking(1)), ..GenerateConfig::default() })
        .planner(BuiltInPlanner::new(thinking(7)));
    trace(runner(agent.build().unwrap()).0.run("ana", "s1", "go")).await;
    let config = &model.requests()[0].config;
    assert_eq!(config.thinking_config, Some(thinking(7)));
    assert_eq!(config.system_instruction.as_deref(), Some("You are an agent. Your internal name is \"helper\"."));
}
