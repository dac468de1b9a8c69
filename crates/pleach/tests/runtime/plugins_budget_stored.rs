//! Budgets across pauses, crashes, processes and days.

use std::sync::Arc;
use std::time::Duration;

use pleach::model::ScriptedReply;
use pleach::plugins::{BudgetPlugin, BudgetScope, Limits, Price, PriceTable};
use pleach::prelude::*;
use pleach::{AgentTool, InMemorySessionService, Node, RunRequest, SequentialAgent, SessionKey};
use serde_json::json;

use crate::plugins_budget::{App, app, app_of, costing};
use crate::support::{key, trace};

const DAY: Duration = Duration::from_secs(86_400);

fn helper(model: &ScriptedModel) -> LlmAgent {
    let pay = tool("pay", "Pays.", async || "paid").require_confirmation();
    LlmAgent::builder("helper").model(model.clone()).tool(pay).build().unwrap()
}

/// A model whose answers always report ten input tokens and five output tokens.
fn talker() -> ScriptedModel {
    ScriptedModel::new().then(costing("hi", 10, 5)).repeating()
}

async fn says(app: &App, user: &str, session: &str) -> String {
    let mut run = app.runner.run(user, session, "go");
    let mut last = String::new();
    while let Some(event) = run.next().await {
        let event = event.unwrap();
        if event.content().is_some() || event.error_code().is_some() {
            last = event.error_message().map_or_else(|| event.text(), str::to_owned);
        }
    }
    last
}

#[tokio::test]
async fn a_user_spends_one_budget_in_all_sessions_and_processes() {
    let sessions = Arc::new(InMemorySessionService::new());
    let budget = || BudgetPlugin::builder().per_user(Limits::new().total_tokens(45)).build().unwrap();
    let one = app_of(helper(&talker()), budget(), Arc::clone(&sessions));
    let two = app_of(helper(&talker()), budget(), Arc::clone(&sessions));
    assert_eq!(says(&one, "ana", "s1").await, "hi");
    assert_eq!(says(&two, "ana", "s2").await, "hi");
    assert_eq!(says(&one, "ana", "s2").await, "hi");
    let refused = "budget exceeded: total tokens per user: 45 used, limit 45";
    assert_eq!(says(&two, "ana", "s1").await, refused);
    assert_eq!(says(&two, "ben", "s3").await, "hi", "another user has another budget");
    let restarted = app_of(helper(&talker()), budget(), sessions);
    assert_eq!(says(&restarted, "ana", "s4").await, refused);
}

#[tokio::test]
async fn a_resumed_run_continues_to_count_and_counts_nothing_twice() {
    let sessions = Arc::new(InMemorySessionService::new());
    let limits = || Limits::new().model_calls(2).tool_calls(1);
    let budget = || BudgetPlugin::builder().per_run(limits()).per_user(limits()).build().unwrap();
    let model = ScriptedModel::calling("pay", json!({})).then_text("paid").then_text("more");
    let first = app_of(helper(&model), budget(), Arc::clone(&sessions));
    trace(first.runner.run("ana", "s1", "go")).await;
    let open = first.runner.questions(key()).await.unwrap();

    // Another process gets the answer. It knows that the model was called once; the tool call, which waits for the
    // answer, was not made yet.
    let second = app_of(helper(&model), budget(), Arc::clone(&sessions));
    let run = second.runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap();
    assert_eq!(run.reply().await.unwrap(), "paid");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let results: Vec<_> = session.events.iter().flat_map(|event| event.function_responses()).collect();
    assert_eq!(json!(results.last().unwrap().response), json!({"result": "paid"}), "the call was made, not refused");
    let noted = session.events.last().unwrap().custom_metadata().unwrap()["_pleach_budget"].clone();
    assert_eq!(noted, json!({"model_calls": 2, "tool_calls": 1}));
    let counted = |counter: &str| session.state[&format!("user:_pleach_budget:{counter}")].clone();
    assert_eq!((counted("model_calls"), counted("tool_calls")), (json!(2), json!(1)));

    // No work is left, so nothing is counted.
    let id = session.events[0].invocation_id().clone();
    trace(second.runner.resume("ana", "s1", id)).await;
    let after = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    assert_eq!((&after.state, model.replies_left()), (&session.state, 1));
}

#[tokio::test]
async fn a_resumed_run_is_refused_because_of_its_usage_before_the_pause() {
    let sessions = Arc::new(InMemorySessionService::new());
    let budget = || BudgetPlugin::builder().per_run(Limits::new().model_calls(1)).build().unwrap();
    let model = ScriptedModel::calling("pay", json!({})).then_text("paid");
    let first = app_of(helper(&model), budget(), Arc::clone(&sessions));
    trace(first.runner.run("ana", "s1", "go")).await;
    let open = first.runner.questions(key()).await.unwrap();
    let second = app_of(helper(&model), budget(), sessions);
    trace(second.runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap()).await;
    assert_eq!(model.replies_left(), 1, "the second call was refused");
}

#[tokio::test]
async fn a_run_that_was_cut_off_counts_only_repeated_calls_again() {
    let sessions = Arc::new(InMemorySessionService::new());
    let limits = || Limits::new().model_calls(9).tool_calls(9).total_tokens(99);
    let budget = || BudgetPlugin::builder().per_run(limits()).per_user(limits()).build().unwrap();
    let agent = |model: &ScriptedModel| {
        LlmAgent::builder("helper").model(model.clone()).tool(tool("look", "Looks.", async || "seen")).build().unwrap()
    };
    let mut call = costing("", 10, 5);
    call.content =
        pleach::model::LlmResponse::calls([pleach::FunctionCall::new("c1", "look", Default::default())]).content;
    let model = ScriptedModel::new().then(call).then(costing("done", 20, 5));
    let first = app_of(agent(&model), budget(), Arc::clone(&sessions));
    let mut run = first.runner.run("ana", "s1", "go");
    let id = run.next().await.unwrap().unwrap().invocation_id().clone();
    drop(run);

    let second = app_of(agent(&model), budget(), Arc::clone(&sessions));
    assert_eq!(second.runner.resume("ana", "s1", id).reply().await.unwrap(), "done");
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let noted = session.events.last().unwrap().custom_metadata().unwrap()["_pleach_budget"].clone();
    let expected = json!({"input_tokens": 30, "output_tokens": 10, "model_calls": 2, "tool_calls": 1});
    assert_eq!(noted, expected);
    for (counter, count) in expected.as_object().unwrap() {
        assert_eq!(&session.state[&format!("user:_pleach_budget:{counter}")], count, "{counter}");
    }
}

#[tokio::test]
async fn the_time_of_a_pause_is_not_the_runs() {
    let limits = Limits::new().wall_time(Duration::from_secs(100));
    let model = ScriptedModel::new()
        .then(ScriptedReply::calls([("pay", json!({}))]).after(Duration::from_secs(60)))
        .then(ScriptedReply::text("paid").after(Duration::from_secs(60)));
    let app = app(helper(&model), BudgetPlugin::builder().per_run(limits));
    trace(app.runner.run("ana", "s1", "go")).await;
    let open = app.runner.questions(key()).await.unwrap();
    app.clock.advance(DAY).await;
    let run = app.runner.answer(key(), &open[0], json!({"confirmed": true})).unwrap();
    assert_eq!(run.reply().await.unwrap(), "paid");
}

#[tokio::test]
async fn a_call_of_a_tool_that_a_person_rejects_was_not_made() {
    for (confirmed, count) in [(true, Some(json!(1))), (false, None)] {
        let model = ScriptedModel::calling("pay", json!({})).then_text("ok");
        let limits = || Limits::new().tool_calls(5);
        let app = app(helper(&model), BudgetPlugin::builder().per_user(limits()).per_run(limits()));
        trace(app.runner.run("ana", "s1", "go")).await;
        let open = app.runner.questions(key()).await.unwrap();
        let run = app.runner.answer(key(), &open[0], json!({"confirmed": confirmed})).unwrap();
        assert_eq!(run.reply().await.unwrap(), "ok");
        let session = app.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
        assert_eq!(session.state.get("user:_pleach_budget:tool_calls").cloned(), count, "{confirmed}");
    }
}

/// A run that pauses records the time of all its nodes, not only of the nodes that ask a model.
#[tokio::test]
async fn the_time_of_function_nodes_is_noted_before_a_pause() {
    let mut wf = Workflow::builder("wf");
    let slow = wf.node("slow", async |ctx: Context| {
        ctx.invocation().clock().sleep(Duration::from_secs(60)).await;
        "done"
    });
    let asks = wf.node("asks", async || pleach::RequestInput::<i64>::ask("q1", "How many?"));
    wf.edge(START, slow).edge(slow, asks);
    let budget = BudgetPlugin::builder().per_run(Limits::new().wall_time(Duration::from_secs(100)));
    let app = app(wf.build().unwrap(), budget);
    trace(app.runner.run("ana", "s1", "go")).await;
    let session = app.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let noted = session.events.iter().rev().find_map(|event| event.custom_metadata()?.get("_pleach_budget"));
    assert_eq!(noted, Some(&json!({"seconds": 60.0})));
}

#[tokio::test]
async fn each_window_begins_with_nothing_used() {
    let sessions = Arc::new(InMemorySessionService::new());
    let prices = || PriceTable::new().other_models(Price::per_million(1_000.0, 1_000.0));
    let budget = || {
        let limits = Limits::new().cost(0.03).window(DAY);
        BudgetPlugin::builder().per_app(limits).prices(prices()).build().unwrap()
    };
    let first = app_of(helper(&talker()), budget(), Arc::clone(&sessions));
    let refused = "budget exceeded: cost per app: 0.03 used, limit 0.03 in 86400 s";
    for (user, expected) in [("ana", "hi"), ("ben", "hi"), ("eva", refused)] {
        assert_eq!(says(&first, user, "s").await, expected);
    }
    first.clock.advance(DAY).await;
    assert_eq!(says(&first, "ana", "s").await, "hi");
    // Another process reads the start of the window from the state.
    let second = app_of(helper(&talker()), budget(), Arc::clone(&sessions));
    second.clock.advance(DAY).await;
    assert_eq!(says(&second, "ben", "s").await, "hi");
    assert_eq!(says(&second, "eva", "s").await, refused);
    let state =
        sessions.get_session(&SessionKey::new("t", "ben", "s"), Default::default()).await.unwrap().unwrap().state;
    let used_at = |now: f64| second.budget.used(BudgetScope::App, &state, now).cost;
    let now = pleach::Clock::now(&second.clock);
    assert_eq!((used_at(now), &state["app:_pleach_budget:cost_nanos"]), (0.03, &json!(60_000_000)));
    // No step of the next window has been made yet.
    assert_eq!((used_at(now + DAY.as_secs_f64()), used_at(now - DAY.as_secs_f64())), (0.0, 0.03));
}

#[tokio::test]
async fn a_user_has_a_fresh_budget_after_a_reset() {
    let app = app(helper(&talker()), BudgetPlugin::builder().per_user(Limits::new().output_tokens(5)));
    assert_eq!(says(&app, "ana", "s1").await, "hi");
    assert_eq!(says(&app, "ana", "s1").await, "budget exceeded: output tokens per user: 5 used, limit 5");
    let state = app.sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state;
    let reset = app.budget.reset(BudgetScope::User, &state);
    let request = RunRequest::new(("ana", "s2")).message("go").reserved_state_delta(reset);
    assert_eq!(app.runner.start(request).reply().await.unwrap(), "hi");
    assert_eq!(says(&app, "ana", "s2").await, "budget exceeded: output tokens per user: 5 used, limit 5");
}

#[tokio::test]
async fn a_dropped_run_counts_the_call_that_it_has_made() {
    let limits = Limits::new().model_calls(1);
    let model = ScriptedModel::new().then(ScriptedReply::text("late").after(Duration::from_secs(1))).repeating();
    let app = app(helper(&model), BudgetPlugin::builder().per_user(limits));
    {
        let mut run = Box::pin(async { trace(app.runner.run("ana", "s1", "go")).await });
        // The first poll calls the model, which waits.
        while model.requests().is_empty() {
            assert!(futures::poll!(&mut run).is_pending());
        }
    }
    assert_eq!(says(&app, "ana", "s1").await, "budget exceeded: model calls per user: 1 used, limit 1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn runs_of_one_user_on_several_threads_do_not_exceed_the_calls() {
    let model = talker();
    let app = Arc::new(app(helper(&model), BudgetPlugin::builder().per_user(Limits::new().model_calls(5))));
    let runs = (0..16).map(|n| {
        let app = Arc::clone(&app);
        tokio::spawn(async move { says(&app, "ana", &format!("s{n}")).await })
    });
    let said: Vec<String> = futures::future::join_all(runs).await.into_iter().map(Result::unwrap).collect();
    let answered = said.iter().filter(|text| *text == "hi").count();
    assert_eq!((answered, model.requests().len()), (5, 5), "{said:?}");
    let state =
        app.sessions.get_session(&SessionKey::new("t", "ana", "s0"), Default::default()).await.unwrap().unwrap().state;
    assert_eq!(state["user:_pleach_budget:model_calls"], 5);
}

/// A model that always fails: of an agent, in a shell, in a workflow with retries, or called as a tool.
fn failing(kind: &str, model: &ScriptedModel) -> Arc<dyn Node> {
    let agent = |name: &str| LlmAgent::builder(name).model(model.clone());
    match kind {
        "agent" => Arc::new(agent("helper").build().unwrap()),
        "shell" => {
            let inner = SequentialAgent::builder("inner").sub_agent(agent("helper").build().unwrap()).build().unwrap();
            Arc::new(SequentialAgent::builder("row").sub_agent(inner).build().unwrap())
        }
        "workflow" => {
            let mut wf = Workflow::builder("wf");
            let helper = wf.add(agent("helper").build().unwrap());
            wf.edge(START, helper);
            Arc::new(wf.build().unwrap())
        }
        "tool" => {
            let expert = AgentTool::new(agent("expert").build().unwrap());
            let asks = ScriptedModel::calling("expert", json!({"request": "?"})).repeating();
            Arc::new(LlmAgent::builder("root").model(asks).tool(expert).build().unwrap())
        }
        _ => unreachable!("{kind}"),
    }
}

#[tokio::test]
async fn a_failed_call_is_stored_with_the_failure() {
    // If the agent is called as a tool, the model call of its caller is counted as well.
    for (kind, calls_of_run) in [("agent", 1), ("shell", 1), ("workflow", 1), ("tool", 2)] {
        let sessions = Arc::new(InMemorySessionService::new());
        let model = ScriptedModel::new();
        for run in 1..=5_u64 {
            // Each run is in a new process, which knows only the stored usage.
            let budget = BudgetPlugin::builder().per_user(Limits::new().model_calls(100)).build().unwrap();
            let app = app_of(failing(kind, &model), budget, Arc::clone(&sessions));
            let lines = trace(app.runner.run("ana", "s1", "go")).await;
            assert!(lines.last().unwrap().starts_with('!'), "{kind}: {lines:?}");
            let state = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state;
            let counted = state.get("user:_pleach_budget:model_calls").cloned();
            assert_eq!(counted, Some(json!(run * calls_of_run)), "{kind}: {lines:?}");
            // Each call is recorded on one event: the answer, the failure, or a separate event if the failure has none.
            let counting = lines.iter().filter(|line| line.contains("_pleach_budget")).count() as u64;
            assert_eq!(counting, calls_of_run, "{kind}: {lines:?}");
        }
    }
}

#[tokio::test]
async fn each_attempt_of_a_node_counts() {
    let sessions = Arc::new(InMemorySessionService::new());
    let mut wf = Workflow::builder("wf");
    let model = ScriptedModel::new();
    let helper =
        LlmAgent::builder("helper").model(model.clone()).retry(pleach::RetryConfig::attempts(4)).build().unwrap();
    let helper = wf.add(helper);
    wf.edge(START, helper);
    let limits = || Limits::new().model_calls(100);
    let budget = BudgetPlugin::builder().per_user(limits()).per_app(limits()).per_run(limits()).build().unwrap();
    let app = app_of(wf.build().unwrap(), budget, Arc::clone(&sessions));
    trace(app.runner.run("ana", "s1", "go")).await;
    let session = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap();
    let counted =
        ["user:_pleach_budget:model_calls", "app:_pleach_budget:model_calls"].map(|key| session.state[key].clone());
    assert_eq!(counted, [json!(4), json!(4)]);
    let noted = session.events.last().unwrap().custom_metadata().unwrap()["_pleach_budget"].clone();
    assert_eq!(noted, json!({"model_calls": 4}));
}

#[tokio::test]
async fn a_failed_call_of_a_tool_is_stored_with_the_failure() {
    let sessions = Arc::new(InMemorySessionService::new());
    let broken = tool("broken", "Fails.", async || Err::<i64, _>(NodeError::value("broken")));
    let model = ScriptedModel::calling("broken", json!({})).repeating();
    let agent = LlmAgent::builder("helper").model(model).tool(broken).build().unwrap();
    let budget = BudgetPlugin::builder().per_user(Limits::new().tool_calls(9)).build().unwrap();
    let app = app_of(agent, budget, Arc::clone(&sessions));
    trace(app.runner.run("ana", "s1", "go")).await;
    let state = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state;
    assert_eq!(state["user:_pleach_budget:tool_calls"], 1);
}

/// `docs/plugins.md` names the usage that a restart may lose.
#[tokio::test]
async fn a_process_that_is_killed_forgets_the_call_under_way_and_no_other() {
    const KILLS: u64 = 5;
    let sessions = Arc::new(InMemorySessionService::new());
    let looks = |model: &ScriptedModel| {
        LlmAgent::builder("helper").model(model.clone()).tool(tool("look", "Looks.", async || "seen")).build().unwrap()
    };
    let mut made = 0;
    for _ in 0..KILLS {
        let late = ScriptedReply::text("late").after(Duration::from_secs(1));
        let model = ScriptedModel::new().then(ScriptedReply::calls([("look", json!({}))])).then(late);
        let limits = || Limits::new().model_calls(100);
        let budget = BudgetPlugin::builder().per_user(limits()).build().unwrap();
        let killed = app_of(looks(&model), budget, Arc::clone(&sessions));
        let mut run = Box::pin(async { trace(killed.runner.run("ana", "s1", "go")).await });
        while model.requests().len() < 2 {
            assert!(futures::poll!(&mut run).is_pending());
        }
        drop(run);
        made += 2;
    }
    let state = sessions.get_session(&key(), Default::default()).await.unwrap().unwrap().state;
    assert_eq!(state["user:_pleach_budget:model_calls"], made - KILLS);
}
