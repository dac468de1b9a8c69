//! Tests that answers are checked against the type that the node declares, before anything is stored.

use std::collections::BTreeMap;

use pleach::prelude::*;
use pleach::{FunctionResponse, Map, Yield};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{runner, stored, trace};

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Item {
    count: u8,
    size: Size,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
struct Order {
    #[schemars(range(min = 1, max = 99))]
    id: u32,
    #[schemars(length(min = 2), regex(pattern = "^[a-z]+$"))]
    name: String,
    items: Vec<Item>,
    by_name: BTreeMap<String, Item>,
    #[serde(default)]
    times: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// Checks that each answer of `bad` is refused and not stored, and that `good` is then accepted. It does so for a
/// returned question, and for a question in the middle of a body.
async fn check<T>(good: Value, bad: &[(Value, &str)])
where
    T: Serialize + DeserializeOwned + JsonSchema + std::fmt::Debug + Send + Sync + 'static,
{
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<T>::ask("q", "?"));
    let take = wf.node("take", async |Input(t): Input<T>| t);
    wf.edge(START, ask).edge(ask, take);
    check_node(runner(wf.build_to(take).unwrap()).0, &good, bad).await;
    let node = FunctionNode::new("node", async |ctx: Context| ctx.ask::<T>("q", "?").await).rerun_on_resume(true);
    check_node(runner(node).0, &good, bad).await;
}

async fn check_node(runner: Runner, good: &Value, bad: &[(Value, &str)]) {
    trace(runner.run("ana", "s1", "go")).await;
    let events = async || {
        let session = runner.sessions().get_session(&crate::support::key(), Default::default()).await.unwrap();
        session.unwrap().events.len()
    };
    let before = events().await;
    for (answer, named) in bad {
        let error = runner.answer("s1", "q", answer).unwrap().output::<Value>().await.unwrap_err();
        assert!(matches!(error, RunError::Answer { .. }), "{answer}: {error}");
        let text = error.to_string();
        assert!(text.contains(named), "{answer}: {text}");
        assert!(!text.contains("4242"), "{answer}: {text}");
        assert_eq!(events().await, before, "{answer}");
    }
    runner.answer("s1", "q", good).unwrap().output::<Value>().await.unwrap();
}

fn order(change: &str, value: Value) -> Value {
    let mut order = json!({"id": 1, "name": "abc", "items": [], "by_name": {}});
    if !change.is_empty() {
        order[change] = value;
    }
    order
}

#[tokio::test]
async fn answers_keep_the_bounds_of_numbers() {
    check::<u32>(json!(4), &[(json!(-4), "at least 0"), (json!(42_424_242_424_u64), "at most"), (json!(1.5), "whole")])
        .await;
    check::<u8>(json!(255), &[(json!(300), "255"), (json!(-1), "at least 0")]).await;
    check::<i32>(json!(-1), &[(json!(4_242_424_242_i64), "at most")]).await;
}

#[tokio::test]
async fn answers_are_checked_against_enums_and_nested_types() {
    check::<Size>(json!("small"), &[(json!("4242"), "small"), (json!(4242), "a text")]).await;
    let item = json!({"count": 1, "size": "large"});
    let bad = [
        (order("id", json!(0)), "'id'"),
        (order("id", json!(100)), "'id'"),
        (order("name", json!("a")), "'name'"),
        (order("name", json!("A4242")), "'name'"),
        (order("items", json!([item, {"count": 4242, "size": "small"}])), "'items.1.count'"),
        (order("items", json!([{"count": 1, "size": "4242"}])), "'items.0.size'"),
        (order("items", json!([{"count": 1, "size": "small", "more": 4242}])), "'items.0.more'"),
        (order("by_name", json!({"a": {"size": "small"}})), "'by_name.a.count'"),
        (order("by_name", json!([])), "'by_name'"),
        (order("times", Value::Null), "'times'"),
    ];
    check::<Order>(order("items", json!([item])), &bad).await;
    // Fields with a default may be left out, and flattened fields are kept.
    let (runner, _) = runner({
        let mut wf = Workflow::builder("wf");
        let ask = wf.node("ask", async || RequestInput::<Order>::ask("q", "?"));
        let take = wf.node("take", async |Input(order): Input<Order>| order);
        wf.edge(START, ask).edge(ask, take);
        wf.build_to(take).unwrap()
    });
    trace(runner.run("ana", "s1", "go")).await;
    let taken: Order = runner.answer("s1", "q", order("extra", json!("x"))).unwrap().output().await.unwrap();
    assert_eq!((taken.times, taken.tags.len(), &taken.rest["extra"]), (0, 0, &json!("x")));
}

#[tokio::test]
async fn a_hand_written_schema_is_checked_at_every_depth() {
    let schema = json!({"type": "object", "properties": {"to": {"type": "array", "items": {"enum": ["a", "b"]}}}});
    let mut wf = Workflow::builder("wf");
    let asked = schema.clone();
    let ask = wf.node("ask", move || {
        let schema = asked.clone();
        async move { RequestInput::<Value>::ask("q", "?").with_schema(schema) }
    });
    wf.edge(START, ask);
    let (runner, _) = runner(wf.build_to(ask).unwrap());
    check_node(runner, &json!({"to": ["a"]}), &[(json!({"to": ["a", "4242"]}), "'to.1'")]).await;
}

/// A type whose schema is wider than its `Deserialize`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(with = "u32")]
struct Even(u32);

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        if number.is_multiple_of(2) { Ok(Self(number)) } else { Err(format!("{number} is odd")) }
    }
}

impl From<Even> for u32 {
    fn from(Even(number): Even) -> Self {
        number
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
struct Server {
    #[schemars(with = "String")]
    ip: std::net::IpAddr,
    ports: Vec<Even>,
}

/// Checks answers that fit the schema but not the type. If a node declares the type, they are refused before they are
/// stored, even in nested workflows. If a question was asked in the middle of a body, it is asked again.
async fn check_type<T>(good: Value, bad: &[(Value, &str)])
where
    T: Serialize + DeserializeOwned + JsonSchema + std::fmt::Debug + Send + Sync + 'static,
{
    let mut inner = Workflow::builder("inner");
    let ask = inner.node("ask", async || Ok::<_, NodeError>(RequestInput::<T>::ask("q", "?")));
    inner.edge(START, ask);
    let mut wf = Workflow::builder("wf");
    let (inner, take) = (wf.add(inner.build_to(ask).unwrap()), wf.node("take", async |Input(t): Input<T>| t));
    wf.edge(START, inner).edge(inner, take);
    check_node(runner(wf.build_to(take).unwrap()).0, &good, bad).await;

    let node = FunctionNode::new("node", async |ctx: Context| ctx.ask::<T>("q", "?").await).rerun_on_resume(true);
    let mut wf = Workflow::builder("wf");
    let node = wf.add(node);
    wf.edge(START, node);
    let (runner, _) = runner(wf.build_to(node).unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    for (answer, _) in bad {
        let error = runner.answer("s1", "q", answer).unwrap().output::<Value>().await.unwrap_err();
        assert!(matches!(&error, RunError::Waiting(open) if open.len() == 1 && open[0].id == "q"), "{answer}: {error}");
        assert_eq!(runner.questions(crate::support::key()).await.unwrap().len(), 1);
    }
    runner.answer("s1", "q", &good).unwrap().output::<T>().await.unwrap();
}

#[tokio::test]
async fn an_answer_that_only_its_type_refuses_is_not_stored_or_asked_again() {
    check_type::<Even>(json!("4"), &[(json!(4243), "valid Even")]).await;
    let server = |ip: &str, port: u32| json!({"ip": ip, "ports": [port]});
    let bad = [(server("4242", 2), "'ip'"), (server("::1", 4243), "'ports.0'")];
    check_type::<Server>(server("::1", 2), &bad).await;
    check_type::<BTreeMap<u8, Even>>(json!({"7": 2}), &[(json!({"7": 4243}), "'7'")]).await;
}

/// No schema is involved: a parameter of a node that runs again reads the answer.
#[tokio::test]
async fn an_answer_that_a_parameter_cannot_read_is_asked_again() {
    let node = FunctionNode::new("node", async |Resume(answer): Resume<Even>| match answer {
        Some(Even(number)) => Yield::from(json!(number)),
        None => Yield::from(RequestInput::<Value>::ask("q", "?")),
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    let error = runner.answer("s1", "q", 3).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(&error, RunError::Waiting(_)), "{error}");
    assert_eq!(runner.answer("s1", "q", 4).unwrap().output::<Value>().await.unwrap(), json!(4));
}

/// The Runner does not know the children of a node's body, so a child that cannot read its answer asks again.
#[tokio::test]
async fn a_child_whose_type_refuses_the_answer_asks_again() {
    let child = FunctionNode::new("child", async || RequestInput::<Even>::ask("q", "?"));
    let node = FunctionNode::new("node", move |ctx: Context| {
        let child = child.clone();
        async move { ctx.run(&child, ()).await }
    });
    let (runner, _) = runner(node.rerun_on_resume(true));
    trace(runner.run("ana", "s1", "go")).await;
    let error = runner.answer("s1", "q", 3).unwrap().output::<Value>().await.unwrap_err();
    assert!(matches!(&error, RunError::Waiting(_)), "{error}");
    assert_eq!(runner.answer("s1", "q", 4).unwrap().output::<Even>().await.unwrap(), Even(4));
}

/// If no store can keep an answer, the error blames the answer. There are several ways to send the answer.
#[tokio::test]
async fn an_answer_that_cannot_be_stored_is_refused_as_an_answer() {
    let deep = |levels| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
    let mut refused = Vec::new();
    for answer in (115..130).chain([400]).map(deep).chain([json!({ "note": "a\0b" })]) {
        for is_wire in [false, true] {
            let (runner, sessions) = runner(FunctionNode::new("ask", async || RequestInput::<Value>::ask("q", "?")));
            trace(runner.run("ana", "s1", "go")).await;
            let before = stored(&sessions).await;
            let map = || Map::from_iter([("result".to_owned(), answer.clone())]);
            let run = if is_wire {
                Ok(runner.run("ana", "s1", Part::function_response(FunctionResponse::new("q", "f", map()))))
            } else {
                runner.answer("s1", "q", &answer)
            };
            let Err(error) = (match run {
                Ok(run) => run.output::<Value>().await,
                Err(error) => Err(error),
            }) else {
                continue;
            };
            assert!(matches!(&error, RunError::Answer { id, .. } if id == "q"), "{error:?}");
            refused.push(error.to_string());
            assert_eq!(stored(&sessions).await, before);
        }
    }
    let text = |field: &str, reason: &str| {
        format!(
            "the answer to question 'q' was refused: {field}: {reason}. Nothing was stored and the question is still open; \
             answer it again"
        )
    };
    assert!(refused.len() > 4, "{refused:?}");
    assert_eq!(refused[0], text("response cannot be stored", "its values are nested more than 127 levels deep"));
    assert_eq!(
        refused.last().unwrap(),
        &text("response.result.note cannot be stored", "the text contains the character U+0000")
    );
}
