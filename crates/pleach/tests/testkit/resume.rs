//! The resume property.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::future::join;
use pleach::prelude::*;
use pleach::testkit::{
    CrashTime, Effects, FaultPlan, FaultySessions, ModelByTurn, Operation, ResumeFailure, ResumeFault, ResumeProperty,
    ScriptedHuman, resume_property,
};
use pleach::{InMemorySessionService, JoinNode, NodeError, SessionError};
use serde_json::json;

use crate::support::{alone, order};

#[tokio::test(start_paused = true)]
async fn a_workflow_of_steps_and_questions_survives_every_crash() {
    let effects = Effects::new();
    let human = ScriptedHuman::new().answers("ship", true);
    let property = ResumeProperty::new(order(&effects)).input("1200").human(&human).effects(&effects);
    let report = property.check().await.unwrap();
    // A crash before every write, after the write, and when its event was handed out.
    assert_eq!(report.crashes.len() % 3, 0);
    let appends = report.crashes.iter().filter(|crash| crash.operation == Operation::Append).count();
    assert_eq!(appends, 3 * report.trace.entries().len());
    assert!(report.crashes.iter().any(|crash| crash.operation == Operation::CreateSession));
    let expected = "\
invocation 1
  user: says \"1200\"
  shop@1/order@1/charge@step-1 (shop): gives \"r-1\"
  shop@1/order@1 (shop): asks ship \"Ship it?\"
  user: answers ship true
  shop@1/order@1/send@step-1 (shop): notes progress
  shop@1/order@1 (shop): gives \"r-1 true\"; sets user:sold = \"1200\"
";
    assert_eq!(report.trace.to_string(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_chain_a_loop_and_lanes_survive_every_crash() {
    let mut wf = Workflow::builder("wf");
    let count = wf.node("count", async |ctx: Context| {
        let count = ctx.state().try_get::<u32>("count")?.unwrap_or(0) + 1;
        ctx.state().set("count", count)?;
        Ok::<_, Fail>(Output::of(count).route(if count < 3 { "again" } else { "enough" }))
    });
    let (left, right) = (wf.node("left", async || "l"), wf.node("right", async || "r"));
    let both = wf.add(JoinNode::new("both"));
    wf.edge(START, count).route(count, "again", count).route(count, "enough", [left, right]);
    wf.edge(left, both).edge(right, both);
    resume_property(wf.build().unwrap(), ["go"]).await;
}

#[tokio::test(start_paused = true)]
async fn retries_time_outs_sleeps_and_deadlines_take_no_time() {
    let tries = Arc::new(AtomicU32::new(0));
    let workflow = alone(move |ctx, _| {
        let tries = Arc::clone(&tries);
        async move {
            let policy = RetryConfig::attempts(3).initial_delay(60.0);
            let step = Step::new("call").retry(policy).timeout(Duration::from_secs(30));
            let called: String = ctx
                .step(step, async || {
                    if tries.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                        std::future::pending::<()>().await;
                    }
                    Ok("called".to_owned())
                })
                .await?;
            ctx.sleep(Duration::from_secs(86_400)).await?;
            let answer: Option<bool> = ctx.ask_within("ok", "Pay?", Duration::from_secs(3_600)).await?;
            let slept = ctx.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() >= 1_800_086_400;
            Ok(json!([called, answer, slept]))
        }
    });
    let human = ScriptedHuman::new().leaves_open("ok");
    let report = ResumeProperty::new(workflow).input("go").human(&human).check().await;
    let report = report.unwrap();
    let last = report.trace.entries().last().unwrap();
    assert_eq!(last.does, ["gives [\"called\",null,true]"]);
}

/// The deadline passes while a parallel lane pauses between its attempts, so the Runner fires it on its own.
#[tokio::test(start_paused = true)]
async fn a_deadline_that_comes_during_a_run_is_not_a_difference() {
    let effects = Effects::new();
    let noted = effects.clone();
    let workflow = alone(move |ctx, _| {
        let noted = noted.clone();
        async move {
            let work = async {
                let quick: u32 = ctx.ask("quick", "?").await?;
                let step = Step::new("work").key("work").retry(RetryConfig::attempts(3).initial_delay(60.0));
                let work = async || {
                    noted.record("try", ctx.idempotency_key());
                    if noted.all().len() < 3 { Err(Fail::msg("down")) } else { Ok(quick) }
                };
                ctx.step(step, work).await
            };
            let slow = ctx.ask_within::<u32>("slow", "?", Duration::from_secs(10));
            let (slow, work) = join(slow, work).await;
            Ok(json!([slow?, work?]))
        }
    });
    let human = ScriptedHuman::new().answers("quick", 7).leaves_open("slow");
    let report = ResumeProperty::new(workflow).input("go").human(&human).effects(&effects).check().await.unwrap();
    assert_eq!(report.trace.entries().last().unwrap().does, ["gives [null,7]"]);
}

#[tokio::test]
async fn a_property_without_a_message_is_an_error() {
    let failure = ResumeProperty::new(order(&Effects::new())).check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Setup(_)), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_tools_survives_every_crash_over_several_messages() {
    let effects = Effects::new();
    let model = ModelByTurn::new().then_call("pay", json!({})).then_text("paid").then_call("ship", json!({}));
    let model = model.then_text("shipped").then_text("welcome");
    let (human, noted) =
        (ScriptedHuman::new().confirms("pay", true).answers_function("ship", "on its way"), effects.clone());
    let property = ResumeProperty::app(move |name| {
        let noted = noted.clone();
        let pay = tool("pay", "Pays.", move |ctx: ToolContext| {
            noted.record("pay", ctx.idempotency_key());
            async { Ok::<_, NodeError>("paid") }
        });
        let ship = tool("ship", "Ships.", async |_: ToolContext| Ok::<_, NodeError>(json!(null))).long_running();
        let agent = LlmAgent::builder("clerk").model(model.clone()).tool(pay.require_confirmation()).tool(ship);
        Runner::builder(name).root(agent.build().unwrap())
    });
    let property = property.inputs(["pay", "ship", "thanks"]).human(&human).effects(&effects);
    let report = property.check().await.unwrap();
    let trace = report.trace.to_string();
    assert!(
        trace.contains("invocation 3") && trace.contains("answers ship") && trace.contains("to confirm"),
        "{trace}"
    );
    assert_eq!(effects.count("pay"), 1);
}

// The property must find the following faults.

#[tokio::test(start_paused = true)]
async fn an_effect_outside_of_a_step_is_found() {
    let effects = Effects::new();
    let noted = effects.clone();
    let workflow = alone(move |ctx, _| {
        let noted = noted.clone();
        async move {
            noted.record("charge", ctx.idempotency_key());
            let ship: bool = ctx.ask("ship", "Ship it?").await?;
            Ok(ship)
        }
    });
    let human = ScriptedHuman::new().answers("*", true);
    let failure = ResumeProperty::new(workflow).input("1").human(&human).effects(&effects).check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Repeated(effects) if effects == &["charge"]), "{failure}");
    // The fault is found without a crash, because the answer runs the body again.
    assert!(failure.crash.is_none());
    assert!(failure.to_string().contains("do it in a step"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn an_effect_before_a_step_is_found_by_a_crash() {
    let effects = Effects::new();
    let noted = effects.clone();
    let workflow = alone(move |ctx, _| {
        let noted = noted.clone();
        async move {
            noted.record("charge", ctx.idempotency_key());
            let receipt: u32 = ctx.step("receipt", async || Ok(7)).await?;
            Ok(receipt)
        }
    });
    let failure = ResumeProperty::new(workflow).input("1").effects(&effects).check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Repeated(effects) if effects == &["charge"]), "{failure}");
    let crash = failure.crash.as_ref().unwrap();
    assert_eq!((crash.operation, crash.time), (Operation::Append, CrashTime::Unseen));
    assert_eq!(crash.event.as_ref().unwrap().path, "shop@1/order@1/receipt@step-1");
    let text = failure.to_string();
    assert!(text.contains("a run was cut off in write 3, append of `shop@1/order@1/receipt@step-1"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_tool_that_is_made_again_is_found() {
    let effects = Effects::new();
    let noted = effects.clone();
    let model = ModelByTurn::new().then_call("pay", json!({})).then_call("pay", json!({})).then_text("done");
    let property = ResumeProperty::app(move |name| {
        let (noted, first) = (noted.clone(), std::sync::OnceLock::<String>::new());
        // The second call uses the key of the first call, whose result is stored.
        let pay = tool("pay", "Pays.", move |ctx: ToolContext| {
            noted.record("pay", first.get_or_init(|| ctx.idempotency_key()));
            async { Ok::<_, NodeError>("paid") }
        });
        Runner::builder(name).root(LlmAgent::builder("clerk").model(model.clone()).tool(pay).build().unwrap())
    });
    let failure = property.input("go").effects(&effects).check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Repeated(effects) if effects == &["pay"]), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn chance_in_a_handler_is_found() {
    let calls = Arc::new(AtomicU32::new(0));
    let failure = ResumeProperty::new(alone(move |_, _| {
        let random = calls.fetch_add(1, Ordering::Relaxed);
        async move { Ok(json!({"id": random, "name": "Otter"})) }
    }));
    let failure = failure.input("1").check().await.unwrap_err();
    let ResumeFault::NotReproducible(differences) = &failure.fault else { panic!("{failure}") };
    let places: Vec<&str> = differences.iter().map(|difference| difference.place.as_str()).collect();
    assert_eq!(places, ["output of shop/order"]);
    let text = failure.to_string();
    let expected = "\
  output of shop/order
      {
    -   \"id\": 0,
    +   \"id\": 1,
        \"name\": \"Otter\"
";
    assert!(text.contains(expected), "{text}");
}

#[tokio::test(start_paused = true)]
async fn chance_that_is_ignored_is_not_compared() {
    let calls = Arc::new(AtomicU32::new(0));
    let property = ResumeProperty::new(alone(move |ctx, _| {
        let calls = Arc::clone(&calls);
        async move {
            let token: u32 = ctx.step("token", async || Ok(calls.fetch_add(1, Ordering::Relaxed))).await?;
            let again: u32 = ctx.step("again", async || Ok(token)).await?;
            Ok(token == again)
        }
    }));
    let property = property.input("1").ignore("shop/order/token").ignore("shop/order/again");
    property.check().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_result_that_depends_on_how_often_the_body_ran_is_found() {
    let runs = Arc::new(std::sync::Mutex::new(std::collections::BTreeMap::<String, u32>::new()));
    let property = ResumeProperty::new(alone(move |ctx, _| {
        let runs = Arc::clone(&runs);
        async move {
            let app = ctx.invocation().session_key().app_name.to_string();
            let run = {
                let mut runs = runs.lock().unwrap();
                let count = runs.entry(app).or_default();
                *count += 1;
                *count
            };
            ctx.step("step", async || Ok(())).await?;
            Ok(run)
        }
    }));
    let failure: ResumeFailure = property.input("1").check().await.unwrap_err();
    let ResumeFault::Differs(differences) = &failure.fault else { panic!("{failure}") };
    assert_eq!((differences[0].expected.as_deref(), differences[0].found.as_deref()), (Some("1"), Some("2")));
    assert!(failure.crash.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_count_that_is_stored_before_its_node_is_done_is_found() {
    let workflow = alone(async |ctx: Context, _: String| {
        let count = ctx.state().try_get::<u32>("count")?.unwrap_or(0) + 1;
        ctx.state().set("count", count)?;
        ctx.emit(Event::message("counted")).await?;
        Ok("done")
    });
    let failure = ResumeProperty::new(workflow).input("1").check().await.unwrap_err();
    let ResumeFault::Differs(differences) = &failure.fault else { panic!("{failure}") };
    let places: Vec<_> = differences.iter().map(|at| (at.place.as_str(), at.found.as_deref())).collect();
    assert_eq!(places, [("state 'count'", Some("2"))]);
    assert_eq!(failure.crash.as_ref().unwrap().time, CrashTime::Unseen);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_loses_an_append_is_found() {
    let human = ScriptedHuman::new().answers("ship", true);
    let property = ResumeProperty::new(order(&Effects::new())).input("1").human(&human);
    // One store is used for all processes.
    let sessions = FaultySessions::new(InMemorySessionService::new(), FaultPlan::new().lose_append(2));
    let property = property.sessions(move || {
        let sessions = sessions.clone();
        async move { Ok::<_, SessionError>(sessions) }
    });
    let failure = property.check().await.unwrap_err();
    let ResumeFault::Lost(events) = &failure.fault else { panic!("{failure}") };
    assert_eq!(events, &["shop@1/order@1/charge@step-1 (shop): gives \"r-1\""]);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_is_named() {
    let failure = ResumeProperty::new(order(&Effects::new())).input("1").check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::NoAnswer(question) if question.id == "ship"), "{failure}");
    assert!(failure.to_string().contains(".answers(\"ship\", …)"), "{failure}");
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no answer to the question 'ship'")]
async fn the_short_form_panics_with_the_failure() {
    resume_property(order(&Effects::new()), ["1"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_workflow_that_fails_fails_the_same_way_after_every_crash() {
    let workflow = alone(async |ctx: Context, _: String| {
        ctx.step("first", async || Ok(1)).await?;
        Err::<(), _>("broken").class("Broken")?;
        Ok(())
    });
    let property = ResumeProperty::new(workflow).inputs(["1", "2"]);
    let failure = property.check().await.unwrap_err();
    assert!(matches!(&failure.fault, ResumeFault::Failed(error) if error == "Broken: broken"), "{failure}");
    property.may_fail().check().await.unwrap();
}
