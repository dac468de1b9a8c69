//! Tools of agents: what they answer with, where they come from, and what their failures lead to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::model::LlmRequest;
use pleach::prelude::*;
use pleach::{
    AgentMode, AgentTool, BoxFuture, ReadonlyContext, Scheduling, SharedToolset, ToolResult, Toolset, to_camel,
};
use serde_json::{Value, json};

use crate::support::{runner, trace};

/// The contents of a request as JSON.
fn contents(request: &LlmRequest) -> Value {
    to_camel(&request.contents).unwrap()
}

/// Runs an agent with a tool that its model calls once, and returns the last content of the second request.
async fn response_of(tool: FunctionTool) -> Value {
    let model = Arc::new(ScriptedModel::calling(tool.name(), json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(tool).build().unwrap();
    trace(runner(agent).0.run("ana", "s1", "go")).await;
    let part = contents(&model.requests()[1]).as_array().unwrap().last().unwrap()["parts"][0].clone();
    let mut response = part["functionResponse"].clone();
    response.as_object_mut().unwrap().remove("id");
    response
}

// Issue 12, seam 2, L105: media ride on the response of the call, as google-adk 2.13.0 sends them.
#[tokio::test]
async fn l105_media_ride_on_the_response() {
    let chart = tool("chart", "Draws.", async || {
        ToolResult::from(json!({"a": 1})).with_bytes("image/png", b"png".to_vec()).with_file("text/plain", "gs://b/f")
    });
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "cG5n"}});
    let file = json!({"fileData": {"fileUri": "gs://b/f", "mimeType": "text/plain"}});
    let expected = json!({"name": "chart", "response": {"a": 1}, "parts": [image, file]});
    assert_eq!(response_of(chart).await, expected);

    let quiet = tool("quiet", "Is quiet.", async || {
        Ok::<_, NodeError>(ToolResult::from(json!("x")).with_scheduling(Scheduling::Silent))
    });
    let expected = json!({"name": "quiet", "response": {"result": "x"}, "scheduling": "SILENT"});
    assert_eq!(response_of(quiet).await, expected);
}

// L106: a long-running tool that gives media has a result.
#[tokio::test]
async fn l106_media_of_a_long_running_tool_are_its_result() {
    let preview = tool("preview", "Draws.", async || ToolResult::default().with_bytes("image/png", b"png".to_vec()));
    assert_eq!(response_of(preview.long_running()).await["response"], json!({}));
}

// R850: as a node, the value is the output and the media are the content of its event.
#[tokio::test]
async fn r850_media_of_a_tool_node_are_its_content() {
    let chart = tool("chart", "Draws.", async || ToolResult::from(json!(7)).with_bytes("image/png", b"png".to_vec()));
    let mut run = runner(ToolNode::new(chart)).0.run("ana", "s1", "");
    let event = run.next().await.unwrap().unwrap();
    assert_eq!(event.output(), Some(&json!(7)));
    let parts = json!([{"inlineData": {"mimeType": "image/png", "data": "cG5n"}}]);
    assert_eq!(to_camel(&event.content().unwrap().parts).unwrap(), parts);
}

/// A toolset that counts how often it is listed and closed.
#[derive(Clone, Default)]
struct Drive {
    listed: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    /// Its second tool has a name of its own for each listing.
    changes: bool,
    /// Why it cannot be closed.
    stuck: Option<&'static str>,
}

impl Toolset for Drive {
    fn name(&self) -> &str {
        "drive"
    }

    fn tools<'a>(
        &'a self,
        _: &'a ReadonlyContext,
    ) -> BoxFuture<'a, std::result::Result<Vec<Arc<dyn Tool>>, NodeError>> {
        let nth = self.listed.fetch_add(1, Ordering::Relaxed);
        let second = if self.changes { format!("write{nth}") } else { "write".to_owned() };
        let tools = ["read".to_owned(), second].map(|name| Arc::new(tool(name, "Works.", async || "ok")) as _);
        Box::pin(async move { Ok(tools.into()) })
    }

    fn changes_between_steps(&self) -> bool {
        self.changes
    }

    fn close(&self) -> BoxFuture<'_, std::result::Result<(), NodeError>> {
        self.closed.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match self.stuck {
                None => Ok(()),
                Some("forever") => std::future::pending().await,
                Some("panic") => panic!("no"),
                Some(why) => Err(NodeError::value(why)),
            }
        })
    }
}

/// The names that each request of a run declares.
fn declared(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |request: &LlmRequest| request.declarations().map(|one| one.name.clone().unwrap()).collect();
    model.requests().iter().map(names).collect()
}

// Issue 12, seam 2, L57: an invocation lists the tools once, another invocation again.
#[tokio::test]
async fn l57_a_toolset_is_listed_once_in_an_invocation() {
    let (drive, changing) = (Drive::default(), Drive { changes: true, ..Drive::default() });
    let calls = ScriptedModel::calling("read", json!({})).then_text("a").then_text("b");
    let model = Arc::new(calls);
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).toolset(drive.clone()).build().unwrap();
    let (runner_of_one, _) = runner(agent);
    trace(runner_of_one.run("ana", "s1", "go")).await;
    assert_eq!(drive.listed.load(Ordering::Relaxed), 1);
    trace(runner_of_one.run("ana", "s1", "go")).await;
    assert_eq!(drive.listed.load(Ordering::Relaxed), 2);

    let model = Arc::new(ScriptedModel::calling("read", json!({})).then_text("a"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).toolset(changing).build().unwrap();
    trace(runner(agent).0.run("ana", "s1", "go")).await;
    assert_eq!(declared(&model), [["read", "write0"], ["read", "write1"]]);
}

// L57: names get a prefix, in the declaration and in calls; a filter sees them without it.
#[tokio::test]
async fn l57_a_prefix_and_a_filter_choose_tools() {
    let drive = SharedToolset::new(Drive::default());
    let model = Arc::new(ScriptedModel::calling("g_read", json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper")
        .model(Arc::clone(&model))
        .toolset(drive.prefix("g").only(["read"]))
        .toolset(drive.filter(|tool, ctx| tool.name() == "write" && ctx.agent_name() == "helper"));
    trace(runner(agent.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert_eq!(declared(&model)[0], ["g_read", "write"]);
    let response = &contents(&model.requests()[1])[2]["parts"][0]["functionResponse"];
    assert_eq!((&response["name"], &response["response"]), (&json!("g_read"), &json!({"result": "ok"})));
}

// Issue 12, seam 2: a toolset is closed once with the Runner, wherever its agents are.
#[tokio::test]
async fn a_toolset_is_closed_once_with_the_runner() {
    let drive = Drive::default();
    let shared = SharedToolset::new(drive.clone());
    let agent = |name: &str| LlmAgent::builder(name).model(ScriptedModel::saying("done")).toolset(shared.prefix(name));
    let inner = agent("inner").build().unwrap();
    let child = agent("child").tool(AgentTool::new(inner)).build().unwrap();
    let mut wf = Workflow::builder("wf");
    let node = wf.add(agent("root").sub_agent(child).mode(AgentMode::SingleTurn).build().unwrap());
    wf.edge(START, node);
    let (runner, _) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(drive.closed.load(Ordering::Relaxed), 0);
    runner.close().await.unwrap();
    runner.close().await.unwrap();
    assert_eq!(drive.closed.load(Ordering::Relaxed), 1);
}

// Issue 12, seam 2: what cannot be closed is named, and holds nothing else up.
#[tokio::test(start_paused = true)]
async fn toolsets_that_do_not_close_are_named() {
    let drives = ["no connection", "forever", "panic"].map(|why| Drive { stuck: Some(why), ..Drive::default() });
    let good = Drive::default();
    let mut agent = LlmAgent::builder("helper").model(ScriptedModel::saying("done")).toolset(good.clone());
    for drive in drives {
        agent = agent.toolset(drive);
    }
    let error = runner(agent.build().unwrap()).0.close().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Failed to close toolsets: 'drive': no connection, 'drive': it did not close within 10s, 'drive': closing it panicked"
    );
    assert_eq!(good.closed.load(Ordering::Relaxed), 1);
}
