//! Reserved keys, which the runtime trusts: node code cannot write them, and a program must declare that it writes them.

use std::sync::Arc;

use pleach::prelude::*;
use pleach::{
    AnswerOptions, GivenAnswer, InMemorySessionService, Map, RequestInput, RunConfig, RunRequest, StateRights,
};
use serde_json::{Value, json};

use crate::support::{key, trace};

const KEYS: &[&str] =
    &["_pleach_budget:x", "user:_pleach_budget:x", "app:_adk_x", "temp:adk_oauth_state:q", "pleach_signal"];

fn map(value: Value) -> Map {
    value.as_object().unwrap().clone()
}

fn runner(root: impl pleach::Node) -> (Runner, Arc<InMemorySessionService>) {
    let sessions = Arc::new(InMemorySessionService::new());
    (Runner::builder("t").root(root).sessions(Arc::clone(&sessions)).build().unwrap(), sessions)
}

/// Runs a node that writes, and returns the last line of the trace and the stored state.
async fn written(node: impl pleach::Node) -> (String, Map) {
    let (runner, sessions) = runner(node);
    let lines = trace(runner.run("ana", "s1", "go")).await;
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    (lines.last().unwrap().clone(), stored.state)
}

#[tokio::test]
async fn node_code_does_not_write_reserved_keys() {
    type Write = fn(&Context, &str) -> Result<(), NodeError>;
    let writes: [(&str, Write); 8] = [
        ("set", |ctx, key| ctx.state().set(key, 1)),
        ("add", |ctx, key| ctx.state().add(key, 1)),
        ("max", |ctx, key| ctx.state().max(key, 1)),
        ("push", |ctx, key| ctx.state().push(key, 1)),
        ("set_if_absent", |ctx, key| ctx.state().set_if_absent(key, 1)),
        ("get_or_set", |ctx, key| ctx.state().get_or_set(key, 1).map(drop)),
        ("modify", |ctx, key| ctx.state().modify(key, |value| *value = json!(1))),
        ("with_actions", |ctx, key| ctx.with_actions(|actions| actions.set_state(key.to_owned(), json!(1))).map(drop)),
    ];
    for (name, write) in writes {
        for key in KEYS {
            let (last, state) = written(FunctionNode::new("writes", move |ctx: Context| async move {
                ctx.state().set("own", 1)?;
                write(&ctx, key)
            }))
            .await;
            assert!(last.contains("ReservedKeyError") && last.contains(key), "{name} {key}: {last}");
            assert_eq!(state.keys().collect::<Vec<_>>(), ["own"], "{name} {key}");
        }
    }
}

#[tokio::test]
async fn an_event_of_node_code_has_no_reserved_keys() {
    for key in KEYS {
        let (last, state) =
            written(FunctionNode::new("yields", move || async move { Event::new().with_state(*key, 1) })).await;
        assert!(last.contains("ReservedKeyError") && last.contains(key), "{key}: {last}");
        assert_eq!(state, Map::new());
        let (last, state) = written(FunctionNode::new("emits", move |ctx: Context| async move {
            let op = pleach::StateOp::Add(1.into());
            ctx.emit(Event::new().with_state_op(*key, op)).await
        }))
        .await;
        assert!(last.contains("ReservedKeyError") && last.contains(key), "{key}: {last}");
        assert_eq!(state, Map::new());
    }
}

/// A forged note of completed runs would make a resume skip nodes that never ran.
#[tokio::test]
async fn an_event_of_node_code_has_no_notes_of_the_engine() {
    let forged =
        || map(json!({"pleach_completed_runs": ["wf@1/pay@1"], "_pleach_budget": {}, "pleach_signal": 1, "own": 1}));
    let mut wf = Workflow::builder("wf");
    let node = wf.node("forges", move |ctx: Context| async move {
        ctx.emit(Event::message("x").with_custom_metadata(forged())).await?;
        assert!(ctx.invocation().set_custom_metadata("_pleach_budget", 1).is_err());
        ctx.invocation().set_custom_metadata("run", 1)?;
        Ok::<_, NodeError>(Event::of("done").with_custom_metadata(forged()))
    });
    wf.edge(START, node);
    let (runner, sessions) = runner(wf.build().unwrap());
    let mut config = RunConfig::default();
    config.custom_metadata = forged();
    let request = RunRequest::new(("ana", "s1")).message("go").config(config);
    trace(runner.start(request)).await;
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let metadata: Vec<Value> = stored.events.iter().map(|event| json!(event.custom_metadata())).collect();
    assert_eq!(metadata, [json!({"own": 1}), json!({"own": 1}), json!({"own": 1, "run": 1})]);
}

#[tokio::test]
async fn a_model_does_not_write_notes_of_the_engine() {
    let mut answer = pleach::model::LlmResponse::text("hi");
    answer.custom_metadata = Some(map(json!({"pleach_completed_runs": ["x"], "_pleach_budget": {}, "own": 1})));
    let model = ScriptedModel::new().then(answer);
    let (runner, sessions) = runner(LlmAgent::builder("helper").model(model).build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(json!(stored.events[1].custom_metadata()), json!({"own": 1}));
}

#[tokio::test]
async fn a_program_declares_that_it_writes_reserved_keys() {
    let mut wf = Workflow::builder("wf");
    let node = wf.node("ends", async || "done");
    wf.edge(START, node);
    let (runner, sessions) = runner(wf.build().unwrap());
    let delta = || map(json!({"user:_pleach_budget:base:model_calls": 3}));
    let refused = runner.start(RunRequest::new(("ana", "s1")).message("go").state_delta(delta())).reply().await;
    assert!(matches!(&refused, Err(RunError::RefusedState(key)) if key.key().ends_with("model_calls")), "{refused:?}");
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap();
    assert!(stored.is_none_or(|stored| stored.events.is_empty()));
    let request = RunRequest::new(("ana", "s1")).message("go").reserved_state_delta(delta());
    trace(runner.start(request)).await;
    // Unchanged values may be sent along.
    trace(runner.start(RunRequest::new(("ana", "s1")).message("go").state_delta(delta()))).await;
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(stored.state, delta());
    let deltas: Vec<usize> = stored.events.iter().map(|event| event.actions().state_delta().len()).collect();
    assert_eq!(deltas.iter().sum::<usize>(), 1, "{deltas:?}");
    let shared = RunRequest::new(("ana", "s1")).message("go").state_delta(map(json!({"app:x": 1})));
    let refused = runner.start(shared.clone().state_rights(StateRights::WithoutApp)).reply().await;
    assert!(matches!(&refused, Err(RunError::RefusedState(key)) if key.key() == "app:x"), "{refused:?}");
    trace(runner.start(shared)).await;
}

#[tokio::test]
async fn a_named_caller_answers_its_own_questions() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("q", "Refund?").assign_to("boss"));
    wf.edge(START, ask);
    let (runner, _) = runner(wf.build().unwrap());
    trace(runner.run("ana", "s1", "go")).await;
    let by = |caller: &str| AnswerOptions::new().caller(caller);
    let refused = runner.answer_with(key(), [("q", true)], by("ana")).unwrap().reply().await;
    let Err(error @ RunError::MayNotAnswer { .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(error.code(), "PermissionError");
    assert_eq!(
        error.to_string(),
        "question 'q' is not the caller's to answer: it is assigned to 'boss'; nothing was stored"
    );
    assert_eq!(runner.questions(key()).await.unwrap().len(), 1);
    trace(runner.answer_with(key(), [("q", true)], by("boss")).unwrap()).await;
    assert!(runner.questions(key()).await.unwrap().is_empty());
    // Repeating an answer does not reveal the stored answer to others.
    let repeated = runner.answer_with(key(), [("q", true)], by("ana")).unwrap().reply().await;
    assert!(matches!(repeated, Err(RunError::MayNotAnswer { .. })), "{repeated:?}");
}

#[tokio::test]
async fn a_program_without_callers_answers_for_all_users() {
    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("q", "Refund?").assign_to("boss"));
    wf.edge(START, ask);
    let (open, _) = runner(wf.build().unwrap());
    trace(open.run("ana", "s1", "go")).await;
    trace(open.answer(key(), "q", true).unwrap()).await;
    assert!(open.questions(key()).await.unwrap().is_empty());

    let mut wf = Workflow::builder("wf");
    let ask = wf.node("ask", async || RequestInput::<bool>::ask("q", "Refund?"));
    wf.edge(START, ask);
    let strict = Runner::builder("t").root(wf.build().unwrap()).sessions(InMemorySessionService::new());
    let strict = strict.may_answer(|given: &GivenAnswer<'_>| given.caller.is_some()).build().unwrap();
    trace(strict.run("ana", "s1", "go")).await;
    let refused = strict.answer(key(), "q", true).unwrap().reply().await;
    assert!(matches!(refused, Err(RunError::MayNotAnswer { .. })), "{refused:?}");
}

/// A plugin that counts the runs of nodes under a reserved key.
#[derive(Debug)]
struct Counts;

impl pleach::Plugin for Counts {
    fn name(&self) -> &str {
        "counts"
    }

    fn before_node<'a>(
        &'a self,
        _: &'a pleach::NodeSpec,
        ctx: &'a Context,
        _: &'a pleach::NodeInput,
    ) -> pleach::Hook<'a, Option<Value>> {
        ctx.reserved_state().add("user:_pleach_counts:nodes", 1).unwrap();
        None
    }
}

/// The state schema of a node does not restrict the plugin, and failed attempts are counted as well.
#[tokio::test]
async fn a_plugin_counts_whatever_the_outcome_of_the_node() {
    let schema = pleach::Schema::model("N", [pleach::Field::new("n", pleach::FieldType::Int)]);
    let node = FunctionNode::new("fails", async |ctx: Context| {
        ctx.state().add("n", 1)?;
        Err::<i64, _>(NodeError::value("no"))
    });
    let node = node.state_schema(schema).retry(pleach::RetryConfig::attempts(3));
    let sessions = Arc::new(InMemorySessionService::new());
    let builder = Runner::builder("t").root(node).sessions(Arc::clone(&sessions)).plugin(Counts);
    trace(builder.build().unwrap().run("ana", "s1", "go")).await;
    let stored = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!(
        stored.state,
        map(json!({"user:_pleach_counts:nodes": 3})),
        "and the node's own operation is not stored"
    );
}
