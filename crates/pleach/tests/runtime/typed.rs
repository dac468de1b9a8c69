//! Handlers: parameters, results, shared values.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{Field, FieldType, Schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{runner, trace};

#[derive(Debug, Serialize, Deserialize, JsonSchema, PartialEq)]
struct Order {
    id: u32,
    note: Option<String>,
}

#[tokio::test]
async fn e18_e21_the_users_message_is_read_as_the_first_node_wants_it() {
    async fn first<T>(message: &str) -> Result<Value, RunError>
    where
        T: serde::de::DeserializeOwned + Serialize + Send + 'static,
    {
        let node = FunctionNode::new("n", async |Input(given): Input<T>| given);
        runner(node).0.run("ana", "s1", message).output::<Value>().await
    }
    assert_eq!(first::<String>("12").await.unwrap(), json!("12"));
    assert_eq!(first::<i64>("12").await.unwrap(), json!(12));
    assert_eq!(first::<Order>("{\"id\":\"9\"}").await.unwrap(), json!({"id": 9, "note": null}));
    assert_eq!(first::<Order>("hello").await.unwrap_err().code(), "ValidationError");
    assert_eq!(first::<Content>("hi").await.unwrap(), Value::Null, "a message is not an output");
}

#[tokio::test]
async fn e14_e17_state_parameters_are_found_by_name_and_converted() {
    #[derive(Deserialize)]
    struct Wanted {
        foo: i64,
        #[serde(rename = "user:tier", default)]
        tier: String,
        extra: Option<bool>,
        order: Option<Order>,
    }
    async fn node(FromState(w): FromState<Wanted>) -> Value {
        json!([w.foo, w.tier, w.extra, w.order])
    }
    let run = |state: Value| async move {
        let request = pleach::RunRequest::new(("ana", "s1")).state_delta(state.as_object().unwrap().clone());
        trace(runner(FunctionNode::new("missing", node)).0.start(request)).await
    };
    let state = json!({"foo": "42", "user:tier": "gold", "order": {"id": "5"}, "other": 1});
    assert_eq!(run(state).await, ["missing@1: [42,\"gold\",null,{\"id\":5,\"note\":null}]"]);
    let lines = run(json!({"user:tier": "gold"})).await;
    let text = "WorkflowDataError: Missing value for parameter \"foo\" of function \"missing\". It was not found in state and has no default value.";
    assert_eq!(lines[0], format!("missing@1: {text}"));
    let lines = run(json!({"foo": "abc"})).await;
    assert!(lines[0].starts_with("missing@1: ValidationError"), "{lines:?}");
}

#[tokio::test]
async fn shared_values_are_provided_by_the_app_or_building_fails() {
    struct Rates(f64);
    async fn convert(Shared(rates): Shared<Rates>, Input(n): Input<f64>) -> f64 {
        n * rates.0
    }
    let mut wf = Workflow::builder("wf");
    let convert_ref = wf.node("convert", convert);
    wf.edge(START, convert_ref);
    let error = Runner::builder("t").root(wf.build().unwrap()).build().unwrap_err();
    assert_eq!(error.rule(), "not_provided");
    assert!(error.to_string().contains("Rates"), "{error}");
    let node = FunctionNode::new("convert", convert);
    let runner = Runner::builder("t").root(node).provide(Rates(2.0)).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "1.5").output::<f64>().await.unwrap(), 3.0);
}

#[tokio::test]
async fn a_value_may_be_provided_in_an_arc() {
    struct Pool(u32);
    let node =
        FunctionNode::new("node", async |Shared(pool): Shared<Pool>, whole: Shared<Arc<Pool>>| pool.0 + whole.0.0);
    let runner = Runner::builder("t").root(node).provide(Arc::new(Pool(2))).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "go").output::<u32>().await.unwrap(), 4);
}

#[tokio::test]
async fn a_trait_object_is_provided_as_its_arc() {
    trait Bank: Send + Sync {
        fn name(&self) -> &'static str;
    }
    struct Paper;
    impl Bank for Paper {
        fn name(&self) -> &'static str {
            "paper"
        }
    }
    let node = FunctionNode::new("name", async |Shared(bank): Shared<Arc<dyn Bank>>| bank.name());
    let bank: Arc<dyn Bank> = Arc::new(Paper);
    let runner = Runner::builder("t").root(node).provide(bank).build().unwrap();
    assert_eq!(runner.run("ana", "s1", "go").output::<String>().await.unwrap(), "paper");
}

#[tokio::test]
async fn r302_streams_yield_events_and_one_output() {
    let items = FunctionNode::new("items", || async {
        Ok::<_, NodeError>(futures::stream::iter([Event::message("one"), Event::message("two"), Event::of(3)]))
    });
    let lines = trace(runner(items).0.run("ana", "s1", "go")).await;
    assert_eq!(lines, ["items@1: says one", "items@1: says two", "items@1: 3"]);
}

#[tokio::test]
async fn e6_a_second_output_is_refused_and_not_sent() {
    let node = FunctionNode::new("node", async |ctx: Context| -> Result<i64, NodeError> {
        ctx.emit(json!(1)).await?;
        Ok(2)
    });
    let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
    let text = "ValueError: Output already set. A node can produce at most one output.";
    assert_eq!(lines, ["node@1: 1".to_owned(), format!("node@1: {text}"), format!("! {text}")]);
}

#[tokio::test]
async fn e38_e40_e42_schemas_are_enforced_where_adk_enforces_them() {
    let number = || Schema::model("N", [Field::new("n", FieldType::Int)]);
    let state = FunctionNode::new("state", async |ctx: Context| ctx.state().set("zz", 1)).state_schema(number());
    let lines = trace(runner(state).0.run("ana", "s1", "go")).await;
    assert!(lines[0].starts_with("state@1: StateSchemaError: Key 'zz' is not declared"), "{lines:?}");

    let mut wf = Workflow::builder("wf");
    let given = wf.node("given", async || json!({"n": "abc"}));
    let taken = wf.add(FunctionNode::new("taken", async |Input(v): Input<Value>| v).input_schema(number()));
    wf.edge(START, given).edge(given, taken);
    let lines = trace(runner(wf.build().unwrap()).0.run("ana", "s1", "go")).await;
    assert!(lines[1].starts_with("wf@1: ValidationError: dynamic node 'taken': N.n:"), "{lines:?}");

    let mut wf = Workflow::builder("wf");
    let given = wf.node("given", async || json!({"n": "5"}));
    wf.edge(START, given).output_schema(number());
    let (runner, sessions) = runner(wf.build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").output::<Value>().await.unwrap(), json!({"n": 5}));
    assert_eq!(crate::support::stored(&sessions).await, ["wf@1/given@1: {\"n\":\"5\"}"]);
}
