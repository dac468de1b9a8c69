//! Facts about a run that node code can read: the session, the agent, the services, the names of children.

use std::sync::Arc;

use pleach::model::HttpOptions;
use pleach::prelude::*;
use pleach::{
    InMemoryCredentialService, InMemoryMemoryService, InMemorySessionService, Key, MemoryEntry, MemoryService,
    NodeError, ReadonlyContext, RunRequest, SearchMemory, Session,
};
use serde_json::{Value, json};

use crate::support::{rerun, runner};

const COUNT: Key<u32> = Key::new("count");

#[tokio::test]
async fn r220_services_take_the_session_of_a_run() {
    let body = async |ctx: Context| -> Result<Value> {
        ctx.emit(Event::message("first")).await?;
        COUNT.set(&ctx, &3)?;
        let session: Session = ctx.session().into();
        let memory = InMemoryMemoryService::new();
        memory.add_session_to_memory(&session).await?;
        let found = memory.search_memory(SearchMemory::new("t", "ana", "otters")).await?.memories.len();
        let own = session.events.iter().filter(|event| !event.is_from_user());
        let said: Vec<String> = own.map(|event| event.text()).collect();
        let view = ReadonlyContext::from(&ctx);
        Ok(json!([COUNT.of(&session)?, said, found, view.session().id().as_str()]))
    };
    let (runner, _) = runner(rerun("look", body));
    let seen = runner.run("ana", "s1", "About otters.").output::<Value>().await.unwrap();
    assert_eq!(seen, json!([3, ["first"], 1, "s1"]));
}

#[tokio::test]
async fn r220_the_invocation_names_its_agent_and_its_services() {
    let look = tool("look", "Looks.", async |ctx: ToolContext| {
        let ic = ctx.invocation();
        let agent = ic.agent().map(|agent| agent.name.to_string());
        json!([agent, ic.credential_service().is_some(), ic.memory_service().is_some()])
    });
    let model = ScriptedModel::calling("look", json!({})).then_text("done");
    let agent = LlmAgent::builder("helper").model(model.clone()).tool(look).build().unwrap();
    let runner = Runner::builder("t")
        .root(agent)
        .sessions(InMemorySessionService::new())
        .credentials(InMemoryCredentialService::new())
        .build()
        .unwrap();
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "done");
    let answer = format!("{:?}", model.requests()[1].contents);
    assert!(answer.contains("helper") && answer.contains("true") && answer.contains("false"), "{answer}");
    let (plain, _) = self::runner(FunctionNode::new("n", async |ctx: Context| ctx.invocation().agent().is_none()));
    assert!(plain.run("ana", "s1", "go").output::<bool>().await.unwrap());
}

#[tokio::test]
async fn r703_the_run_id_of_the_next_child_is_right_also_in_a_tool() {
    let names = async |ctx: &Context| -> Result<[String; 2]> {
        let child = FunctionNode::new("child", async |ctx: Context| ctx.node_path().to_string());
        let mut names = Vec::new();
        for _ in 0..2 {
            let expected = ctx.next_child_run_id("child");
            let path: String = ctx.run(&child, "x").await?;
            names.push((path.rsplit('@').next().unwrap_or_default() == expected).to_string());
        }
        Ok([names.remove(0), names.remove(0)])
    };
    let (in_node, _) = runner(rerun("n", move |ctx: Context| async move { names(&ctx).await }));
    assert_eq!(in_node.run("ana", "s1", "go").output::<[String; 2]>().await.unwrap(), ["true", "true"]);
    let look = tool("look", "Looks.", move |ctx: ToolContext| async move { names(&ctx).await });
    let model = ScriptedModel::calling("look", json!({})).then_call("look", json!({})).then_text("done");
    let (in_tool, _) = runner(LlmAgent::builder("helper").model(model.clone()).tool(look).build().unwrap());
    assert_eq!(in_tool.run("ana", "s1", "go").reply().await.unwrap(), "done");
    assert!(!format!("{:?}", model.requests()[2].contents).contains("\"false\""));
}

#[tokio::test]
async fn r220_memories_get_metadata_through_the_context() {
    let memory = Arc::new(InMemoryMemoryService::new());
    let body = async |ctx: Context| -> Result<(), NodeError> {
        let metadata = json!({"topic": "otters"}).as_object().cloned().unwrap_or_default();
        ctx.add_events_to_memory_with(ctx.session().events(), metadata.clone()).await?;
        let entry = MemoryEntry { content: pleach::Content::user("Otters swim."), ..MemoryEntry::default() };
        ctx.add_memory_with(vec![entry], metadata).await
    };
    let runner = Runner::builder("t")
        .root(FunctionNode::new("n", body))
        .sessions(InMemorySessionService::new())
        .memory(Arc::clone(&memory))
        .build()
        .unwrap();
    runner.run("ana", "s1", "About otters.").output::<()>().await.unwrap();
    let found = memory.search_memory(SearchMemory::new("t", "ana", "otters")).await.unwrap().memories;
    let texts: Vec<_> = found.iter().map(|entry| entry.content.text()).collect();
    assert_eq!(texts, ["About otters.", "Otters swim."]);
    for entry in &found {
        assert_eq!(entry.custom_metadata["topic"], "otters");
    }
}

#[tokio::test]
async fn l26_options_of_a_run_reach_the_model() {
    let read = |value| serde_json::from_value::<HttpOptions>(value).unwrap();
    let config = pleach::model::GenerateConfig {
        http_options: Some(read(json!({"headers": {"a": "1", "b": "1"}, "baseUrl": "http://a"}))),
        ..Default::default()
    };
    let model = ScriptedModel::saying("done");
    let agent = LlmAgent::builder("helper").model(model.clone()).generate_config(config).build().unwrap();
    let (runner, _) = runner(agent);
    let run = RunConfig::default().http_options(read(json!({"headers": {"b": "2"}, "baseUrl": "http://b"})));
    runner.start(RunRequest::new(("ana", "s1")).message("go").config(run)).reply().await.unwrap();
    let expected = read(json!({"headers": {"a": "1", "b": "2"}, "baseUrl": "http://a"}));
    assert_eq!(model.requests()[0].config.http_options.as_ref(), Some(&expected));
}

#[tokio::test]
async fn r220_a_run_knows_what_triggered_it_and_what_may() {
    async fn seen(ctx: Context) -> Value {
        json!([ctx.triggered_by(), ctx.in_nodes(), ctx.execution_id(), ctx.run_id()])
    }
    let mut wf = Workflow::builder("wf");
    let body = async |ctx: Context| {
        let inner = FunctionNode::new("inner", seen);
        let child: Value = ctx.run(&inner, "x").await?;
        Ok::<_, NodeError>(Output::of(json!([seen(ctx).await, child])).route("b"))
    };
    let first = wf.add(FunctionNode::new("first", body).rerun_on_resume(true));
    let (a, b) = (
        wf.node("a", seen),
        wf.node("b", async |ctx: Context, Input(before): Input<Value>| json!([before, seen(ctx).await])),
    );
    wf.edge(START, first).route(first, "a", a).route(first, "b", b).edge(a, b);
    let (runner, _) = runner(wf.build().unwrap());
    let output = runner.run("ana", "s1", "go").output::<Value>().await.unwrap();
    let of_first = json!([["__START__", ["__START__"], "1", "1"], ["", [], "1", "1"]]);
    assert_eq!(output, json!([of_first, ["first", ["a", "first"], "1", "1"]]));
}

#[tokio::test]
async fn r703_a_child_has_the_name_that_its_caller_chose() {
    let body = async |ctx: Context| -> Result<Value> {
        let child = FunctionNode::new("child", async |ctx: Context| ctx.node_path().to_string());
        let named = ctx.run_node(&child, pleach::NodeInput::Null, pleach::RunOptions::default().name("other")).await?;
        Ok(named.into_value())
    };
    let (runner, _) = runner(rerun("n", body));
    assert_eq!(runner.run("ana", "s1", "go").output::<Value>().await.unwrap(), json!("wf@1/n@1/other@1"));
}

// S14: the temporary state of one agent of a turn can be read by the agents that it transfers to.
#[tokio::test]
async fn temporary_state_reaches_sub_agents_and_no_later_turn() {
    let put = tool("put", "Keeps.", async |ctx: ToolContext| -> Result<&str> {
        ctx.state().set("temp:seen", "otter")?;
        Ok("kept")
    });
    let get = tool("get", "Reads.", async |ctx: ToolContext| format!("{:?}", ctx.state().value("temp:seen")));
    let reader =
        ScriptedModel::calling("get", json!({})).then_text("read").then_call("get", json!({})).then_text("again");
    let sub = LlmAgent::builder("sub").model(reader.clone()).tool(get).build().unwrap();
    let root = ScriptedModel::calling("put", json!({})).then_call("transfer_to_agent", json!({"agent_name": "sub"}));
    let (runner, _) = runner(LlmAgent::builder("root").model(root).tool(put).sub_agent(sub).build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").reply().await.unwrap(), "read");
    assert!(format!("{:?}", reader.requests()[1].contents).contains("otter"));
    assert_eq!(runner.run("ana", "s1", "and now?").reply().await.unwrap(), "again");
    let contents = &reader.requests()[3].contents;
    assert!(format!("{:?}", contents.last()).contains("None"), "{contents:?}");
}
