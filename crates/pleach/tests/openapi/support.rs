//! Helpers for the tests of documents.

use std::sync::{Arc, Mutex};

use pleach::openapi::{OpenApiFault, OpenApiSetupError, OpenApiToolset};
use pleach::prelude::*;
use serde_json::{Value, json};

/// Returns a document of OpenAPI 3.1 with these paths.
pub(crate) fn document(paths: Value) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Pet Store", "version": "1"},
        "servers": [{"url": "https://pets.example.com/v1"}],
        "paths": paths,
    })
}

/// Returns a toolset of a document with these paths whose server is at `url`.
pub(crate) fn toolset_at(url: String, paths: Value) -> OpenApiToolset {
    OpenApiToolset::builder(document(paths)).base_url(url).build().unwrap()
}

/// Returns the JSON schema of the arguments of a tool.
pub(crate) fn schema_of(toolset: &OpenApiToolset, name: &str) -> Value {
    toolset.tool(name).unwrap().declaration().unwrap().parameters_json_schema.clone().unwrap()
}

/// Returns the faults of a document, one line each.
pub(crate) fn faults(document: Value) -> Vec<String> {
    match OpenApiToolset::builder(document).build() {
        Err(OpenApiSetupError::Document { faults, .. }) => faults.iter().map(OpenApiFault::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

/// Calls a tool in a node and returns the response that a model gets.
pub(crate) async fn call(toolset: &OpenApiToolset, name: &str, args: Value) -> Value {
    let tool = toolset.tool(name).unwrap().clone();
    let result: Arc<Mutex<Option<Value>>> = Arc::default();
    let kept = Arc::clone(&result);
    let node = move |ctx: Context| {
        let (tool, args, kept) = (tool.clone(), args.clone(), Arc::clone(&kept));
        async move {
            let result = tool.run(args.as_object().unwrap(), &ctx).await.unwrap();
            let response = result.into_response("c1", "f").response.unwrap();
            *kept.lock().unwrap() = Some(response.into());
        }
    };
    let mut wf = Workflow::builder("w");
    let node = wf.node("n", node);
    wf.edge(START, node);
    let runner = Runner::builder("demo").root(wf.build().unwrap()).build().unwrap();
    runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
    result.lock().unwrap().take().unwrap()
}

/// Returns a runner of an agent with the toolset.
pub(crate) fn runner(model: &ScriptedModel, toolset: &OpenApiToolset) -> Runner {
    let agent = LlmAgent::builder("helper").model(model.clone()).toolset(toolset.clone()).build().unwrap();
    Runner::builder("demo").root(agent).build().unwrap()
}

/// Drains a run and returns the responses of its tools, its questions, and all its events as text.
pub(crate) async fn drain(mut run: pleach::Run) -> (Vec<Value>, Vec<pleach::Question>, String) {
    let (mut responses, mut questions, mut all) = (Vec::new(), Vec::new(), String::new());
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        responses.extend(event.function_responses().map(|response| Value::from(response.response.clone().unwrap())));
        questions.extend(event.questions());
        all.push_str(&serde_json::to_string(&*event).unwrap());
    }
    (responses, questions, all)
}
