//! Actions that nodes set, and the checks of dynamic children.

#![expect(clippy::type_complexity, reason = "tables of cases")]

use pleach::prelude::*;
use pleach::{AuthConfig, EventActions, Node, RunOptions, StateOp, UiWidget};
use serde_json::json;

use crate::support::{key, runner, trace};

/// The actions of the last stored event.
async fn last_actions(runner: &Runner) -> EventActions {
    let session = runner.sessions().get_session(&key(), Default::default()).await.unwrap().unwrap();
    session.events.last().unwrap().actions().clone()
}

/// Runs a handler that only returns actions.
async fn set(change: impl Fn(&mut EventActions) + Clone + Send + Sync + 'static) -> (Vec<String>, EventActions) {
    let node = FunctionNode::new("node", move |ctx: Context| {
        let change = change.clone();
        async move { ctx.with_actions(change) }
    });
    let (runner, _) = runner(node);
    (trace(runner.run("ana", "s1", "go")).await, last_actions(&runner).await)
}

#[tokio::test]
async fn every_action_that_a_node_sets_is_stored() {
    assert_eq!(set(|actions| actions.set_escalate(Some(true))).await.1.escalate(), Some(true));
    assert_eq!(set(|actions| actions.set_skip_summarization(Some(true))).await.1.skip_summarization(), Some(true));
    let (_, actions) = set(|actions| {
        actions.set_transfer_to_agent(Some("other".to_owned()));
        actions.set_transfer_reason(Some("asked for".to_owned()));
    })
    .await;
    assert_eq!((actions.transfer_to_agent(), actions.transfer_reason()), (Some("other"), Some("asked for")));
    let (_, actions) = set(|actions| actions.set_route(Some("left".into()))).await;
    assert_eq!(actions.route(), Some(&"left".into()));
    let (_, actions) = set(|actions| actions.set_set_model_response(Some(json!({"a": 1})))).await;
    assert_eq!(actions.set_model_response(), Some(&json!({"a": 1})));
    let (_, actions) = set(|actions| {
        actions.state_delta_mut().insert("k".to_owned(), 1.into());
        actions.artifact_delta_mut().insert("f".to_owned(), 0);
        actions.set_render_ui_widgets(Some(vec![UiWidget::default()]));
    })
    .await;
    assert_eq!((&actions.state_delta()["k"], actions.artifact_delta()["f"]), (&json!(1), 0));
    assert_eq!(actions.render_ui_widgets().map(<[_]>::len), Some(1));
}

#[tokio::test]
async fn an_action_that_is_the_runtimes_is_refused() {
    let changes: [(&str, fn(&mut EventActions)); 5] = [
        ("rewind_before_invocation_id", |actions| actions.set_rewind_before_invocation_id(Some("e".to_owned()))),
        ("agent_state", |actions| actions.set_agent_state(Some(Default::default()))),
        ("end_of_agent", |actions| actions.set_end_of_agent(Some(true))),
        ("requested_auth_configs", |actions| {
            actions.requested_auth_configs_mut().insert("c".to_owned(), AuthConfig::default());
        }),
        ("requested_tool_confirmations", |actions| {
            actions.requested_tool_confirmations_mut().insert("c".to_owned(), Default::default());
        }),
    ];
    for (action, change) in changes {
        let (lines, _) = set(change).await;
        assert!(lines[0].contains(&format!("ValueError: a node cannot set the action `{action}`")), "{lines:?}");
    }
}

#[tokio::test]
async fn actions_are_changed_without_a_lock_and_keep_what_the_change_does_to_the_context() {
    let (runner, _) = runner(FunctionNode::new("node", async |ctx: Context| -> Result<bool> {
        let escalates = ctx.with_actions(|actions| {
            actions.set_escalate(Some(true));
            ctx.state().set("inner", 1)?;
            ctx.with_actions(|actions| actions.set_transfer_reason(Some("why".to_owned())))?;
            ctx.render_ui_widget(UiWidget::default())?;
            Ok::<_, NodeError>(ctx.actions().escalate().is_none())
        })??;
        Ok(escalates)
    }));
    assert!(runner.run("ana", "s1", "go").output::<bool>().await.unwrap());
    let actions = last_actions(&runner).await;
    assert_eq!((actions.escalate(), actions.transfer_reason()), (Some(true), Some("why")));
    assert_eq!((&actions.state_delta()["inner"], actions.render_ui_widgets().unwrap().len()), (&json!(1), 1));
}

#[tokio::test]
async fn a_route_set_as_an_action_is_followed_and_state_is_seen_at_once() {
    let mut wf = Workflow::builder("wf");
    let fork = wf.node("fork", async |ctx: Context| {
        ctx.with_actions(|actions| {
            actions.set_route(Some("left".into()));
            actions.state_delta_mut().insert("k".to_owned(), 7.into());
        })?;
        ctx.state().get::<u32>("k")
    });
    let left = wf.node("left", async |Input(n): Input<u32>| n + 1);
    wf.edge(START, fork).route(fork, "left", left);
    let (runner, _) = runner(wf.build().unwrap());
    assert_eq!(runner.run("ana", "s1", "go").output::<u32>().await.unwrap(), 8);
}

#[tokio::test]
async fn actions_of_an_emitted_a_returned_and_a_delegated_event_are_stored() {
    fn escalating(output: i64) -> Event {
        let mut event = Event::new().with_output(json!(output));
        event.actions_mut().set_escalate(Some(true));
        event
    }
    let (returns, _) = runner(FunctionNode::new("node", async || escalating(1)));
    trace(returns.run("ana", "s1", "go")).await;
    assert_eq!(last_actions(&returns).await.escalate(), Some(true));

    let (emits, _) = runner(FunctionNode::new("node", async |ctx: Context| ctx.emit(escalating(1)).await));
    trace(emits.run("ana", "s1", "go")).await;
    assert_eq!(last_actions(&emits).await.escalate(), Some(true));

    let caller = FunctionNode::new("node", async |ctx: Context| -> Result<Event> {
        let child = FunctionNode::new("child", async || 1);
        ctx.run_node(&child, json!(null), RunOptions::default().use_as_output(true)).await?;
        Ok(escalating(1))
    });
    let (delegates, _) = runner(caller.rerun_on_resume(true));
    trace(delegates.run("ana", "s1", "go")).await;
    assert_eq!(last_actions(&delegates).await.escalate(), Some(true));
}

#[tokio::test]
async fn a_child_inherits_the_author_that_its_caller_has_set() {
    let caller = FunctionNode::new("node", async |ctx: Context| -> Result<i64> {
        ctx.set_event_author("forwarder");
        let child = FunctionNode::new("child", async |ctx: Context| -> Result<i64> {
            let grandchild = FunctionNode::new("grandchild", async || 1);
            Ok(ctx.run(&grandchild, ()).await?)
        });
        Ok(ctx.run(&child.rerun_on_resume(true), ()).await?)
    });
    let mut wf = Workflow::builder("wf");
    let node = wf.add(caller.rerun_on_resume(true));
    wf.edge(START, node);
    let (runner, _) = runner(wf.build().unwrap());
    let mut run = runner.run("ana", "s1", "go");
    let mut authors = Vec::new();
    while let Some(event) = run.next().await {
        authors.push(event.unwrap().author().to_owned());
    }
    assert_eq!(authors, ["forwarder", "forwarder", "forwarder"]);
}

/// Runs a node in a workflow that runs `child` with `options`, and returns the node's text.
async fn dynamic(child: impl Node, options: RunOptions) -> String {
    let child = std::sync::Arc::new(child);
    let caller = FunctionNode::new("caller", move |ctx: Context| {
        let (child, options) = (std::sync::Arc::clone(&child), options.clone());
        async move { ctx.run_node(&*child, json!(null), options).await.map(|_| ()) }
    });
    let lines = trace(runner(caller.rerun_on_resume(true)).0.run("ana", "s1", "go")).await;
    lines.last().unwrap().clone()
}

#[tokio::test]
async fn the_faults_of_a_node_are_reported_when_it_runs_dynamically() {
    let line = dynamic(FunctionNode::new("a-b", async || 1), RunOptions::default()).await;
    assert!(line.starts_with("! WorkflowConfigurationError: node 'a-b' cannot run: Node name 'a-b'"), "{line}");
    let gated = FunctionNode::new("pay", async || 1).require_confirmation().rerun_on_resume(false);
    let line = dynamic(gated, RunOptions::default()).await;
    assert!(line.starts_with("! WorkflowConfigurationError: node 'pay' cannot run"), "{line}");
    let worker = pleach::ParallelWorker::new(FunctionNode::new("a.b", async || 1));
    let line = dynamic(worker, RunOptions::default()).await;
    assert!(line.contains("'a.b'"), "{line}");
}

#[tokio::test]
async fn names_and_run_ids_that_would_break_a_path_are_refused() {
    for bad in ["a/b", "a@1", "a.b", " ", "a\0b", ""] {
        let line = dynamic(FunctionNode::new("child", async || 1), RunOptions::default().name(bad)).await;
        assert!(line.starts_with("! ValueError: `RunOptions::name`"), "{line}");
    }
    for bad in ["a/b", "a@1", "a.b", " ", "a\0b", "a\nb"] {
        let line = dynamic(FunctionNode::new("child", async || 1), RunOptions::default().run_id(bad)).await;
        assert!(line.starts_with("! ValueError: `RunOptions::run_id`"), "{line}");
    }
    let line = dynamic(FunctionNode::new("child", async || 1), RunOptions::default().override_branch("a\0")).await;
    assert!(line.starts_with("! ValueError: `RunOptions::override_branch`"), "{line}");
}

#[tokio::test]
async fn a_question_needs_an_id_that_can_be_answered() {
    for bad in ["", " ", "a\0"] {
        let node = FunctionNode::new("node", move || std::future::ready(RequestInput::<i64>::ask(bad, "?")));
        let lines = trace(runner(node).0.run("ana", "s1", "go")).await;
        assert!(lines[0].contains("ValueError"), "{lines:?}");
    }
}

#[tokio::test]
async fn widgets_of_an_event_are_joined_with_the_widgets_of_the_context() {
    fn widget(id: &str) -> UiWidget {
        UiWidget { id: id.to_owned(), ..UiWidget::default() }
    }
    let (runner, _) = runner(FunctionNode::new("node", async |ctx: Context| -> Result<Event> {
        ctx.render_ui_widget(widget("b"))?;
        let mut event = Event::message("shown");
        event.actions_mut().set_render_ui_widgets(Some(vec![widget("a")]));
        Ok(event)
    }));
    trace(runner.run("ana", "s1", "go")).await;
    let actions = last_actions(&runner).await;
    let ids: Vec<_> = actions.render_ui_widgets().unwrap().iter().map(|widget| widget.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
}

/// If one of several changes is faulty, none of them is made.
#[tokio::test]
async fn a_change_of_actions_is_made_whole_or_not_at_all() {
    let node = FunctionNode::new("node", async |ctx: Context| {
        ctx.state().set("b", "text")?;
        let refused = ctx.with_actions(|actions| {
            actions.set_state("a", 1);
            actions.add_state_op("c", StateOp::Add(1.into()));
            actions.add_state_op("b", StateOp::Push(vec![json!(1)]));
            actions.set_escalate(Some(true));
        });
        let error = refused.unwrap_err();
        assert!(error.message().starts_with("state key 'b'"), "{error:?}");
        assert_eq!((ctx.state().value("a"), ctx.state().value("c")), (None, None));
        ctx.with_actions(|actions| {
            actions.set_state("a", 1);
            actions.add_state_op("a", StateOp::Add(1.into()));
            actions.add_state_op("c", StateOp::Add(1.into()));
            actions.add_state_op("c", StateOp::Max(5.into()));
        })
    });
    let (runner, _) = runner(node);
    trace(runner.run("ana", "s1", "go")).await;
    let actions = last_actions(&runner).await;
    assert_eq!(json!(actions.state_delta()), json!({"a": 2, "b": "text", "c": 5}));
    assert_eq!(actions.escalate(), None);
}
