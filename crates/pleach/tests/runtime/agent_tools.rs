//! Tools of agents: their responses, their toolsets and their failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use pleach::model::{LlmRequest, LlmResponse, ScriptedReply};
use pleach::prelude::*;
use pleach::{
    AgentMode, AgentTool, ArtifactScope, ArtifactService, BoxFuture, InMemoryArtifactService, MemoryEntry,
    MemoryResult, MemoryService, Part, ReadonlyContext, SaveArtifact, Scheduling, SearchMemory, SearchMemoryResponse,
    Session, SessionKey, SharedToolset, ToolResult, Toolset, load_artifacts, load_memory, preload_memory,
    request_input, to_camel,
};
use serde_json::{Value, json};

use crate::support::{runner, trace};

/// The contents of a request as JSON.
fn contents(request: &LlmRequest) -> Value {
    to_camel(&request.contents).unwrap()
}

/// Runs an agent with a tool that its model calls once and returns the last content of the second request.
async fn response_of(tool: FunctionTool) -> Value {
    let model = Arc::new(ScriptedModel::calling(tool.name(), json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(tool).build().unwrap();
    trace(runner(agent).0.run("ana", "s1", "go")).await;
    let part = contents(&model.requests()[1]).as_array().unwrap().last().unwrap()["parts"][0].clone();
    let mut response = part["functionResponse"].clone();
    response.as_object_mut().unwrap().remove("id");
    response
}

// L105: media are sent with the response of the call, as google-adk 2.13.0 sends them.
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

// L106: a long-running tool that returns media has a result.
#[tokio::test]
async fn l106_media_of_a_long_running_tool_are_its_result() {
    let preview = tool("preview", "Draws.", async || ToolResult::default().with_bytes("image/png", b"png".to_vec()));
    assert_eq!(response_of(preview.long_running()).await["response"], json!({}));
}

// R850: if a tool is a node, its value is the output and its media are the content of the event.
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
    /// Whether the second tool has a new name in each listing.
    changes: bool,
    /// The way in which closing fails, if it does.
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

/// The names of the functions that each request of a run declares.
fn declared(model: &ScriptedModel) -> Vec<Vec<String>> {
    let names = |request: &LlmRequest| request.declarations().map(|one| one.name.clone().unwrap()).collect();
    model.requests().iter().map(names).collect()
}

// L57: each invocation lists the tools once.
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

// L57: names have a prefix in declarations and in calls. A filter sees the names without the prefix.
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

// L57: the names of a server's tools do not replace the agent's own tools or the tools of another server.
#[tokio::test]
async fn l57_a_name_that_is_taken_stays_with_its_tool() {
    let model = Arc::new(ScriptedModel::calling("read", json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model));
    let agent = agent.toolset(Drive::default()).toolset(Drive::default());
    let agent = agent.tool(tool("read", "Reads.", async || "own"));
    trace(runner(agent.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert_eq!(declared(&model)[0], ["write", "read"]);
    let response = &contents(&model.requests()[1])[2]["parts"][0]["functionResponse"];
    assert_eq!(response["response"], json!({"result": "own"}));
}

// A toolset is closed once with the Runner, wherever its agents are.
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

// A toolset that cannot be closed is named and delays nothing else.
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

/// The system instruction of a request.
fn instruction(request: &LlmRequest) -> &str {
    request.config.system_instruction.as_deref().unwrap_or_default()
}

/// A memory of an earlier session that a search for its words finds.
#[derive(Debug)]
struct Earlier;

impl MemoryService for Earlier {
    fn add_session_to_memory<'a>(&'a self, _: &'a Session) -> BoxFuture<'a, MemoryResult<()>> {
        Box::pin(async { Ok(()) })
    }

    fn search_memory(&self, search: SearchMemory) -> BoxFuture<'_, MemoryResult<SearchMemoryResponse>> {
        let entries =
            [("I like tea", "user", "1970-01-01T00:16:40"), ("ok tea noted", "agent", "1970-01-01T00:16:41.500000")];
        let is_found = |text: &str| search.query.split(' ').any(|word| text.split(' ').any(|known| known == word));
        let found = entries.into_iter().filter(|(text, ..)| is_found(text)).map(|(text, author, time)| MemoryEntry {
            content: Content::user(text),
            author: Some(author.to_owned()),
            timestamp: Some(time.to_owned()),
            ..MemoryEntry::default()
        });
        let memories = found.collect();
        Box::pin(async move { Ok(SearchMemoryResponse { memories }) })
    }
}

/// A Runner with files and a memory of an earlier session.
async fn with_services(agent: LlmAgent) -> Runner {
    let artifacts = InMemoryArtifactService::with_clock(Arc::new(pleach::SystemClock));
    let scope = ArtifactScope::session(&SessionKey::new("app", "ana", "s1"));
    for (name, part) in [
        ("f.txt", Part::bytes("text/plain", b"hello".to_vec())),
        ("p.png", Part::bytes("image/png", b"x".to_vec())),
        ("user:u.bin", Part::bytes("application/zip", vec![b'x'; 2000])),
        ("t", Part::text("plain")),
    ] {
        artifacts.save_artifact(SaveArtifact::new(scope.artifact(name), part)).await.unwrap();
    }
    Runner::builder("app").root(agent).artifacts(artifacts).memory(Earlier).build().unwrap()
}

/// The list of files, as google-adk 2.13.0 writes it.
const FILES: &str = "You have a list of artifacts:\n  [\"f.txt\", \"p.png\", \"t\", \"user:u.bin\"]\n\n  When the user asks questions about any of the artifacts, you should call the\n  `load_artifacts` function to load the artifact. Always call load_artifacts\n  before answering questions related to the artifacts, regardless of whether the\n  artifacts have been loaded before. Do not depend on prior answers about the\n  artifacts.\n  ";

// Every request lists the files, but only the request right after the call contains their content. The expected values were recorded
// from google-adk 2.13.0.
#[tokio::test]
async fn load_artifacts_shows_files_once() {
    let names = json!({"artifact_names": ["f.txt", "p.png", "u.bin", "t", "nope"]});
    let model = Arc::new(ScriptedModel::calling("load_artifacts", names.clone()).then_text("done").then_text("more"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).instruction("Hi").tool(load_artifacts());
    let runner = with_services(agent.build().unwrap()).await;
    trace(runner.run("ana", "s1", "go")).await;
    trace(runner.run("ana", "s1", "again")).await;
    let requests = model.requests();
    for request in &requests {
        let expected = format!("Hi\n\nYou are an agent. Your internal name is \"helper\".\n\n{FILES}");
        assert_eq!(instruction(request), expected);
    }
    let shown = contents(&requests[1]);
    let status = "artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again.";
    let response = json!({"artifact_names": names["artifact_names"], "status": status});
    assert_eq!(shown[2]["parts"][0]["functionResponse"]["response"], response);
    let file =
        |name: &str, part: Value| json!({"role": "user", "parts": [{"text": format!("Artifact {name} is:")}, part]});
    let zip = "[Binary artifact: u.bin, type: application/zip, size: 2.0 KB. Content cannot be displayed inline.]";
    let expected = [
        file("f.txt", json!({"text": "hello"})),
        file("p.png", json!({"inlineData": {"mimeType": "image/png", "data": "eA=="}})),
        file("u.bin", json!({"text": zip})),
        file("t", json!({"text": "plain"})),
    ];
    assert_eq!(shown.as_array().unwrap()[3..], expected);
    assert_eq!(contents(&requests[2]).as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn load_artifacts_refuses_arguments_that_are_not_a_list_of_names() {
    let calls = ScriptedModel::calling("load_artifacts", json!({"artifact_names": "x"}));
    let model = Arc::new(calls.then_call("load_artifacts", json!({})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(load_artifacts().convert(|_, _| None));
    trace(with_services(agent.build().unwrap()).await.run("ana", "s1", "go")).await;
    let last = contents(&model.requests()[2]);
    let error = json!({"error": "'artifact_names' must be a list of strings.", "error_code": "INVALID_ARGUMENTS"});
    assert_eq!(last[2]["parts"][0]["functionResponse"]["response"], error);
    assert_eq!(last[4]["parts"][0]["functionResponse"]["response"]["artifact_names"], json!([]));
    // Without files the instruction does not mention files.
    let model = Arc::new(ScriptedModel::saying("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(load_artifacts()).build().unwrap();
    let artifacts = InMemoryArtifactService::with_clock(Arc::new(pleach::SystemClock));
    let runner = Runner::builder("app").root(agent).artifacts(artifacts).build().unwrap();
    trace(runner.run("ana", "s1", "go")).await;
    assert!(!instruction(&model.requests()[0]).contains("artifacts"));
}

/// The instruction with the memory, as google-adk 2.13.0 writes it.
const REMEMBERED: &str = "The following content is from your previous conversations with the user.\nThey may be useful for answering the user's current query.\n<PAST_CONVERSATIONS>\nTime: 1970-01-01T00:16:40\nuser: I like tea\nTime: 1970-01-01T00:16:41.500000\nagent: ok tea noted\n</PAST_CONVERSATIONS>\n";

// The text from memory comes before the user's message, or after the response in the middle of a turn. The expected values were
// recorded from google-adk 2.13.0.
#[tokio::test]
async fn preload_memory_shows_what_the_message_finds() {
    let model = Arc::new(ScriptedModel::calling("t", json!({})).then_text("done").then_text("more"));
    let tools = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(preload_memory());
    let runner = with_services(tools.tool(tool("t", "T.", async || "x")).build().unwrap()).await;
    trace(runner.run("ana", "s1", "tea please")).await;
    trace(runner.run("ana", "s1", "unrelated")).await;
    let (requests, remembered) = (model.requests(), json!([{"text": REMEMBERED}]));
    let memory = |request: &LlmRequest| {
        let places = contents(request).as_array().unwrap().iter().position(|content| content["parts"] == remembered);
        (places, request.contents.len())
    };
    let all: Vec<_> = requests.iter().map(memory).collect();
    assert_eq!(all, [(Some(0), 2), (Some(3), 4), (None, 5)]);
    assert_eq!(declared(&model)[0], ["t"]);
}

// Recorded from google-adk 2.13.0: the result there is not an object, so it is wrapped.
#[tokio::test]
async fn load_memory_shows_that_there_is_a_memory() {
    let model = Arc::new(ScriptedModel::calling("load_memory", json!({"query": "noted"})).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(load_memory()).build().unwrap();
    trace(with_services(agent).await.run("ana", "s1", "what")).await;
    let requests = model.requests();
    let told = "\n\n\nYou have memory. You can use it to answer questions. If any questions need\nyou to look up the memory, you should call load_memory function with a query.\n";
    assert!(instruction(&requests[0]).ends_with(told), "{}", instruction(&requests[0]));
    let response = &contents(&requests[1])[2]["parts"][0]["functionResponse"]["response"];
    assert_eq!(response["result"]["memories"][0]["content"]["parts"], json!([{"text": "ok tea noted"}]));
}

// The model asks the user: the call is an open question with a message and a schema.
#[tokio::test]
async fn request_input_asks_the_user() {
    let asked = json!({"message": "Size?", "response_schema": {"type": "string"}});
    let model = Arc::new(ScriptedModel::calling("adk_request_input", asked).then_text("done"));
    let agent = LlmAgent::builder("helper").model(Arc::clone(&model)).tool(request_input()).build().unwrap();
    let (runner, _) = runner(agent);
    trace(runner.run("ana", "s1", "go")).await;
    assert_eq!(model.requests().len(), 1);
    let open = runner.questions(("ana", "s1")).await.unwrap();
    assert_eq!((open.len(), open[0].message.as_str()), (1, "Size?"));
    assert!(runner.answer(("ana", "s1"), &open[0], 7).unwrap().reply().await.is_err());
    assert_eq!(runner.answer(("ana", "s1"), &open[0], "L").unwrap().reply().await.unwrap(), "done");
    let response = &contents(&model.requests()[1])[2]["parts"][0]["functionResponse"];
    assert_eq!((&response["name"], &response["response"]), (&json!("adk_request_input"), &json!({"result": "L"})));
    let schema = model.requests()[0].declarations().next().unwrap().parameters_json_schema.clone().unwrap();
    assert_eq!(schema["required"], json!(["message"]));
}

/// Two agents that are called at once each add to a counter of the user. Neither sum replaces the other.
#[tokio::test]
async fn additions_of_called_agents_to_the_state_add_up() {
    let count = tool("count", "Counts.", async |ctx: ToolContext| -> Result<&str> {
        ctx.state().add("user:calls", 1)?;
        Ok("counted")
    });
    let model = ScriptedModel::new().then(ScriptedReply::with(|request| {
        let is_done = request.contents.iter().any(|content| content.function_responses().next().is_some());
        if is_done {
            return LlmResponse::text("done");
        }
        LlmResponse::calls([pleach::FunctionCall { name: Some("count".into()), ..Default::default() }])
    }));
    let counter = LlmAgent::builder("counter").model(model.repeating()).tool(count).build().unwrap();
    let calls = [("counter", json!({"request": "a"})), ("counter", json!({"request": "b"}))];
    let root = ScriptedModel::new().then_calls(calls).then_text("done");
    let root = LlmAgent::builder("root").model(root).tool(AgentTool::new(counter)).build().unwrap();
    let (runner, sessions) = runner(root);
    trace(runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&crate::support::key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(session.state["user:calls"], 2);
}
