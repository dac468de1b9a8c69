//! The descriptions and pictures of apps that the development server shows.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::server::Server;
use pleach::{
    App, BoxFuture, InMemorySessionService, JoinNode, LoopAgent, ParallelAgent, ReadonlyContext, RetryConfig,
    SequentialAgent, Tool, Toolset,
};
use serde_json::{Value, json};

use crate::client::Reply;
use crate::served::{Served, apps, message, serve};

async fn shown(root: impl pleach::Node) -> Served {
    let app = App::new("shop", root).unwrap().resumable(true);
    serve(Server::new().app(app).sessions(InMemorySessionService::new()).dev(true)).await
}

fn agent(name: &str) -> LlmAgent {
    LlmAgent::builder(name).model(ScriptedModel::saying("Yes.").repeating()).build().unwrap()
}

/// A workflow with every kind of node.
fn workflow() -> Workflow {
    let mut inner = Workflow::builder("inner");
    let check = inner.node("check", async |Input(text): Input<String>| text);
    inner.edge(START, check);
    let inner = inner.build().unwrap();
    let mut wf = Workflow::builder("orders");
    let sort = wf.add(
        FunctionNode::new("sort", async |Input(text): Input<String>| Output::of(text).route("easy"))
            .retry(RetryConfig::attempts(2)),
    );
    let (inner, helper) = (wf.add(inner), wf.add(agent("helper")));
    let ship = wf.tool(tool("ship", "Ships.", async || "shipped"));
    let join = wf.add(JoinNode::new("both"));
    wf.edge(START, sort).route(sort, "easy", inner).route(sort, "hard", helper.dynamic()).route(
        sort,
        true,
        ship.dynamic(),
    );
    wf.edge(inner.dynamic(), join).edge(helper.dynamic(), join);
    wf.build().unwrap()
}

#[tokio::test]
async fn h105_a_workflow_is_described_with_its_nodes_and_edges() {
    let served = shown(workflow()).await;
    let app = served.get("/dev/apps/shop/build_graph").await.json();
    assert_eq!((&app["name"], &app["resumability_config"]), (&json!("shop"), &json!({"is_resumable": true})));
    assert!(app.get("plugins").is_none(), "{app}");
    let root = &app["root_agent"];
    let kinds: Vec<_> =
        root["graph"]["nodes"].as_array().unwrap().iter().map(|node| (&node["name"], &node["type"])).collect();
    let kinds = serde_json::to_value(kinds).unwrap();
    let expected = json!([
        ["__START__", "start"],
        ["sort", "function"],
        ["inner", "workflow"],
        ["helper", "agent"],
        ["ship", "tool"],
        ["both", "join"],
    ]);
    assert_eq!(kinds, expected);
    let sort = &root["graph"]["nodes"][1];
    assert_eq!((&sort["retry_config"]["max_attempts"], &sort["parameter_binding"]), (&json!(2), &json!("state")));
    let helper = &root["graph"]["nodes"][3];
    // The description of an agent as a node of a graph.
    assert_eq!(
        (&helper["mode"], &helper["rerun_on_resume"], &helper["wait_for_output"], &helper["include_contents"]),
        (&json!("single_turn"), &json!(true), &json!(false), &json!("none"))
    );
    assert_eq!(root["graph"]["nodes"][2]["graph"]["nodes"][1]["name"], "check");
    let routes: Vec<_> = root["graph"]["edges"].as_array().unwrap().iter().map(|edge| edge.get("route")).collect();
    assert_eq!(routes[..4], [None, Some(&json!("easy")), Some(&json!("hard")), Some(&json!(true))]);
    // Edges are chains of nodes, or maps from routes to nodes.
    let edges = root["edges"].as_array().unwrap();
    assert_eq!(edges[0], json!(["START", {"name": "sort", "type": "function"}]));
    assert_eq!(edges[1][0], json!({"name": "sort", "type": "function"}));
    assert_eq!(edges[1][1]["easy"]["type"], "workflow");
    assert_eq!(edges[1][1].as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn h105_a_function_that_asks_for_confirmation_says_so() {
    let node = |name: &str| FunctionNode::new(name, async |Input(text): Input<String>| text);
    let mut wf = Workflow::builder("asking");
    let (first, second) = (wf.add(node("never")), wf.add(node("always").require_confirmation()));
    let third = wf.add(node("sometimes").confirm_if(|_, _| false));
    wf.edge(START, first).edge(first, second).edge(second, third);
    let served = shown(wf.build().unwrap()).await;
    let app = served.get("/dev/apps/shop/build_graph").await.json();
    let nodes = app["root_agent"]["graph"]["nodes"].as_array().unwrap();
    let asks: Vec<_> = nodes[1..].iter().map(|node| node.get("require_confirmation")).collect();
    // A condition has no fixed value.
    assert_eq!(asks, [Some(&json!(false)), Some(&json!(true)), None]);
}

/// A toolset with one tool.
struct Drive;

impl Toolset for Drive {
    fn name(&self) -> &str {
        "drive"
    }

    fn tools<'a>(&'a self, _: &'a ReadonlyContext) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, NodeError>> {
        Box::pin(async { Ok(vec![Arc::new(tool("read", "Reads.", async || "text")) as _]) })
    }
}

#[tokio::test]
async fn h105_h107_h108_toolsets_are_shown_and_their_tools_where_they_are_called() {
    let model = ScriptedModel::calling("read", json!({})).then_text("Read.");
    let root = LlmAgent::builder("root").model(model).toolset(Drive).sub_agent(agent("helper")).build().unwrap();
    let served = shown(root).await;
    let described = served.get("/dev/apps/shop/build_graph").await.json();
    assert_eq!(described["root_agent"]["tools"], json!([{"name": "drive", "type": "tool"}]));
    let whole = dot(&served.get("/dev/apps/shop/graph").await);
    assert!(whole.contains("root -> drive [arrowhead=none color=\"#cccccc\"]") && !whole.contains("read"), "{whole}");
    served.session("shop", "s").await;
    let events = served.post("/run", message("shop", "s", "go")).await.json();
    let of = async |place: usize| {
        let id = events[place]["id"].as_str().unwrap();
        dot(&served.get(&format!("/dev/apps/shop/users/u/sessions/s/events/{id}/graph")).await)
    };
    let (call, answer) = (of(0).await, of(1).await);
    assert!(call.contains("root -> read [color=\"#69CB87\"]") && call.contains("🔧 read"), "{call}");
    assert!(answer.contains("root -> read [color=\"#69CB87\" dir=back]"), "{answer}");
}

#[tokio::test]
async fn h106_routes_are_labelled_as_python_prints_them() {
    let mut wf = Workflow::builder("routed");
    let node = |name: &str| FunctionNode::new(name, async |Input(text): Input<String>| Output::of(text).route("a"));
    let (first, both, off) = (wf.add(node("first")), wf.add(node("both")), wf.add(node("off")));
    wf.edge(START, first).route(first, ["a", "b"], both).route(first, false, off);
    let served = shown(wf.build().unwrap()).await;
    let pictures = served.get("/dev/apps/shop/build_graph_image").await.json();
    let dot = pictures[""]["dotSrc"].as_str().unwrap();
    // Routes that are false in Python are not labels.
    assert!(dot.contains("first -> off [label=\"\"]"), "{dot}");
    assert!(dot.contains("first -> both [label=\"  ['a', 'b']\"]"), "{dot}");
}

#[tokio::test]
async fn h105_an_agent_is_described_without_secrets_and_the_tools_of_its_sub_agents() {
    let config = pleach::model::GenerateConfig {
        temperature: Some(0.5),
        http_options: Some(serde_json::from_value(json!({"headers": {"authorization": "S3CR3T"}})).unwrap()),
        ..pleach::model::GenerateConfig::default()
    };
    let root = LlmAgent::builder("root")
        .model(ScriptedModel::saying("Yes.").repeating())
        .instruction("Be kind.")
        .output_key("said")
        .generate_config(config)
        .sub_agent(agent("helper"))
        .build()
        .unwrap();
    let served = shown(root).await;
    let reply = served.get("/dev/apps/shop/build_graph").await;
    assert!(!reply.text.contains("S3CR3T"), "{reply:?}");
    let root = &reply.json()["root_agent"];
    assert_eq!(root["generate_content_config"], json!({"temperature": 0.5}));
    assert_eq!((&root["output_key"], &root["instruction"]), (&json!("said"), &json!("Be kind.")));
    assert_eq!((root.get("mode"), &root["sub_agents"][0]["mode"]), (None, &json!("chat")));
    assert_eq!((&root["tools"], root.get("type")), (&json!([]), None));
}

#[tokio::test]
async fn h106_every_level_of_a_workflow_has_a_picture() {
    let served = shown(workflow()).await;
    let pictures = served.get("/dev/apps/shop/build_graph_image?dark_mode=true").await.json();
    assert_eq!(pictures.as_object().unwrap().keys().collect::<Vec<_>>(), ["", "inner"]);
    let dot = pictures[""]["dotSrc"].as_str().unwrap();
    for line in [
        "bgcolor=\"#0F172A\"",
        "sort -> inner [label=\"  easy\"]",
        "sort -> ship [label=\"  True\"]",
        "[NO DEFAULT]",
        "shape=diamond",
        "shape=oval style=filled tooltip=Join",
        "ship [label=",
        "both -> __END__",
    ] {
        assert!(dot.contains(line), "{line}: {dot}");
    }
    assert!(!dot.contains("sort -> __END__"), "{dot}");
    for node in ["inner", "orders/inner", "/inner/"] {
        let path = format!("/dev/apps/shop/build_graph_image?node={node}");
        let level = served.get(&path).await.json();
        assert!(level[node]["dotSrc"].as_str().unwrap().contains("check -> __END__"), "{level}");
    }
    let missing = served.get("/dev/apps/shop/build_graph_image?node=nope").await;
    assert_eq!((missing.status, missing.detail().as_str()), (404, "Node not found: nope"));
    assert_eq!(served.get("/dev/apps/shop/build_graph_image?dark_mode=maybe").await.status, 422);
    assert_eq!(served.get("/dev/apps/nope/build_graph_image").await.status, 404);
}

#[tokio::test]
async fn h106_a_node_whose_routes_all_have_edges_lacks_no_default() {
    #[derive(Routes)]
    enum Size {
        Small,
        Large,
    }
    let mut wf = Workflow::builder("orders");
    let sort = wf
        .node("sort", async |Input(n): Input<u32>| Output::of(n).route(if n < 10 { Size::Small } else { Size::Large }));
    let (pay, ask) = (wf.node("pay", async || 1), wf.node("ask", async || 2));
    wf.edge(START, sort).route(sort, Size::Small, pay).route(sort, Size::Large, ask);
    let pictures = shown(wf.build().unwrap()).await.get("/dev/apps/shop/build_graph_image").await.json();
    let dot = pictures[""]["dotSrc"].as_str().unwrap();
    assert!(dot.contains("shape=diamond") && !dot.contains("NO DEFAULT"), "{dot}");
}

#[tokio::test]
async fn h106_an_agent_is_a_tree_in_the_picture() {
    let served = serve(apps().dev(true)).await;
    let pictures = served.get("/dev/apps/demo/build_graph_image").await.json();
    let dot = pictures[""]["dotSrc"].as_str().unwrap();
    assert!(dot.contains("demo_agent -> helper [label=\"\"]"), "{dot}");
    assert!(dot.contains("demo_agent -> get_weather [color=\"#64748B\" style=dashed]"), "{dot}");
    assert!(!dot.contains("__END__"), "{dot}");
}

#[tokio::test]
async fn h107_agents_that_run_others_are_groups() {
    let steps = SequentialAgent::builder("steps").sub_agent(agent("a")).sub_agent(agent("b")).build().unwrap();
    let rounds = LoopAgent::builder("rounds").sub_agent(agent("c")).max_iterations(2).build().unwrap();
    let both = ParallelAgent::builder("both").sub_agent(agent("d")).sub_agent(agent("e")).build().unwrap();
    let root = LlmAgent::builder("root").model(ScriptedModel::saying("Yes.").repeating());
    let root = root.sub_agent(steps).sub_agent(rounds).sub_agent(both).build().unwrap();
    let served = shown(root).await;
    let dot = dot(&served.get("/dev/apps/shop/graph").await);
    for line in [
        "subgraph \"cluster_steps (Sequential Agent)\" {",
        "label=\"rounds (Loop Agent)\"",
        "label=\"both (Parallel Agent)\"",
        "\ta -> b [color=\"#cccccc\"]",
        "\tc -> c [color=\"#cccccc\"]",
        "\troot -> a [color=\"#cccccc\"]",
        "\troot -> d [color=\"#cccccc\"]",
        "\troot -> e [color=\"#cccccc\"]",
    ] {
        assert!(dot.contains(line), "{line}: {dot}");
    }
    assert!(!dot.contains("root -> steps") && !dot.contains("d -> e"), "{dot}");
    let described = served.get("/dev/apps/shop/build_graph").await.json();
    let rounds = &described["root_agent"]["sub_agents"][1];
    assert_eq!((&rounds["max_iterations"], rounds.get("model")), (&json!(2), None));
}

/// Indentation and order are those of the library with which google-adk writes Graphviz.
#[tokio::test]
async fn h107_a_group_in_a_group_is_written_with_its_attributes_last() {
    let rounds = LoopAgent::builder("rounds").sub_agent(agent("b")).max_iterations(2).build().unwrap();
    let steps = SequentialAgent::builder("steps").sub_agent(agent("a")).sub_agent(rounds).build().unwrap();
    let ship = tool("a \"b\"", "Ships.", async || "shipped");
    let root = LlmAgent::builder("root").model(ScriptedModel::saying("Yes.").repeating()).tool(ship);
    let served = shown(root.sub_agent(steps).build().unwrap()).await;
    let expected = "strict digraph {
\tgraph [bgcolor=\"#333537\" rankdir=LR]
\troot [label=\"🤖 root\" color=\"#cccccc\" fontcolor=\"#cccccc\" shape=ellipse style=rounded]
\tsubgraph \"cluster_steps (Sequential Agent)\" {
\t\ta [label=\"🤖 a\" color=\"#cccccc\" fontcolor=\"#cccccc\" shape=ellipse style=rounded]
\t\tsubgraph \"cluster_rounds (Loop Agent)\" {
\t\t\tb [label=\"🤖 b\" color=\"#cccccc\" fontcolor=\"#cccccc\" shape=ellipse style=rounded]
\t\t\tcolor=\"#ffffff\" fontcolor=\"#cccccc\" label=\"rounds (Loop Agent)\" style=rounded
\t\t}
\t\tb -> b [color=\"#cccccc\"]
\t\tcolor=\"#ffffff\" fontcolor=\"#cccccc\" label=\"steps (Sequential Agent)\" style=rounded
\t}
\ta -> b [color=\"#cccccc\"]
\troot -> a [color=\"#cccccc\"]
\t\"a \\\"b\\\"\" [label=\"🔧 a \\\"b\\\"\" color=\"#cccccc\" fontcolor=\"#cccccc\" shape=box style=rounded]
\troot -> \"a \\\"b\\\"\" [arrowhead=none color=\"#cccccc\"]
}
";
    assert_eq!(dot(&served.get("/dev/apps/shop/graph?dark_mode=true").await), expected);
}

#[tokio::test]
async fn h106_a_level_is_written_with_start_and_end_around_its_edges() {
    let mut wf = Workflow::builder("small");
    let sort = wf.node("sort", async |Input(text): Input<String>| Output::of(text).route(7));
    let (pay, ask) = (wf.node("node", async || 1), wf.add(agent("ask")));
    wf.edge(START, sort).route(sort, 7, pay).route(sort, true, ask.dynamic());
    let pictures = shown(wf.build().unwrap()).await.get("/dev/apps/shop/build_graph_image").await.json();
    let dot = pictures[""]["dotSrc"].as_str().unwrap();
    let (defaults, elements) = dot.split_once("\tsort [").unwrap();
    assert_eq!(defaults.lines().count(), 5, "{defaults}");
    let start = "color=\"#059669\" fillcolor=\"#10B981\"";
    let end = "color=\"#DC2626\" fillcolor=\"#EF4444\"";
    let mark = "fixedsize=true fontcolor=\"#0F172A\" fontname=\"Helvetica-Bold\" shape=oval style=filled width=0.9";
    let warning = "<br/><br/><FONT POINT-SIZE=\"10\">⚠️ [NO DEFAULT]</FONT>";
    let expected = format!(
        "label=<<FONT COLOR=\"#10B981\" POINT-SIZE=\"14\">ƒ</FONT> sort{warning}> fillcolor=\"#FFFFFF\" height=1.2 \
         margin=\"0.0,0.0\" shape=diamond style=filled tooltip=Function width=0.8]
\t\"node\" [label=<<FONT COLOR=\"#10B981\" POINT-SIZE=\"14\">ƒ</FONT> node> fillcolor=\"#FFFFFF\" \
         style=\"rounded,filled\" tooltip=Function]
\task [label=<<FONT COLOR=\"#42A5F5\" POINT-SIZE=\"14\">✦</FONT> ask> fillcolor=\"#FFFFFF\" \
         style=\"rounded,filled\" tooltip=Agent]
\t__START__ [label=START {start} {mark}]
\t__START__ -> sort [label=\"\"]
\tsort -> \"node\" [label=\"  7\"]
\tsort -> ask [label=\"  True\"]
\t__END__ [label=END {end} {mark}]
\t\"node\" -> __END__
\task -> __END__
}}
"
    );
    assert_eq!(elements, expected);
}

fn dot(reply: &Reply) -> String {
    let json: Value = reply.json();
    json["dotSrc"].as_str().unwrap().to_owned()
}
