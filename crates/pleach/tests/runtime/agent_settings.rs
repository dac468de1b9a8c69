//! Settings of apps and runs for their agents: the default model, the limit of calls, content that only models see.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{Node, NodeTool, RunConfig, RunRequest, SequentialAgent};
use serde_json::json;

use crate::support::{key, runner, stored, trace};

fn agent(name: &str) -> pleach::LlmAgentBuilder {
    LlmAgent::builder(name)
}

/// Runs `root` in an app whose model answers `app`.
async fn answer(root: impl Node) -> String {
    let runner = Runner::builder("t").root(root).model(ScriptedModel::saying("app").repeating()).build().unwrap();
    runner.run("ana", "s1", "go").reply().await.unwrap()
}

#[tokio::test]
async fn l5_an_agent_has_its_own_model_or_that_of_the_nearest_agent_above_or_the_apps() {
    assert_eq!(answer(agent("helper").build().unwrap()).await, "app");
    let own = agent("helper").model(ScriptedModel::saying("own"));
    assert_eq!(answer(own.build().unwrap()).await, "own");
    let above = |name: &str| {
        let call = json!({"agent_name": name});
        agent("root").model(ScriptedModel::calling("transfer_to_agent", call).then_text("above"))
    };
    let helper = || agent("helper").build().unwrap();
    assert_eq!(answer(above("helper").sub_agent(helper()).build().unwrap()).await, "above");
    // Agents without a model are skipped.
    let sequence = SequentialAgent::builder("sequence").sub_agent(helper()).build().unwrap();
    assert_eq!(answer(above("sequence").sub_agent(sequence).build().unwrap()).await, "above");
}

#[tokio::test]
async fn l5_an_agent_without_any_model_is_a_fault_that_names_it() {
    let mut wf = Workflow::builder("wf");
    let one = wf.add(agent("one").build().unwrap());
    let below = NodeTool::new(agent("two").build().unwrap());
    let with_tool = agent("three").model(ScriptedModel::saying("x")).tool(below).build().unwrap();
    let three = wf.add(with_tool);
    wf.edge(START, one).edge(one, three);
    let error = Runner::builder("t").root(wf.build().unwrap()).build().unwrap_err();
    let faults: Vec<&str> = error.faults.iter().map(|fault| fault.message.as_str()).collect();
    let fault = |name: &str| {
        format!(
            "agent '{name}' has no model: set one with `.model(…)`, or for the app with `Runner::builder(…).model(…)`"
        )
    };
    assert_eq!(faults, [fault("one"), fault("two")]);
}

#[tokio::test]
async fn l160_the_limit_of_calls_is_the_runs_or_the_apps() {
    let looping = || {
        let model = ScriptedModel::calling("look", json!({})).repeating();
        agent("helper").model(model).tool(tool("look", "Looks.", async || 1)).build().unwrap()
    };
    let app = || Runner::builder("t").root(looping()).max_llm_calls(2).build().unwrap();
    let lines = trace(app().run("ana", "s1", "go")).await;
    let error = "! LlmCallsLimitExceededError: Max number of llm calls limit of `2` exceeded";
    assert_eq!((lines.len(), lines.last().unwrap().as_str()), (6, error), "{lines:?}");
    let request = RunRequest::new(key()).message("go").config(RunConfig::default().max_llm_calls(1));
    let lines = trace(app().start(request)).await;
    let error = "! LlmCallsLimitExceededError: Max number of llm calls limit of `1` exceeded";
    assert_eq!((lines.len(), lines.last().unwrap().as_str()), (4, error), "{lines:?}");
}

#[tokio::test]
async fn l54_models_see_the_input_context_of_a_run_and_nothing_stores_it() {
    let model = Arc::new(ScriptedModel::calling("look", json!({})).then_text("Done.").then_text("Bye."));
    let helper = agent("helper").model(Arc::clone(&model)).static_instruction("S").instruction("I");
    let (runner, sessions) = runner(helper.tool(tool("look", "Looks.", async || 1)).build().unwrap());
    let config = RunConfig::default().model_input_context([Content::user("page"), Content::model("seen")]);
    trace(runner.start(RunRequest::new(key()).message("go").config(config))).await;
    trace(runner.run("ana", "s1", "bye")).await;
    let texts = |request: &pleach::model::LlmRequest| {
        let contents = request.contents.iter().map(|content| content.text());
        contents.map(|text| if text.contains("SYSTEM_INSTRUCTION") { "I".to_owned() } else { text }).collect::<Vec<_>>()
    };
    let requests: Vec<Vec<String>> = model.requests().iter().map(texts).collect();
    assert_eq!(
        requests,
        [
            vec!["page", "seen", "I", "go"],
            vec!["page", "seen", "go", "", "", "I"],
            vec!["go", "", "", "Done.", "I", "bye"]
        ]
    );
    assert!(!stored(&sessions).await.iter().any(|line| line.contains("page")));
}

// L28: the labels of a run win over the labels of an agent, including the label with the agent's name.
#[tokio::test]
async fn l28_a_run_has_labels() {
    let model = Arc::new(ScriptedModel::saying("Hello."));
    let mut config = pleach::model::GenerateConfig::default();
    config.labels_mut().extend([("team".to_owned(), "a".to_owned()), ("cost".to_owned(), "1".to_owned())]);
    let (runner, _) = runner(agent("helper").model(Arc::clone(&model)).generate_config(config).build().unwrap());
    let config = RunConfig::default().label("team", "b");
    trace(runner.start(RunRequest::new(key()).message("go").config(config))).await;
    let request = model.requests().remove(0);
    let labels: Vec<_> =
        request.config.labels.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(labels, ["adk_agent_name=helper", "cost=1", "team=b"]);
}
